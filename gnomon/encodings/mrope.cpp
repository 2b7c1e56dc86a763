// M-RoPE, multimodal rotary embedding. Wang et al. 2024 (Qwen2-VL), https://arxiv.org/abs/2409.12191, section 2.1; Hugging
// Face transformers, modeling_qwen2_vl.py, apply_multimodal_rotary_pos_emb.
//
//   pair n turns by c·theta^(−2n/D), c = t for the first sections[0] pairs, h for the next sections[1], w for the rest
//
// The frequency index counts on over the sections. Tokens with one coordinate are text: t = h = w, which is RoPE. Acts on
// q and k. No parameters.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Mrope final : public Rotary {
 public:
  Mrope(const Options& options, const Shape& shape)
      : Rotary(shape, whole_head("mrope", options, shape)),
        theta_(options.number("theta")),
        sections_(mrope_sections("mrope", options, shape, 3.0 / 8)) {}
  std::int64_t axes() const override { return 3; }
  std::vector<double> frequencies() const override { return geometric_frequencies(theta_, shape_.D); }

 protected:
  double turn(const Positions& p, std::int64_t t, std::int64_t pair) const override {
    if (p.axes == 1) return p[t];  // text: t = h = w
    if (p.axes != 3) {
      throw Error(Fault::usage,
                  text("mrope: positions have ", p.axes, " axes; allowed are 3 (t, h, w), or 1"));
    }
    return p.at(t, stream(pair));
  }

 private:
  std::int64_t stream(std::int64_t pair) const {
    return pair < sections_[0] ? 0 : pair < sections_[0] + sections_[1] ? 1 : 2;
  }
  const double theta_;
  const std::vector<std::int64_t> sections_;
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
    .options = rotary_options({{.name = "sections",
                                .help = "pairs of t, h and w, as in 16/24/24; 0 = a fixed share of the head",
                                .standard = "0",
                                .least = 0,
                                .most = 65536,
                                .whole = true,
                                .list = true}}),
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Mrope>(options, shape);
    }};

}  // namespace gnomon
