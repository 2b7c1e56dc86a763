// ALiBi: attention with linear biases. Press, Smith, Lewis 2021, https://arxiv.org/abs/2108.12409, section 3.
//
//   s[h,i,j] = q_i·k_j/√D − m_h·|p_i − p_j|
//   slopes=authors:   H = 2^n: m_h = 2^(−8(h+1)/H). Otherwise the slopes for the next lower power P of two, then
//                     every second one of those for 2P (the authors' code, get_slopes; BLOOM)
//   slopes=geometric: m_h = 2^(−8(h+1)/H) for every H (what several ports do)
//   bias_max=b: b instead of 8 (MPT, alibi_bias_max)      scaled=on: m_h/√D (Falcon divides the sum, bias and all)
//   heads=n: the first n heads have the slopes of a model of n heads, the others none (x-transformers, alibi_num_heads)
//
// Without a causal mask the distance is symmetric, which tells near from far but not before from after (sides=symmetric).
// For encoders: sides=separate has slope m_(H−1−h) for keys after the query; sides=offset has |p_i − p_j + 1/2|.
// Acts on the logits. No parameters.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/distance_bias.h"

namespace gnomon {
namespace {

class Alibi final : public DistanceBias {
 public:
  Alibi(const Options& options, const Shape& shape)
      : DistanceBias(shape),
        geometric_(options.word("slopes") == "geometric"),
        sides_(options.word("sides")),
        most_(options.number("bias_max")),
        heads_(options.whole("heads") ? options.whole("heads") : shape.H),
        divisor_(options.word("scaled") == "on" ? std::sqrt(double(shape.D)) : 1) {
    if (heads_ > shape.H)
      throw Error(Fault::usage,
                  text("alibi: heads=", heads_, "; allowed are 0 to ", shape.H, ", the number of heads"));
  }

 protected:
  double by_distance(std::span<const double>, std::int64_t h, double delta) const override {
    if (h >= heads_) return 0;
    if (sides_ == "offset") return -slope(h) * (std::abs(delta + 0.5) - 0.5);
    return -slope(sides_ == "separate" && delta < 0 ? heads_ - 1 - h : h) * std::abs(delta);
  }

 private:
  double slope(std::int64_t h) const { return alibi_slope(h, heads_, geometric_, most_) / divisor_; }
  const bool geometric_;
  const std::string sides_;
  const double most_;
  const std::int64_t heads_;
  const double divisor_;
};

}  // namespace

extern const Entry alibi_entry;
const Entry alibi_entry =
    entry<Alibi>({.name = "alibi",
                  .aliases = {"linear_bias", "bloom", "mpt"},
                  .title = "Attention with linear biases",
                  .paper = "https://arxiv.org/abs/2108.12409",
                  .formula = "s = q*k/sqrt(D) - m_h*|p_i - p_j|",
                  .latex = R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} - m_h\, \left|p_i - p_j\right|)",
                  .pitfall = "implementations use two rules if the number of heads is not a power of two; "
                             "16-bit distances collide: float16 beyond 2048, bfloat16 beyond 256",
                  .year = 2021,
                  .relative = true,
                  .extrapolates = true,
                  .options = {{.name = "slopes",
                               .help = "slope rule if the number of heads is not a power of two",
                               .standard = "authors",
                               .words = {"authors", "geometric"},
                               .must_be_named = true},
                              {.name = "sides",
                               .help = "bias of keys after the query, in an encoder: the same slopes, the "
                                       "slopes in reverse order, or distances shifted by 1/2",
                               .standard = "symmetric",
                               .words = {"symmetric", "separate", "offset"}},
                              {.name = "bias_max",
                               .help = "b in the slopes 2^(-b*(h+1)/H)",
                               .standard = "8",
                               .least = 0.001,
                               .most = 100},
                              {.name = "heads",
                               .help = "number of heads with a bias, counted from the first; 0 = all",
                               .standard = "0",
                               .least = 0,
                               .most = 65536,
                               .whole = true},
                              {.name = "scaled",
                               .help = "divide the bias by sqrt(D) too, as Falcon does",
                               .standard = "off",
                               .words = {"on", "off"}}}});

}  // namespace gnomon
