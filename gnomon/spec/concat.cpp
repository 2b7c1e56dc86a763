// The concatenation at equal width: the word gives up `width` channels to the position.
//
//   h = [s·x ; e],   x (d − width), e (width),   s = √(d − width) (scale=on) or 1
//   width, or a share of d: 0.25 gives the position a quarter of the channels in a model of any width
//
// The word table is narrower by V·width numbers. No parameters.
#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/spec/combination.h"

namespace gnomon {
namespace {

class Concat final : public Combination {
 public:
  Concat(const Options& options, std::int64_t width_of_model)
      : Combination(width_of_model), width_(width_of(options)) {
    if (width_ >= d) {
      throw Error(Fault::usage,
                  text("concat: width=", width_, " leaves no channel for the word; allowed are 1 to ", d - 1,
                       " at a model width of ", d));
    }
    scale_ = options.word("scale") == "on" ? std::sqrt(double(word_width())) : 1.0;
  }
  std::int64_t word_width() const override { return d - width_; }
  std::int64_t position_width() const override { return width_; }

  double at(const Joining& s, std::int64_t t, std::int64_t c) const override {
    const std::int64_t dw = word_width();
    return c < dw ? scale_ * s.x[t * dw + c] : s.e[t * width_ + c - dw];
  }
  void forward(const Words& words, Strided<float> h) const override {
    const std::int64_t dw = word_width();
    parallel_ranges(words.B * words.T, 64, [&](auto begin, auto end) {
      for (auto n = begin; n < end; ++n) {
        for (std::int64_t c = 0; c < dw; ++c) h.row(n)[c] = float(scale_) * words.x.row(n)[c];
        std::copy_n(words.e + words.place(n) * width_, width_, h.row(n) + dw);
      }
    });
  }
  void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const override {
    const std::int64_t dw = word_width();
    parallel_ranges(words.B * words.T, 64, [&](auto begin, auto end) {
      for (auto n = begin; n < end; ++n) {
        for (std::int64_t c = 0; c < dw; ++c) grad.dx.row(n)[c] = float(scale_) * dh.row(n)[c];
      }
    });
    if (!grad.de) return;
    std::fill_n(grad.de, words.e_rows * words.T * width_, 0.0f);
    for (std::int64_t n = 0; n < words.B * words.T; ++n) {
      for (std::int64_t c = 0; c < width_; ++c) grad.de[words.place(n) * width_ + c] += dh.row(n)[dw + c];
    }
  }

 private:
  std::int64_t width_of(const Options& options) const {
    const double share = options.number("share");
    return share == 0 ? options.whole("width")
                      : std::max<std::int64_t>(2, 2 * std::llround(share * double(d) / 2));
  }
  const std::int64_t width_;
  double scale_;
};

}  // namespace

extern const CombinationEntry concat_combination;
const CombinationEntry concat_combination = {
    .name = "concat",
    .aliases = {"concatenate", "concatenation", "cat"},
    .title = "Word and position vectors concatenated, at the same total width",
    .paper = "https://github.com/tensorflow/tensor2tensor/issues/1591",
    .formula = "h = [s*x ; e]",
    .needs_position = true,
    .options = {{.name = "width",
                 .help = "channels of the position vector; the word vector keeps d - width",
                 .standard = "16",
                 .least = 1,
                 .most = 1 << 20,
                 .whole = true},
                {.name = "share",
                 .help = "of the channels, which the position gets instead of `width` (the nearest even "
                         "number); 0: width counts",
                 .standard = "0",
                 .least = 0,
                 .most = 1},
                {.name = "scale",
                 .help = "multiply the word vector by the square root of its width",
                 .standard = "on",
                 .words = {"on", "off"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Concat>(options, shape.C);
    }};

}  // namespace gnomon
