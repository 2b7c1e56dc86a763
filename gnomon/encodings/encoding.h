#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/encodings/options.h"
#include "gnomon/kernels/attend.h"
#include "gnomon/kernels/rotate.h"

namespace gnomon {

// Letters: B sequences, T tokens, C channels, H heads, D head size, K width of q and k; δ = i − j for query
// i, key j.

// Where position can enter a Transformer.
enum Site : unsigned {
  kInput = 1,   // a vector beside the word vector
  kQk = 2,      // a map of q and k
  kLogits = 4,  // a number added to the logits, by distance, query or key
  kCross = 8,   // a number added to the logits that depends on q or k and on the distance
  kValue = 16,  // a vector added to the values
  kRows = 32,   // the whole row of logits, rewritten
};
std::string site_names(unsigned acts);  // "input", "qk", "logits, value"; "none" for 0

// What an encoding is made for.
struct Shape {
  std::int64_t C, H, D;  // width of a position vector; heads; head size
  std::int64_t length;   // tokens of a training window
  bool causal;           // a query sees only keys that are not after it
};

// Positions of the T tokens of a sequence, in double: whole numbers are exact up to 2^53.
using Positions = std::span<const double>;
std::vector<double> positions_from(double first, std::int64_t tokens);

enum class Role { q, k };

// A named array of parameters and how it starts.
struct ParamSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  double mean, deviation;  // normal; deviation 0 = constant
  bool decay;              // weight decay applies: to matrices, never to tables, gains or biases
  std::int64_t size() const;
};

// What the definition sees of one sequence, in double. q, k (H,T,D) as projected; w the parameters, in the
// order of params(), one after the other.
struct Scene {
  Positions positions;
  std::span<const double> q, k, w;
  std::int64_t T() const { return std::int64_t(positions.size()); }
};

// What the fast path sees of a batch whose sequences share their positions.
struct Batch {
  Positions positions;
  const Floats& tables;  // what tables() returned for these positions
  const float* w;        // parameters
  std::int64_t T() const { return std::int64_t(positions.size()); }
};

// A position encoding. Immutable; every method is const and keeps nothing between calls. Every gradient is
// added to what its array holds, and every forward has its backward beside it.
class Encoding {
 public:
  explicit Encoding(const Shape& shape) : shape_(shape) {}
  virtual ~Encoding() = default;
  const Shape& shape() const { return shape_; }

  virtual std::vector<ParamSpec> params() const { return {}; }
  std::int64_t param_count() const;
  // The positions the encoding has values for are below this; nullopt = all of them.
  virtual std::optional<std::int64_t> positions_end() const { return std::nullopt; }

  // Angular frequencies in radians a token, of each pair of channels, where the encoding has them.
  virtual std::vector<double> frequencies() const { return {}; }

  // --- The definition: the paper's formula, slowly, in double. The oracle of every test, and what pages
  // draw.
  // Channel c of the position vector of token t.
  virtual double input(const Scene&, std::int64_t /*t*/, std::int64_t /*c*/) const { return 0; }
  // The logit of query i and key j in head h; without position: q_i·k_j/√D.
  virtual double logit(const Scene& scene, std::int64_t h, std::int64_t i, std::int64_t j) const;
  // Channel d that is added to the value of key j when query i reads it.
  virtual double value(const Scene&, std::int64_t, std::int64_t, std::int64_t, std::int64_t) const {
    return 0;
  }

  // --- The fast path.
  // What depends on positions alone: computed once for a batch, kept by the caller, handed back in
  // Batch::tables.
  virtual Floats tables(Positions) const { return {}; }
  // Site input: position vectors e (T,C), rows dense.
  virtual void input(const Batch&, float* /*e*/) const {}
  virtual void input_backward(const Batch&, const float* /*de*/, float* /*dw*/) const {}
  // Site qk: rows of q or of k, in place, every head of every sequence. The gradient likewise, in place.
  virtual void map(const Batch&, Role, const RowLayout&, float* /*rows*/) const {}
  virtual void map_backward(const Batch&, Role, const RowLayout&, float* /*drows*/, float* /*dw*/) const {}
  // Sites logits, cross, value: adds its terms. `terms` comes from terms_for(positions, causal).
  virtual void lower(const Batch&, Terms&) const {}
  virtual void lower_backward(const Batch&, const Terms& /*dterms*/, float* /*dw*/) const {}

 protected:
  double plain_logit(const Scene& scene, std::int64_t h, std::int64_t i, std::int64_t j) const;
  const Shape shape_;
};

// Empty terms whose distances cover the tokens: 0..T−1 when causal, else −(T−1)..T−1. Arrays over distances
// need positions that follow each other by 1: throws Error(usage) for others.
Terms terms_for(Positions positions, bool causal);

// Adds f(h, δ) to by_distance for all heads and distances; the array is made if it is absent.
void add_by_distance(Terms& terms, std::int64_t H,
                     const std::function<double(std::int64_t h, std::int64_t delta)>& f);

// A row of the registry: everything that the command line, the documentation and the tests know of an
// encoding.
struct Entry {
  std::string_view name, title, paper;
  int year;
  unsigned acts;  // sites
  bool relative;  // a common shift of all positions changes nothing
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<Encoding>(const Options&, const Shape&)> make;
};
std::span<const Entry* const> encodings();  // in the order of list.def

const Entry& find_encoding(std::string_view name);  // throws Error(usage) that lists what exists

}  // namespace gnomon
