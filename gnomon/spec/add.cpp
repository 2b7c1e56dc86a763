// The sum. Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.4: the word vector times √d, plus
// position.
//
//   h = s·x + A·e,   s = √d (scale=on) or 1,   A = amplitude
//
// The word table starts with deviation d^(−1/2), so s·x starts with variance 1. No parameters.
#include <cmath>

#include "gnomon/core/parallel.h"
#include "gnomon/spec/combination.h"

namespace gnomon {
namespace {

class Add final : public Combination {
 public:
  Add(const Options& options, std::int64_t width)
      : Combination(width),
        scale_(options.word("scale") == "on" ? std::sqrt(double(width)) : 1.0),
        amplitude_(options.number("amplitude")) {}

  double at(const Joining& s, std::int64_t t, std::int64_t c) const override {
    return scale_ * s.x[t * d + c] + (s.e.empty() ? 0 : amplitude_ * s.e[t * d + c]);
  }
  void forward(const Words& words, Strided<float> h) const override {
    const float s = float(scale_), A = float(amplitude_);
    parallel_ranges(words.B * words.T, 64, [&](auto begin, auto end) {
      for (auto n = begin; n < end; ++n) {
        const float *x = words.x.row(n), *e = words.e ? words.e + words.place(n) * d : nullptr;
        float* to = h.row(n);
        for (std::int64_t c = 0; c < d; ++c) to[c] = s * x[c] + (e ? A * e[c] : 0.0f);
      }
    });
  }
  void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const override {
    const float s = float(scale_), A = float(amplitude_);
    parallel_ranges(words.B * words.T, 64, [&](auto begin, auto end) {
      for (auto n = begin; n < end; ++n) {
        for (std::int64_t c = 0; c < d; ++c) grad.dx.row(n)[c] = s * dh.row(n)[c];
      }
    });
    if (!grad.de) return;
    parallel_for(words.e_rows * words.T, [&](std::int64_t n) {
      float* de = grad.de + n * d;
      std::fill_n(de, d, 0.0f);
      for (std::int64_t b = 0; b < words.B / words.e_rows; ++b) {
        for (std::int64_t c = 0; c < d; ++c) de[c] += A * dh.row(b * words.T + n)[c];
      }
    });
  }

 private:
  const double scale_, amplitude_;
};

}  // namespace

extern const CombinationEntry add_combination;
const CombinationEntry add_combination = {.name = "add",
                                          .aliases = {"sum", "plus"},
                                          .title = "Sum of word and position",
                                          .paper = "https://arxiv.org/abs/1706.03762",
                                          .formula = "h = s*x + A*e",
                                          .needs_position = false,
                                          .options = {{.name = "scale",
                                                       .help = "multiply the word vector by sqrt(d)",
                                                       .standard = "on",
                                                       .words = {"on", "off"}},
                                                      {.name = "amplitude",
                                                       .help = "factor on the position vector",
                                                       .standard = "1",
                                                       .least = 0,
                                                       .most = 1e6}},
                                          .make = [](const Options& options, const Shape& shape) {
                                            return std::make_unique<Add>(options, shape.C);
                                          }};

}  // namespace gnomon
