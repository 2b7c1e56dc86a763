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
#include "gnomon/core/random.h"
#include "gnomon/encodings/options.h"
#include "gnomon/encodings/positions.h"
#include "gnomon/kernels/attend.h"
#include "gnomon/kernels/steps.h"

namespace gnomon {

// Letters: B sequences, T tokens, C channels, H heads, D head size, K width of q and k; δ = p_i − p_j for
// query i, key j.

// Where position can enter a Transformer.
enum Site : unsigned {
  kInput = 1,       // a vector beside the word vector
  kQk = 2,          // a map of q and k
  kLogits = 4,      // a number added to the logits, by distance, query or key
  kCross = 8,       // a number added to the logits that depends on q or k and on the distance
  kValue = 16,      // the values, or what attention returns
  kRows = 32,       // the logits, by more than a sum of such numbers
  kMask = 64,       // which keys a query sees
  kPositions = 128  // the positions themselves, before any encoding sees them
};
std::string site_names(unsigned acts);  // "input", "qk", "logits, value"; "none" for 0

// What an encoding is made for.
struct Shape {
  std::int64_t C, H, D;        // width of a position vector, which need not be H·D; heads; head size
  std::int64_t length;         // tokens of a training window
  bool causal;                 // a query sees only keys that are not after it
  const Shape& check() const;  // throws Error(usage): what was found, what is allowed
};

// A named array of parameters and how it starts.
struct ParamSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  double mean, deviation;          // normal; deviation 0 = constant
  bool decay;                      // weight decay applies: to matrices, never to tables, gains or biases
  std::vector<double> start = {};  // added to each number; empty = 0
  std::int64_t size() const;
  double initial(std::int64_t index, double normal) const;
};

// The projections of a layer that give q and k from its input x: (H·D, C) and (H·D).
template <class T>
struct Projections {
  T *q, *k, *q_bias, *k_bias;
};

// What the definition sees of one sequence, in double. q, k, v (H,T,D) as projected from x (T,C); w the
// parameters, in the order of params(), one after the other.
struct Scene {
  Positions positions;
  std::span<const double> q, k, w;
  std::span<const double> x = {}, v = {};
  Projections<const double> projections = {};
  std::int64_t T() const { return positions.size(); }
};

// What the fast path sees of a layer beside positions: x (B·T,C) and what is projected from it.
struct Content {
  std::int64_t B, T;
  Strided<const float> x;
  RowLayout heads;  // of q and k, before any map
  const float *q, *k;
  Projections<const float> projections;
};
// Which of it an encoding reads.
enum Reads : unsigned { kReadsInput = 1, kReadsRows = 2, kReadsProjections = 4 };
// Gradients of the same; each is added to.
struct ContentGrad {
  Strided<float> x;
  float *q, *k;
  Projections<float> projections;
};

// What the fast path sees of a batch. Tokens count through the rows of the positions. That these belong together is
// the duty of who makes it (Model does): tables from tables() of this encoding for these very positions, w of
// param_count() numbers, content of as many tokens. No method looks again; arrays that are too short are read past
// their end.
struct Batch {
  Positions positions;
  const Floats& tables;              // what tables() returned for these positions
  const float* w;                    // parameters
  const Content* content = nullptr;  // for those that read it
  std::int64_t tokens() const { return positions.size(); }
};
struct BatchGrad {
  float* w;
  ContentGrad* content = nullptr;
};

// Channels that an encoding adds to the rows of q and k: to the product (joined), and those that stand in the place of its
// first for far keys (far). As numbers, and as the first of them.
struct Widths {
  std::int64_t joined = 0, far = 0;
};
struct OwnChannels {
  std::int64_t joined, far;
};

// A position encoding. Immutable; every method is const and keeps nothing between calls. Every gradient is
// added to what its array holds, and every forward has its backward beside it.
class Encoding {
 public:
  explicit Encoding(const Shape& shape) : shape_(shape.check()) {}
  virtual ~Encoding() = default;
  const Shape& shape() const { return shape_; }

  virtual std::vector<ParamSpec> params() const { return {}; }
  std::int64_t param_count() const;
  // true: every layer has its own parameters; false: the layers share them.
  virtual bool per_layer() const { return false; }
  // The positions the encoding has values for are below this; nullopt = all of them.
  virtual std::optional<std::int64_t> positions_end() const { return std::nullopt; }
  // Coordinates of a token that it takes.
  virtual std::int64_t axes() const { return 1; }

  // false: what it makes of a token changes with the tokens after it, so that keys cannot be kept as they were made.
  virtual bool keeps_keys() const { return !reads_content(); }

  // Angular frequencies in radians a token, of each pair of channels, where the encoding has them.
  virtual std::vector<double> frequencies() const { return {}; }

  // --- The definition: the paper's formula, slowly, in double. The oracle of every test, and what pages
  // draw.
  // Channel c of the position vector of token t.
  virtual double input(const Scene&, std::int64_t /*t*/, std::int64_t /*c*/) const { return 0; }
  // The logit of query i and key j in head h; without position: q_i·k_j/√D.
  virtual double logit(const Scene& scene, std::int64_t h, std::int64_t i, std::int64_t j) const;
  // Channel d of the value of key j as query i reads it; without position: v_j.
  virtual double value(const Scene& scene, std::int64_t h, std::int64_t i, std::int64_t j,
                       std::int64_t d) const;
  // Whether query i sees key j, the causal mask apart.
  virtual bool sees(const Scene&, std::int64_t /*i*/, std::int64_t /*j*/) const { return true; }
  // false: exp(logit) is the weight itself and no softmax follows.
  virtual bool softmax() const { return true; }

  // --- The fast path.
  // Site input: what depends on positions alone, computed once for a batch, kept by the caller, handed back in
  // Batch::tables.
  virtual Floats tables(const Positions&) const { return {}; }
  // Site input: position vectors e (tokens,C), rows dense.
  virtual void input(const Batch&, float* /*e*/) const {}
  virtual void input_backward(const Batch&, const float* /*de*/, float* /*dw*/) const {}
  // Sites qk and value: appends the steps that the rows of q, k, v and the output go through.
  virtual Widths widths() const { return {}; }
  virtual void map(const Batch&, const OwnChannels&, std::vector<Step>& /*steps*/) const {}
  // From its own steps and their gradients, in the order in which map() appended them.
  virtual void map_backward(const Batch&, std::span<const Step> /*steps*/, std::span<const Step> /*dsteps*/,
                            const BatchGrad&) const {}
  // Sites logits, cross, value, rows, mask: adds its terms. `terms` comes from terms_for(). Those that read content
  // are asked in every layer, and get content; the others once for a batch.
  virtual unsigned reads() const { return 0; }  // Reads | Reads ...
  bool reads_content() const { return reads() != 0; }
  virtual void lower(const Batch&, Terms&) const {}
  virtual void lower_backward(const Batch&, const Terms& /*dterms*/, const BatchGrad&) const {}
  // Site positions: other positions instead of these, in place; `draw` numbers the random choices.
  virtual void place(const Random&, std::uint64_t /*draw*/, bool /*training*/,
                     std::span<double> /*row*/) const {}

 protected:
  double plain_logit(const Scene& scene, std::int64_t h, std::int64_t i, std::int64_t j) const;
  const Shape shape_;
};

// Arrays over distances have fewer than this.
inline constexpr std::int64_t kMostDistances = 1 << 24;
// Empty terms for tokens at these places: the distances that occur, whom the documents let see whom, and the
// places themselves where they do not follow each other by 1. Throws Error(usage) for a placement that check() refuses
// and for places of a sequence 2^53 or more apart; for fractions and for kMostDistances or more (arrays over distances have
// no room for them) only when such arrays are asked for.
Terms terms_for(const Placement& placement, bool causal);
Terms terms_for(const Positions& positions, bool causal);

// Narrows what the queries see: sees(row, i, j) must be true for one run of keys around i, whose ends do not fall
// with i. Throws Error(usage) for terms that are not of as many tokens as the positions.
void limit_keys(Terms& terms, const Positions& positions,
                const std::function<bool(const Positions& row, std::int64_t i, std::int64_t j)>& sees);

// Adds f(h, δ) to by_distance for all heads and distances; the array is made if it is absent. Throws
// Error(usage) if the terms have no room for such arrays (terms_for).
void add_by_distance(Terms& terms, std::int64_t H,
                     const std::function<double(std::int64_t h, std::int64_t delta)>& f);
// An array (H,R,width), made if it is absent. Throws as add_by_distance does.
void make_over_distances(Terms& terms, Floats& array, std::int64_t H, std::int64_t width);

// A row of the registry: everything that the command line, the documentation and the tests know of an
// encoding.
struct Entry {
  std::string_view name, title, paper;
  std::string_view formula;  // one line
  std::string_view pitfall;  // what users get wrong
  int year;
  unsigned acts;              // sites
  bool relative;              // a common shift of all positions changes nothing
  bool causal_only = false;   // it has no meaning for keys after the query
  bool extrapolates = false;  // its authors show it working beyond the trained length
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<Encoding>(const Options&, const Shape&)> make;
};
std::span<const Entry* const> encodings();  // in the order of list.def

const Entry& find_encoding(std::string_view name);  // throws Error(usage) that lists what exists

}  // namespace gnomon
