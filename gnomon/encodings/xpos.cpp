// xPos: rotation with a decay. Sun et al. 2022, https://arxiv.org/abs/2212.10554, section 3.1; torchscale,
// component/xpos_relative_position.py.
//
//   pair i turns as in RoPE; q is multiplied by ζ_i^((p − c)/base), k by ζ_i^(−(p − c)/base)
//   ζ_i = (2i/r + γ)/(1 + γ),   γ = 0.4,   base = 512 tokens,   r the channels of the window
//
// The logit has ζ_i^((p_i − p_j)/base), whatever c is; but c must be the same for q and k. Here c is the middle of the
// sequence. Acts on q and k; for causal masks, where p_i ≥ p_j. No parameters. A sequence so long that float32 cannot hold
// its factors is an error.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Xpos final : public Rotary {
 public:
  Xpos(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("xpos", options, shape)),
        theta_(options.number("theta")),
        base_(options.number("base")),
        gamma_(options.number("gamma")) {}
  bool keeps_keys() const override { return false; }  // the centre of the scales moves
  std::vector<double> frequencies() const override {
    return geometric_frequencies(theta_, window().channels);
  }

 protected:
  bool scales_differ() const override { return true; }
  double scale(Role role, double position, const Reach& reach, std::int64_t pair) const override {
    const double zeta = (2 * double(pair) / double(window().channels) + gamma_) / (1 + gamma_);
    const double exponent = (position - (reach.first + reach.last) / 2) / base_ * std::log(zeta);
    if (std::abs(exponent) > 80) {
      throw Error(Fault::usage, text("xpos: positions ", shortest(reach.first), " to ", shortest(reach.last),
                                     " need factors outside the range of float32; allowed are about ",
                                     shortest(std::floor(-160 * base_ / std::log(gamma_ / (1 + gamma_)))),
                                     " tokens with base=", shortest(base_)));
    }
    return std::exp(role == Role::q ? exponent : -exponent);
  }

 private:
  const double theta_, base_, gamma_;
};

}  // namespace

extern const Entry xpos_entry;
const Entry xpos_entry =
    entry<Xpos>({.name = "xpos",
                 .aliases = {"lex"},
                 .title = "xPos: rotary embedding with exponential decay",
                 .paper = "https://arxiv.org/abs/2212.10554",
                 .formula = "RoPE, with q*zeta_i^((p-c)/512), k*zeta_i^(-(p-c)/512)",
                 .latex = R"(q_i\, \zeta_i^{(p-c)/512}, \quad k_i\, \zeta_i^{-(p-c)/512}, \;\text{and RoPE})",
                 .pitfall = "q and k need the same centre c, or decoding differs from prefill; the factors "
                            "leave the range of float32 near 65,000 tokens",
                 .year = 2022,
                 .relative = true,
                 .causal_only = true,
                 .extrapolates = true,
                 .options = rotary_options({{.name = "base",
                                             .help = "distance in tokens at which the factor is zeta",
                                             .standard = "512",
                                             .least = 1,
                                             .most = 1000000000.0},
                                            {.name = "gamma",
                                             .help = "gamma in zeta = (2i/r + gamma)/(1 + gamma)",
                                             .standard = "0.4",
                                             .least = 0.01,
                                             .most = 100}})});

}  // namespace gnomon
