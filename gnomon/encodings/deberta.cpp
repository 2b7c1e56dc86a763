// DeBERTa, version 1. He et al. 2020, https://arxiv.org/abs/2006.03654, equations 2 to 4; the formula is in disentangled.h.
//
//   row(δ) = clamp(δ + k, 0, 2k − 1),   k = span
//
// The table has its own projections (v1 shares them with no layer). Acts on cross (and on the logits with p2p); q·k is
// divided by √(f·D), not by √D. Parameters: table (2k, C) and projections, one for all layers.
#include "gnomon/encodings/disentangled.h"

namespace gnomon {
namespace {

class Deberta final : public Disentangled {
 public:
  Deberta(const Options& options, const Shape& shape) : Disentangled(options, shape, options.whole("span")) {}

 protected:
  double offset(double delta) const override { return delta; }
};

}  // namespace

extern const Entry deberta_entry;
const Entry deberta_entry = entry<Deberta>(
    {.name = "deberta",
     .aliases = {"disentangled", "deberta_v1"},
     .title = "DeBERTa: disentangled attention over clamped distances",
     .paper = "https://arxiv.org/abs/2006.03654",
     .formula = "s = (q*k + q*K[r(d)] + k*Q[r(d)])/sqrt(3D), r(d) = clamp(d + k, 0, 2k-1)",
     .latex =
         R"(s = \frac{q \cdot k + q \cdot K_{r(d)} + k \cdot Q_{r(d)}}{\sqrt{3D}}, \quad r(d) = \mathrm{clamp}(d + k, 0, 2k - 1))",
     .pitfall = "for p2c the paper prints the distance with the opposite sign, but every checkpoint follows "
                "the authors' code; all terms are divided by sqrt(3D)",
     .year = 2020,
     .relative = true,
     .options = Disentangled::options("own", {{.name = "span",
                                               .help = "k: each distance from -k to k-1 has its own row",
                                               .standard = "32",
                                               .least = 1,
                                               .most = 1 << 20,
                                               .whole = true}})});

}  // namespace gnomon
