// ALiBi: attention with linear biases. Press, Smith, Lewis 2021, https://arxiv.org/abs/2108.12409, section 3.
//
//   s[h,i,j] = q_i·k_j/√D − m_h·|p_i − p_j|
//   slopes=authors:   H = 2^n: m_h = 2^(−8(h+1)/H). Otherwise the slopes for the next lower power P of two, then
//                     every second one of those for 2P (the authors' code, get_slopes; BLOOM)
//   slopes=geometric: m_h = 2^(−8(h+1)/H) for every H (what several ports do)
//
// Without a causal mask the distance is symmetric, which tells near from far but not before from after.
// Acts on the logits. No parameters.
#include <bit>
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Alibi final : public Encoding {
 public:
  Alibi(const Options& options, const Shape& shape)
      : Encoding(shape), geometric_(options.word("slopes") == "geometric") {}

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    return plain_logit(s, h, i, j) - slope(h) * std::abs(s.positions[i] - s.positions[j]);
  }
  void lower(const Batch&, Terms& terms) const override {
    add_by_distance(terms, shape_.H,
                    [&](std::int64_t h, std::int64_t delta) { return -slope(h) * std::abs(double(delta)); });
  }

 private:
  double slope(std::int64_t h) const {
    const std::int64_t H = shape_.H, P = geometric_ ? H : std::int64_t(std::bit_floor(std::uint64_t(H)));
    return h < P ? std::exp2(-8.0 * double(h + 1) / double(P))
                 : std::exp2(-4.0 * double(2 * (h - P) + 1) / double(P));
  }
  const bool geometric_;
};

}  // namespace

extern const Entry alibi_entry;
const Entry alibi_entry = {.name = "alibi",
                           .title = "Attention with linear biases",
                           .paper = "https://arxiv.org/abs/2108.12409",
                           .year = 2021,
                           .acts = kLogits,
                           .relative = true,
                           .options = {{.name = "slopes",
                                        .help = "rule for head counts that are not a power of two",
                                        .standard = "authors",
                                        .words = {"authors", "geometric"},
                                        .must_be_named = true}},
                           .make = [](const Options& options, const Shape& shape) {
                             return std::make_unique<Alibi>(options, shape);
                           }};

}  // namespace gnomon
