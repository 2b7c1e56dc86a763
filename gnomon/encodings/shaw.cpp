// Relative position representations. Shaw, Uszkoreit, Vaswani 2018, https://arxiv.org/abs/1803.02155, equations 3 to 5;
// tensor2tensor, common_attention.py, dot_product_attention_relative.
//
//   s[h,i,j] = q_i·(k_j + aK_c)/√D,   o_i = Σ_j p_ij (v_j + aV_c),   c = clip(p_j − p_i, −k, m) + k,   m = k
//   right=m: another limit for keys after the query, values=off: no aV. With both, Wav2Vec2-BERT's relative_key (Hugging Face
//   transformers, modeling_wav2vec2_bert.py: k = left_max, m = right_max_position_embeddings)
//
// Acts on cross and value. Parameters: keys aK and values aV (k+m+1, D), shared by the heads, each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Shaw final : public Encoding, public CrossPart, public ValuePart {
 public:
  Shaw(const Options& options, const Shape& shape)
      : Encoding(shape),
        left_(options.whole("clip")),
        right_(options.whole("right") ? options.whole("right") : left_),
        values_(options.word("values") == "on") {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    const double deviation = 1 / std::sqrt(double(shape_.D));
    std::vector<ParamSpec> all{{"keys", {rows(), shape_.D}, 0, deviation, false}};
    if (values_) all.push_back({"values", {rows(), shape_.D}, 0, deviation, false});
    return all;
  }

  double cross(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double* q = &s.q[(h * s.T() + i) * shape_.D];
    const std::int64_t row = row_of(s.positions[i] - s.positions[j]);
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d) sum += q[d] * s.w[row * shape_.D + d];
    return sum / std::sqrt(double(shape_.D));
  }
  double value(const Scene& s, std::int64_t, std::int64_t i, std::int64_t j, std::int64_t d) const override {
    return values_ ? s.w[(rows() + row_of(s.positions[i] - s.positions[j])) * shape_.D + d] : 0;
  }
  void lower(const Batch& b, Terms& t) const override {
    make_over_distances(t, t.query_cross, shape_.H, shape_.D);
    if (values_) make_over_distances(t, t.value, shape_.H, shape_.D);
    each(t, [&](std::int64_t at, std::int64_t index) {
      t.query_cross[at] += b.w[index] / std::sqrt(float(shape_.D));
      if (values_) t.value[at] += b.w[rows() * shape_.D + index];
    });
  }
  void lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const override {
    each(g, [&](std::int64_t at, std::int64_t index) {
      grad.w[index] += g.query_cross[at] / std::sqrt(float(shape_.D));
      if (values_) grad.w[rows() * shape_.D + index] += g.value[at];
    });
  }

 private:
  std::int64_t rows() const { return left_ + right_ + 1; }
  std::int64_t row_of(double delta) const {
    return std::int64_t(std::clamp(-delta, -double(left_), double(right_))) + left_;
  }
  template <class Body>
  void each(const Terms& t, const Body& f) const {
    for (std::int64_t n = 0; n < shape_.H * t.distances; ++n) {
      const std::int64_t row = row_of(double(t.first_distance + n % t.distances));
      for (std::int64_t d = 0; d < shape_.D; ++d) f(n * shape_.D + d, row * shape_.D + d);
    }
  }
  const std::int64_t left_, right_;
  const bool values_;
};

}  // namespace

extern const Entry shaw_entry;
const Entry shaw_entry = entry<Shaw>(
    {.name = "shaw",
     .aliases = {"rpe", "relative", "rpr", "wav2vec2_bert"},
     .title = "Relative position representations of keys and values",
     .paper = "https://arxiv.org/abs/1803.02155",
     .formula = "s = q_i*(k_j + aK_c)/sqrt(D), o_i = sum p_ij*(v_j + aV_c), c = clip(p_j - p_i)",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot (k_j + a^K_c)}{\sqrt{D}}, \quad o_i = \sum_j a_{ij}\,(v_j + a^V_c), \quad c = \mathrm{clip}(p_j - p_i))",
     .pitfall = "many implementations omit the value term; memory is O(L^2 D) unless products are grouped by "
                "distance; a caller's scale applies to q*k only, not to the other term",
     .year = 2018,
     .relative = true,
     .options = {{.name = "clip",
                  .help = "keys this many tokens away or more share a row",
                  .standard = "16",
                  .least = 1,
                  .most = 1 << 20,
                  .whole = true},
                 {.name = "right",
                  .help = "clip for keys after the query; 0 = the same as clip",
                  .standard = "0",
                  .least = 0,
                  .most = 1 << 20,
                  .whole = true},
                 {.name = "values",
                  .help = "add a term to the values too, not only to the keys",
                  .standard = "on",
                  .words = {"on", "off"}}}});

}  // namespace gnomon
