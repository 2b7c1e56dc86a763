// Relative position representations. Shaw, Uszkoreit, Vaswani 2018, https://arxiv.org/abs/1803.02155, equations 3 to 5;
// tensor2tensor, common_attention.py, dot_product_attention_relative.
//
//   s[h,i,j] = q_i·(k_j + aK_c)/√D,   o_i = Σ_j p_ij (v_j + aV_c),   c = clip(p_j − p_i, −k, k) + k
//
// Acts on cross and value. Parameters: keys aK and values aV (2k+1, D), shared by the heads, each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Shaw final : public Encoding {
 public:
  Shaw(const Options& options, const Shape& shape) : Encoding(shape), clip_(options.whole("clip")) {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    const double deviation = 1 / std::sqrt(double(shape_.D));
    return {{"keys", {2 * clip_ + 1, shape_.D}, 0, deviation, false},
            {"values", {2 * clip_ + 1, shape_.D}, 0, deviation, false}};
  }

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double* q = &s.q[(h * s.T() + i) * shape_.D];
    const std::int64_t row = row_of(s.positions[i] - s.positions[j]);
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d) sum += q[d] * s.w[row * shape_.D + d];
    return plain_logit(s, h, i, j) + sum / std::sqrt(double(shape_.D));
  }
  double value(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j,
               std::int64_t d) const override {
    const std::int64_t row = row_of(s.positions[i] - s.positions[j]);
    return Encoding::value(s, h, i, j, d) + s.w[(2 * clip_ + 1 + row) * shape_.D + d];
  }
  void lower(const Batch& b, Terms& t) const override {
    make_over_distances(t, t.query_cross, shape_.H, shape_.D);
    make_over_distances(t, t.value, shape_.H, shape_.D);
    each(t, [&](std::int64_t at, std::int64_t index) {
      t.query_cross[at] += b.w[index] / std::sqrt(float(shape_.D));
      t.value[at] += b.w[values() + index];
    });
  }
  void lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const override {
    each(g, [&](std::int64_t at, std::int64_t index) {
      grad.w[index] += g.query_cross[at] / std::sqrt(float(shape_.D));
      grad.w[values() + index] += g.value[at];
    });
  }

 private:
  std::int64_t values() const { return (2 * clip_ + 1) * shape_.D; }
  std::int64_t row_of(double delta) const {
    return std::int64_t(std::clamp(-delta, -double(clip_), double(clip_))) + clip_;
  }
  template <class Body>
  void each(const Terms& t, const Body& f) const {
    for (std::int64_t n = 0; n < shape_.H * t.distances; ++n) {
      const std::int64_t row = row_of(double(t.first_distance + n % t.distances));
      for (std::int64_t d = 0; d < shape_.D; ++d) f(n * shape_.D + d, row * shape_.D + d);
    }
  }
  const std::int64_t clip_;
};

}  // namespace

extern const Entry shaw_entry;
const Entry shaw_entry = {
    .name = "shaw",
    .title = "Relative position representations of keys and values",
    .paper = "https://arxiv.org/abs/1803.02155",
    .formula = "s = q_i*(k_j + aK_c)/sqrt(D), o_i = sum p_ij*(v_j + aV_c), c = clip(p_j - p_i)",
    .pitfall = "the value term is often left out; O(L^2 D) memory unless regrouped by distance",
    .year = 2018,
    .acts = kCross | kValue,
    .relative = true,
    .options = {{.name = "clip",
                 .help = "distance in tokens from which all share a row",
                 .standard = "16",
                 .least = 1,
                 .most = 1 << 20,
                 .whole = true}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Shaw>(options, shape);
    }};

}  // namespace gnomon
