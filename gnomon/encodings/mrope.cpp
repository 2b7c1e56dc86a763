// M-RoPE, multimodal rotary embedding. Wang et al. 2024 (Qwen2-VL), https://arxiv.org/abs/2409.12191, section 2.1; Hugging
// Face transformers, modeling_qwen2_vl.py, apply_multimodal_rotary_pos_emb.
//
//   pair n turns by c·theta^(−2n/r), c = t for the first sections[0] pairs, h for the next sections[1], w for the rest
//   order=alternating: c = h and w in turn for the first 2·sections[1] pairs, t for the rest (ERNIE 4.5 VL, which names its
//   sections h, w, t and turns adjacent channels; modeling_ernie4_5_vl_moe.py)
//   four sections: a token has four coordinates, each its own section (HunYuan-VL's xdrope; vLLM, xdrope.py. transformers
//   5.23 splits all D channels by the doubled sections there: the two channels of a pair then turn by different angles)
//
// The frequency index counts on over the sections. Tokens with one coordinate are text: t = h = w, which is RoPE. Acts on
// q and k. No parameters.
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Mrope final : public StreamRotary {
 public:
  Mrope(const Options& options, const Shape& shape)
      : StreamRotary("mrope", options, shape, 3.0 / 8, 4),
        alternating_(options.word("order") == "alternating") {
    if (alternating_ && (sections().size() != 3 || sections()[1] != sections()[2])) {
      throw Error(
          Fault::usage,
          text("mrope: order=alternating gives pairs to h and w in turn; found sections=",
               options.value("sections").print(), "; allowed are three sections, the last two equal"));
    }
  }

 protected:
  std::int64_t stream(std::int64_t pair) const override {
    if (alternating_) return pair < 2 * sections()[1] ? 1 + pair % 2 : 0;
    std::size_t n = 0;
    for (std::int64_t end = sections()[0]; pair >= end; end += sections()[n]) ++n;
    return std::int64_t(n);
  }

 private:
  const bool alternating_;
};

}  // namespace

extern const Entry mrope_entry;
const Entry mrope_entry = entry<Mrope>(
    {.name = "mrope",
     .aliases = {"m_rope", "multimodal_rope", "qwen2_vl"},
     .title = "M-RoPE: time, height and width, each with its own section of the pairs",
     .paper = "https://arxiv.org/abs/2409.12191",
     .formula = "pair n turns by (t|h|w)*theta^(-2n/r), by section",
     .latex =
         R"(\text{pair } n \;\text{turns by}\; (t \,|\, h \,|\, w)\, \theta^{-2n/r}, \;\text{by section})",
     .pitfall = "text after an image continues at the largest coordinate + 1; if this offset is lost, all "
                "later tokens are shifted",
     .year = 2024,
     .relative = true,
     .options = StreamRotary::options(
         {{.name = "order",
           .help = "order of the streams over the pairs: one section each, or h and w in turn and then t",
           .standard = "sections",
           .words = {"sections", "alternating"}}})});

}  // namespace gnomon
