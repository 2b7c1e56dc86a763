#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gnomon/core/names.h"
#include "gnomon/encodings/encoding.h"

namespace gnomon {

// What joins word and position: B sequences of T tokens.
struct Words {
  std::int64_t B, T;
  Strided<const float> x;   // (B·T, word_width) rows of the word table
  const float* e;           // (e_rows·T, position_width) dense, or null: no position
  const float* w;           // parameters of the combination
  std::int64_t e_rows = 1;  // 1: the sequences share their positions; else B
  // The row of e (and of its gradient) of token n of the batch.
  std::int64_t place(std::int64_t n) const { return e_rows > 1 ? n : n % T; }
};
// What the definition sees of one sequence, in double: x (T, word_width), e (T, position_width) or empty.
struct Joining {
  std::span<const double> x, e, w;
  std::int64_t T;
};
// Where the position vectors enter: once, before the first layer; again before every layer; or only what the
// queries and keys of every layer are projected from.
enum class Injection { once, every_layer, queries_and_keys };
struct WordsGrad {
  Strided<float> dx;  // overwritten
  float* de;          // overwritten, or null
  float* dw;          // added to
};

// A way of joining the word vector x and the position vector e into the input h (d) of the first layer.
// Immutable.
class Combination {
 public:
  explicit Combination(std::int64_t width) : d(width) {}
  virtual ~Combination() = default;

  virtual std::int64_t word_width() const { return d; }
  virtual std::int64_t position_width() const { return d; }
  virtual std::vector<ParamSpec> params() const { return {}; }

  virtual Injection injection() const { return Injection::once; }
  // The definition, in double: channel c of h for token t.
  virtual double at(const Joining& s, std::int64_t t, std::int64_t c) const = 0;
  // The fast path: h (B·T, d), overwritten; dh (B·T, d).
  virtual void forward(const Words& words, Strided<float> h) const = 0;
  virtual void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const = 0;

 protected:
  const std::int64_t d;
};

struct CombinationEntry {
  std::string_view name;
  std::vector<std::string_view> aliases = {};  // what else the field calls it: suggested, never taken
  std::string_view title, paper, formula;
  bool needs_position;  // concat(none) has nothing to concatenate
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<Combination>(const Options&, const Shape&)> make;
};
std::span<const CombinationEntry* const>
combinations();  // in the order of list.def; the first is the standard
std::vector<Name> combination_names();
const CombinationEntry* find_combination(std::string_view name);  // null when there is none of that name

}  // namespace gnomon
