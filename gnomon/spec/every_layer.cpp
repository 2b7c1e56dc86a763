// Position added again before every layer. Dehghani et al. 2018 (Universal Transformer), https://arxiv.org/abs/1807.03819,
// section 2.1.
//
//   h_0 = s·x + e,   h_l becomes h_l + e before layer l = 1, 2, ...
//
// s = √d (scale=on) or 1. No parameters of its own.
#include <algorithm>
#include <cmath>

#include "gnomon/core/parallel.h"
#include "gnomon/spec/combination.h"

namespace gnomon {
namespace {

class EveryLayer final : public Combination {
 public:
  EveryLayer(const Options& options, const Shape& shape)
      : Combination(shape.C), scale_(options.word("scale") == "on" ? std::sqrt(double(d)) : 1.0) {}
  Injection injection() const override { return Injection::every_layer; }

  double at(const Joining& s, std::int64_t t, std::int64_t c) const override {
    return scale_ * s.x[t * d + c] + s.e[t * d + c];
  }
  void forward(const Words& words, Strided<float> h) const override {
    parallel_ranges(words.B * words.T, 64, [&](auto begin, auto end) {
      for (auto n = begin; n < end; ++n) {
        const float* e = words.e + words.place(n) * d;
        for (std::int64_t c = 0; c < d; ++c) h.row(n)[c] = float(scale_) * words.x.row(n)[c] + e[c];
      }
    });
  }
  void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const override {
    std::fill_n(grad.de, words.e_rows * words.T * d, 0.0f);
    for (std::int64_t n = 0; n < words.B * words.T; ++n) {
      float* de = grad.de + words.place(n) * d;
      for (std::int64_t c = 0; c < d; ++c) grad.dx.row(n)[c] = float(scale_) * dh.row(n)[c];
      for (std::int64_t c = 0; c < d; ++c) de[c] += dh.row(n)[c];
    }
  }

 private:
  const double scale_;
};

}  // namespace

extern const CombinationEntry every_layer_combination;
const CombinationEntry every_layer_combination = {
    .name = "every_layer",
    .aliases = {"per_layer", "each_layer"},
    .title = "Sum, with the position added again before every layer",
    .paper = "https://arxiv.org/abs/1807.03819",
    .formula = "h_l + e before every layer l",
    .needs_position = true,
    .options = {{.name = "scale",
                 .help = "multiply the word vector by sqrt(d)",
                 .standard = "on",
                 .words = {"on", "off"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<EveryLayer>(options, shape);
    }};

}  // namespace gnomon
