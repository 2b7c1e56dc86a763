// M-RoPE, multimodal rotary embedding. Wang et al. 2024 (Qwen2-VL), https://arxiv.org/abs/2409.12191, section 2.1; Hugging
// Face transformers, modeling_qwen2_vl.py, apply_multimodal_rotary_pos_emb.
//
//   pair n turns by c·theta^(−2n/D), c = t for the first sections[0] pairs, h for the next sections[1], w for the rest
//
// The frequency index counts on over the sections. Tokens with one coordinate are text: t = h = w, which is RoPE. Acts on
// q and k. No parameters.
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Mrope final : public StreamRotary {
 public:
  Mrope(const Options& options, const Shape& shape) : StreamRotary("mrope", options, shape, 3.0 / 8) {}

 protected:
  std::int64_t stream(std::int64_t pair) const override {
    return pair < sections()[0] ? 0 : pair < sections()[0] + sections()[1] ? 1 : 2;
  }
};

}  // namespace

extern const Entry mrope_entry;
const Entry mrope_entry = {
    .name = "mrope",
    .title = "M-RoPE: time, height and width in sections of the pairs",
    .paper = "https://arxiv.org/abs/2409.12191",
    .formula = "pair n turns by (t|h|w)*theta^(-2n/D), by section",
    .pitfall = "text after an image goes on at the largest coordinate + 1; a lost delta shifts everything",
    .year = 2024,
    .acts = kQk,
    .relative = true,
    .options = StreamRotary::options(),
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Mrope>(options, shape);
    }};

}  // namespace gnomon
