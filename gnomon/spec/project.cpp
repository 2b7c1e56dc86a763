// Concatenate, then a linear map back to the model's width.
//
//   h = W [s·x ; e] + b = s·W_x x + W_e e + b,   W (d, 2d),   s = √d (scale=on) or 1
//
// So it is a sum of two linearly mapped vectors: it can be folded into an additive model exactly (model_test:
// Fold). Parameters: W, b.
#include <algorithm>
#include <cmath>

#include "gnomon/core/parallel.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/spec/combination.h"

namespace gnomon {
namespace {

class Project final : public Combination {
 public:
  Project(const Options& options, std::int64_t width)
      : Combination(width), scale_(options.word("scale") == "on" ? std::sqrt(double(width)) : 1.0) {}

  std::vector<ParamSpec> params() const override {
    return {{"weight", {d, 2 * d}, 0, 1 / std::sqrt(2.0 * double(d)), true}, {"bias", {d}, 0, 0, false}};
  }
  double at(const Joining& s, std::int64_t t, std::int64_t c) const override {
    double sum = s.w[2 * d * d + c];
    for (std::int64_t k = 0; k < d; ++k)
      sum += s.w[c * 2 * d + k] * scale_ * s.x[t * d + k] + s.w[c * 2 * d + d + k] * s.e[t * d + k];
    return sum;
  }
  void forward(const Words& words, Strided<float> h) const override {
    const Scratch both = concatenate(words);
    linear({words.B * words.T, 2 * d, d, row_step(2 * d), h.step}, both.data(), words.w, words.w + 2 * d * d,
           h.data);
  }
  void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const override {
    const std::int64_t N = words.B * words.T, step = row_step(2 * d);
    const Scratch both = concatenate(words);
    Scratch dboth(N * step);
    linear_backward({N, 2 * d, d, step, dh.step}, both.data(), words.w, dh.data,
                    {dboth.data(), grad.dw, grad.dw + 2 * d * d});
    if (grad.de) std::fill_n(grad.de, words.e_rows * words.T * d, 0.0f);
    for (std::int64_t n = 0; n < N; ++n) {
      const float* from = &dboth[n * step];
      for (std::int64_t c = 0; c < d; ++c) grad.dx.row(n)[c] = float(scale_) * from[c];
      if (!grad.de) continue;
      for (std::int64_t c = 0; c < d; ++c) grad.de[words.place(n) * d + c] += from[d + c];
    }
  }

 private:
  Scratch concatenate(const Words& words) const {
    const std::int64_t step = row_step(2 * d);
    Scratch both(words.B * words.T * step);
    parallel_ranges(words.B * words.T, 64, [&](auto begin, auto end) {
      for (auto n = begin; n < end; ++n) {
        float* to = &both[n * step];
        for (std::int64_t c = 0; c < d; ++c) to[c] = float(scale_) * words.x.row(n)[c];
        std::copy_n(words.e + words.place(n) * d, d, to + d);
      }
    });
    return both;
  }
  const double scale_;
};

}  // namespace

extern const CombinationEntry project_combination;
const CombinationEntry project_combination = {
    .name = "project",
    .aliases = {"projection"},
    .title = "Word and position vectors concatenated, then projected back to the model's width",
    .paper = "https://github.com/tensorflow/tensor2tensor/issues/1591",
    .formula = "h = W[s*x ; e] + b",
    .needs_position = true,
    .options = {{.name = "scale",
                 .help = "multiply the word vector by sqrt(d)",
                 .standard = "on",
                 .words = {"on", "off"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Project>(options, shape.C);
    }};

}  // namespace gnomon
