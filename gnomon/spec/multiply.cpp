// The product, channel by channel. A control: position as a gain on the word.
//
//   h = s·x ⊙ (1 + A·e) (around=one), or s·x ⊙ A·e (around=zero, where a channel with e = 0 loses the word)
//
// s = √d (scale=on) or 1, A = amplitude. No parameters.
#include <algorithm>
#include <cmath>

#include "gnomon/spec/combination.h"

namespace gnomon {
namespace {

class Multiply final : public Combination {
 public:
  Multiply(const Options& options, const Shape& shape)
      : Combination(shape.C),
        scale_(options.word("scale") == "on" ? std::sqrt(double(d)) : 1.0),
        amplitude_(options.number("amplitude")),
        one_(options.word("around") == "one") {}

  double at(const Joining& s, std::int64_t t, std::int64_t c) const override {
    return scale_ * s.x[t * d + c] * (one_ + amplitude_ * s.e[t * d + c]);
  }
  void forward(const Words& words, Strided<float> h) const override {
    for (std::int64_t n = 0; n < words.B * words.T; ++n) {
      const float *x = words.x.row(n), *e = words.e + words.place(n) * d;
      for (std::int64_t c = 0; c < d; ++c)
        h.row(n)[c] = float(scale_) * x[c] * (float(one_) + float(amplitude_) * e[c]);
    }
  }
  void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const override {
    std::fill_n(grad.de, words.e_rows * words.T * d, 0.0f);
    for (std::int64_t n = 0; n < words.B * words.T; ++n) {
      const float *x = words.x.row(n), *e = words.e + words.place(n) * d, *g = dh.row(n);
      float *dx = grad.dx.row(n), *de = grad.de + words.place(n) * d;
      for (std::int64_t c = 0; c < d; ++c) {
        dx[c] = float(scale_) * g[c] * (float(one_) + float(amplitude_) * e[c]);
        de[c] += float(scale_ * amplitude_) * g[c] * x[c];
      }
    }
  }

 private:
  const double scale_, amplitude_;
  const bool one_;
};

}  // namespace

extern const CombinationEntry multiply_combination;
const CombinationEntry multiply_combination = {
    .name = "multiply",
    .aliases = {"product", "mul"},
    .title = "Product of word and position, channel by channel",
    .paper = "https://arxiv.org/abs/1706.03762",
    .formula = "h = s*x*(1 + A*e)",
    .needs_position = true,
    .options = {{.name = "scale",
                 .help = "multiply the word vector by sqrt(d)",
                 .standard = "on",
                 .words = {"on", "off"}},
                {.name = "amplitude",
                 .help = "factor on the position vector",
                 .standard = "1",
                 .least = 0,
                 .most = 1e6},
                {.name = "around",
                 .help = "a position vector of 0 leaves the word vector as it is (one) or erases it (zero)",
                 .standard = "one",
                 .words = {"one", "zero"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Multiply>(options, shape);
    }};

}  // namespace gnomon
