// Interleaved M-RoPE. Qwen3-VL technical report 2025, https://arxiv.org/abs/2511.21631; Hugging Face transformers,
// modeling_qwen3_vl.py, apply_interleaved_mrope.
//
//   pair n turns by c·theta^(−2n/r):  c = h if n mod 3 = 1 and n < 3·sections[1];  w if n mod 3 = 2 and
//   n < 3·sections[2];  else t
//
// "Interleaved" is the order of the axes over the pairs; which channels form a pair is `pairing`. Tokens with one
// coordinate are text: t = h = w. Acts on q and k. No parameters.
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class MropeInterleaved final : public StreamRotary {
 public:
  MropeInterleaved(const Options& options, const Shape& shape)
      : StreamRotary("mrope_interleaved", options, shape, 5.0 / 16) {}

 protected:
  std::int64_t stream(std::int64_t pair) const override {
    if (pair % 3 == 1 && pair < 3 * sections()[1]) return 1;
    if (pair % 3 == 2 && pair < 3 * sections()[2]) return 2;
    return 0;  // whatever is left follows t
  }
};

}  // namespace

extern const Entry mrope_interleaved_entry;
const Entry mrope_interleaved_entry = entry<MropeInterleaved>(
    {.name = "mrope_interleaved",
     .aliases = {"interleaved_mrope", "qwen3_vl"},
     .title = "M-RoPE with the three streams interleaved over the pairs",
     .paper = "https://arxiv.org/abs/2511.21631",
     .formula = "pair n turns by h if n%3=1, w if n%3=2, else t",
     .latex =
         R"(\text{pair } n \;\text{turns by}\; x\, \theta^{-2n/r}, \quad x = h \;\text{if}\; n \bmod 3 = 1, \; w \;\text{if}\; n \bmod 3 = 2, \;\text{else}\; t)",
     .pitfall =
         "the leftover pairs follow t; giving them to a fourth stream changes pairs 61 and 62 of (24,20,20)",
     .year = 2025,
     .relative = true,
     .options = StreamRotary::options()});

}  // namespace gnomon
