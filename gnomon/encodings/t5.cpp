// T5's relative bias in buckets. Raffel et al. 2019, https://arxiv.org/abs/1910.10683, section 2.1; the
// authors' code: mesh-tensorflow, transformer/transformer_layers.py, _relative_position_bucket.
//
//   s[h,i,j] = q_i·k_j/√D + w[bucket(p_i − p_j), h]
//   causal:        n = max(δ, 0) falls into `buckets` buckets
//   bidirectional: n = |δ| falls into the first half of them, keys after the query (δ < 0) into the second
//   Of B buckets the first e = B/2 hold one distance each, the others ⌊e + ln(n/e)/ln(distance/e)·(B − e)⌋,
//   at most B − 1.
//
// T5 itself does not scale q·k by 1/√D; here every encoding does, so that the bias is all that differs.
// Acts on the logits. Parameters: table w (buckets, H), one for all layers, as in T5; it starts with deviation C^(−1/2),
// as in Hugging Face's modeling_t5.py.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class T5 final : public Encoding {
 public:
  T5(const Options& options, const Shape& shape)
      : Encoding(shape), buckets_(options.whole("buckets")), distance_(options.whole("distance")) {
    const std::int64_t exact = (shape.causal ? buckets_ : buckets_ / 2) / 2;
    if (buckets_ % 2 || exact < 1 || distance_ <= exact) {
      throw Error(Fault::usage, text("t5: buckets=", buckets_, ", distance=", distance_,
                                     ": buckets must be even, at least ", shape.causal ? 2 : 4,
                                     ", and distance more than the ", exact, " buckets of one distance"));
    }
  }
  std::vector<ParamSpec> params() const override {
    return {{"bias", {buckets_, shape_.H}, 0, 1 / std::sqrt(double(shape_.C)), false}};
  }

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    return plain_logit(s, h, i, j) + s.w[bucket(s.positions[i] - s.positions[j]) * shape_.H + h];
  }
  void lower(const Batch& b, Terms& terms) const override {
    add_by_distance(terms, shape_.H, [&](std::int64_t h, std::int64_t delta) {
      return b.w[bucket(double(delta)) * shape_.H + h];
    });
  }
  void lower_backward(const Batch&, const Terms& g, float* dw) const override {
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      for (std::int64_t r = 0; r < g.distances; ++r) {
        dw[bucket(double(g.first_distance + r)) * shape_.H + h] += g.by_distance[h * g.distances + r];
      }
    }
  }

 private:
  std::int64_t bucket(double delta) const {
    const std::int64_t B = shape_.causal ? buckets_ : buckets_ / 2, exact = B / 2;
    const std::int64_t side = !shape_.causal && delta < 0 ? B : 0;
    const double n = shape_.causal ? std::max(delta, 0.0) : std::abs(delta);
    if (n < double(exact)) return side + std::int64_t(n);
    const double log =
        std::log(n / double(exact)) / std::log(double(distance_) / double(exact)) * double(B - exact);
    return side + std::min(B - 1, exact + std::int64_t(log));
  }
  const std::int64_t buckets_, distance_;
};

}  // namespace

extern const Entry t5_entry;
const Entry t5_entry = {
    .name = "t5",
    .title = "T5's relative bias in logarithmic buckets",
    .paper = "https://arxiv.org/abs/1910.10683",
    .year = 2019,
    .acts = kLogits,
    .relative = true,
    .options = {{.name = "buckets",
                 .help = "rows of the bias table",
                 .standard = "32",
                 .least = 2,
                 .most = 1 << 20,
                 .whole = true},
                {.name = "distance",
                 .help = "distance in tokens from which all share the last bucket",
                 .standard = "128",
                 .least = 2,
                 .most = 1 << 24,
                 .whole = true}},
    .make = [](const Options& options, const Shape& shape) { return std::make_unique<T5>(options, shape); }};

}  // namespace gnomon
