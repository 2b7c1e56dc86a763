#ifndef GNOMON_KERNELS_TERMS_MIX_H_
#define GNOMON_KERNELS_TERMS_MIX_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[·,i,j] += b + down·leaky(up·[score ; b] + up_bias) + down_bias, columns over the heads; leaky has slope 0.01 below 0.
// b_h = −size[h]·ln(1 + rate[h]·|δ|); without mix_rate b_h = −size[h]·|δ|. DAPE
struct MixTerm {
  Floats mix_up, mix_up_bias;      // (hidden,2H), (hidden)
  Floats mix_down, mix_down_bias;  // (H,hidden), (H)
  Floats mix_size, mix_rate;       // (H) both

  static constexpr TermFacts kFacts{
      .name = "mix", .once = "mix the heads", .reads = TermReads::scores, .mixes_heads = true};
  static constexpr std::array kArrays{
      ArrayOf<MixTerm>{"mix_up", &MixTerm::mix_up, {Dim::own, Dim::both}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_up_bias", &MixTerm::mix_up_bias, {Dim::own}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_down", &MixTerm::mix_down, {Dim::heads, Dim::own}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_down_bias", &MixTerm::mix_down_bias, {Dim::heads}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_size", &MixTerm::mix_size, {Dim::heads}, &MixTerm::mix_down},
      ArrayOf<MixTerm>{"mix_rate", &MixTerm::mix_rate, {Dim::heads}, &MixTerm::mix_down, true}};
  std::int64_t own(const AttendShape&) const { return std::int64_t(mix_up_bias.size()); }
  bool operator==(const MixTerm&) const = default;
};

}  // namespace gnomon
#endif
