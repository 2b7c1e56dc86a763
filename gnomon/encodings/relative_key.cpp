// Relative keys, one row for each distance. Huang, Liang, Xu, Xiang 2020, https://arxiv.org/abs/2009.13658, method 2; Hugging
// Face transformers, modeling_bert.py, position_embedding_type="relative_key".
//
//   s[h,i,j] = (q_i·k_j + q_i·E[p_i − p_j + L − 1])/√D
//
// Shaw's key term without clipping and without values. A distance without a row is an error. Acts on cross. Parameters:
// table E (2L−1, D), shared by the heads, each layer its own.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class RelativeKey final : public Encoding {
 public:
  RelativeKey(const Options& options, const Shape& shape)
      : Encoding(shape), length_(options.whole("length") ? options.whole("length") : shape.length) {}
  bool per_layer() const override { return true; }
  std::optional<std::int64_t> positions_end() const override { return length_; }
  std::vector<ParamSpec> params() const override {
    return {{"table", {2 * length_ - 1, shape_.D}, 0, 0.02, false}};
  }

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double* q = &s.q[(h * s.T() + i) * shape_.D];
    const std::int64_t row = row_of(s.positions[i] - s.positions[j]);
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d) sum += q[d] * s.w[row * shape_.D + d];
    return plain_logit(s, h, i, j) + sum / std::sqrt(double(shape_.D));
  }
  void lower(const Batch& b, Terms& t) const override {
    make_over_distances(t, t.query_cross, shape_.H, shape_.D);

    each(t, [&](std::int64_t at, std::int64_t index) {
      t.query_cross[at] += b.w[index] / std::sqrt(float(shape_.D));
    });
  }
  void lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const override {
    each(g, [&](std::int64_t at, std::int64_t index) {
      grad.w[index] += g.query_cross[at] / std::sqrt(float(shape_.D));
    });
  }

 private:
  std::int64_t row_of(double delta) const {
    if (std::abs(delta) >= double(length_)) {
      throw Error(Fault::usage, text("relative_key: distance ", shortest(delta), " has no row; allowed are ",
                                     1 - length_, " to ", length_ - 1));
    }
    return std::int64_t(delta) + length_ - 1;
  }
  template <class Body>
  void each(const Terms& t, const Body& f) const {
    for (std::int64_t n = 0; n < shape_.H * t.distances; ++n) {
      const std::int64_t row = row_of(double(t.first_distance + n % t.distances));
      for (std::int64_t d = 0; d < shape_.D; ++d) f(n * shape_.D + d, row * shape_.D + d);
    }
  }
  const std::int64_t length_;
};

}  // namespace

extern const Entry relative_key_entry;
const Entry relative_key_entry = {.name = "relative_key",
                                  .title = "A learned row for each distance, seen by the query",
                                  .paper = "https://arxiv.org/abs/2009.13658",
                                  .formula = "s = (q_i*k_j + q_i*E[d + L - 1])/sqrt(D)",
                                  .pitfall = "no clipping: longer texts have no row; values carry nothing",
                                  .year = 2020,
                                  .acts = kCross,
                                  .relative = true,
                                  .options = {{.name = "length",
                                               .help = "distances of the table; 0 = the training window",
                                               .standard = "0",
                                               .least = 0,
                                               .most = 1 << 20,
                                               .whole = true}},
                                  .make = [](const Options& options, const Shape& shape) {
                                    return std::make_unique<RelativeKey>(options, shape);
                                  }};

}  // namespace gnomon
