// DeBERTa, versions 2 and 3. He, Gao, Chen 2021, https://arxiv.org/abs/2111.09543; microsoft/DeBERTa, deberta/da_utils.py,
// make_log_bucket_position; the formula is in disentangled.h.
//
//   row(δ) = clamp(bucket(δ) + B, 0, 2B − 1),   B = buckets, M = distance, mid = B/2
//   bucket(δ) = δ for |δ| ≤ mid, else sign(δ)·(⌈ln(|δ|/mid)/ln((M − 1)/mid)·(mid − 1)⌉ + mid)
//
// The ceiling, where T5 has a floor. The table is normalised, and projected by the layer's own W_k and W_q
// (share_att_key). Acts on cross (and on the logits with p2p); q·k is divided by √(f·D). Parameters: table (2B, C), its
// LayerNorm, one for all layers.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/disentangled.h"

namespace gnomon {
namespace {

class DebertaV2 final : public Disentangled {
 public:
  DebertaV2(const Options& options, const Shape& shape)
      : Disentangled(options, shape, options.whole("buckets")), distance_(options.number("distance")) {
    if (span_ % 2 || distance_ - 1 <= double(span_ / 2)) {
      throw Error(Fault::usage,
                  text("deberta_v2: buckets=", span_, ", distance=", shortest(distance_),
                       ": buckets must be even, and distance must exceed buckets/2 + 1 = ", span_ / 2 + 1));
    }
  }

 protected:
  double offset(double delta) const override {
    const double mid = double(span_ / 2), n = std::abs(delta);
    if (n <= mid) return delta;
    return std::copysign(std::ceil(std::log(n / mid) / std::log((distance_ - 1) / mid) * (mid - 1)) + mid,
                         delta);
  }

 private:
  const double distance_;
};

}  // namespace

extern const Entry deberta_v2_entry;
const Entry deberta_v2_entry = entry<DebertaV2>(
    {.name = "deberta_v2",
     .aliases = {"deberta_v3"},
     .title = "DeBERTa v2 and v3: disentangled attention over logarithmic buckets",
     .paper = "https://arxiv.org/abs/2111.09543",
     .formula = "as deberta with r(d) = bucket(d) + B, the logarithm rounded up, the table normalised",
     .latex =
         R"(s = \frac{q \cdot k + q \cdot K_{r(d)} + k \cdot Q_{r(d)}}{\sqrt{3D}}, \quad r(d) = \mathrm{bucket}(d) + B)",
     .pitfall = "the logarithm is rounded up, T5's down; each layer projects the normalised table with its "
                "own query and key weights",
     .year = 2021,
     .relative = true,
     .options = Disentangled::options("shared", {{.name = "buckets",
                                                  .help = "B: number of buckets on each side",
                                                  .standard = "32",
                                                  .least = 2,
                                                  .most = 1 << 20,
                                                  .whole = true},
                                                 {.name = "distance",
                                                  .help = "M: the distance that falls into the last bucket",
                                                  .standard = "128",
                                                  .least = 3,
                                                  .most = 1 << 24,
                                                  .whole = true}})});

}  // namespace gnomon
