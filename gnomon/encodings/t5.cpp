// T5's relative bias in buckets. Raffel et al. 2019, https://arxiv.org/abs/1910.10683, section 2.1; the
// authors' code: mesh-tensorflow, transformer/transformer_layers.py, _relative_position_bucket.
//
//   s[h,i,j] = q_i·k_j/√D + w[bucket(p_i − p_j), h]
//   causal:        n = max(δ, 0) falls into `buckets` buckets
//   bidirectional: n = |δ| falls into the first half of them, keys after the query (δ < 0) into the second
//
// T5 itself does not scale q·k by 1/√D (scale=off); the standard here does, so that the bias is all that differs.
// Acts on the logits. Parameters: table w (buckets, H), one for all layers, as in T5, or one for each (layers=own), as in umT5
// (Chung et al. 2023, arXiv 2304.09151); it starts with deviation C^(−1/2), as in Hugging Face's modeling_t5.py.
#include <cmath>

#include "gnomon/encodings/distance_bias.h"

namespace gnomon {
namespace {

class T5 final : public DistanceBias {
 public:
  T5(const Options& options, const Shape& shape)
      : DistanceBias(shape),
        buckets_{options.whole("buckets"), options.whole("distance"), shape.causal},
        scale_(options.word("scale") == "on" ? 1 : std::sqrt(double(shape.D))),
        own_(options.word("layers") == "own") {
    check_buckets("t5", buckets_);
  }
  std::vector<ParamSpec> params() const override {
    return {{"bias", {buckets_.count, shape_.H}, 0, 1 / std::sqrt(double(shape_.C)), false}};
  }
  bool per_layer() const override { return own_; }
  double content_scale() const override { return scale_; }

 protected:
  double by_distance(std::span<const double> w, std::int64_t h, double delta) const override {
    return w[t5_bucket(buckets_, delta) * shape_.H + h];
  }
  void by_distance_backward(std::span<const double>, std::int64_t h, double delta, double d,
                            std::span<double> dw) const override {
    dw[t5_bucket(buckets_, delta) * shape_.H + h] += d;
  }

 private:
  const Buckets buckets_;
  const double scale_;
  const bool own_;
};

}  // namespace

extern const Entry t5_entry;
const Entry t5_entry =
    entry<T5>({.name = "t5",
               .aliases = {"rpe", "relative", "t5_bias", "bucketed"},
               .title = "T5's relative bias in logarithmic buckets",
               .paper = "https://arxiv.org/abs/1910.10683",
               .formula = "s = q*k/sqrt(D) + w[bucket(p_i - p_j), h]",
               .latex = R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} + w_{\mathrm{bucket}(p_i - p_j),\,h})",
               .pitfall = "T5 does not scale q*k; all layers share one table, cross-attention has none; the "
                          "logarithm is rounded down",
               .year = 2019,
               .relative = true,
               .options = {bucket_count_option(),
                           bucket_distance_option(),
                           {.name = "scale",
                            .help = "scale q*k by 1/sqrt(D); T5 itself does not",
                            .standard = "on",
                            .words = {"on", "off"}},
                           {.name = "layers",
                            .help = "one table for all layers, or for each layer its own, as in umT5",
                            .standard = "one",
                            .words = {"one", "own"}}}});

}  // namespace gnomon
