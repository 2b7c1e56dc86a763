#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gnomon/encodings/encoding.h"

namespace gnomon {

// Rows of numbers, `step` apart.
template <class T>
struct Strided {
  T* data;
  std::int64_t step;
  T* row(std::int64_t n) const { return data + n * step; }
};

// What joins word and position: B sequences of T tokens.
struct Words {
  std::int64_t B, T;
  Strided<const float> x;  // (B·T, word_width) rows of the word table
  const float* e;          // (T, position_width) dense, or null: no position
  const float* w;          // parameters of the combination
};
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

  // The definition, in double: channel c of h.
  virtual double at(std::span<const double> x, std::span<const double> e, std::span<const double> w,
                    std::int64_t c) const = 0;
  // The fast path: h (B·T, d), overwritten; dh (B·T, d).
  virtual void forward(const Words& words, Strided<float> h) const = 0;
  virtual void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const = 0;

 protected:
  const std::int64_t d;
};

struct CombinationEntry {
  std::string_view name, title, paper;
  bool needs_position;  // concat(none) has nothing to concatenate
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<Combination>(const Options&, std::int64_t d)> make;
};
std::span<const CombinationEntry* const>
combinations();  // in the order of list.def; the first is the standard
const CombinationEntry* find_combination(std::string_view name);  // null when there is none of that name

}  // namespace gnomon
