// Interleaved M-RoPE. Qwen3-VL technical report 2025, https://arxiv.org/abs/2511.21631; Hugging Face transformers,
// modeling_qwen3_vl.py, apply_interleaved_mrope.
//
//   pair n turns by c·theta^(−2n/D):  c = h if n mod 3 = 1 and n < 3·sections[1];  w if n mod 3 = 2 and
//   n < 3·sections[2];  else t
//
// "Interleaved" is the order of the axes over the pairs; which channels form a pair is `pairing`. Tokens with one
// coordinate are text: t = h = w. Acts on q and k. No parameters.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class MropeInterleaved final : public Rotary {
 public:
  MropeInterleaved(const Options& options, const Shape& shape)
      : Rotary(shape, whole_head("mrope_interleaved", options, shape)),
        theta_(options.number("theta")),
        sections_(mrope_sections("mrope_interleaved", options, shape, 5.0 / 16)) {}
  std::int64_t axes() const override { return 3; }
  std::vector<double> frequencies() const override { return geometric_frequencies(theta_, shape_.D); }

 protected:
  double turn(const Positions& p, std::int64_t t, std::int64_t pair) const override {
    if (p.axes == 1) return p[t];  // text: t = h = w
    if (p.axes != 3) {
      throw Error(Fault::usage,
                  text("mrope_interleaved: positions have ", p.axes, " axes; allowed are 3 (t, h, w), or 1"));
    }
    return p.at(t, stream(pair));
  }

 private:
  std::int64_t stream(std::int64_t pair) const {
    if (pair % 3 == 1 && pair < 3 * sections_[1]) return 1;
    if (pair % 3 == 2 && pair < 3 * sections_[2]) return 2;
    return 0;  // whatever is left follows t
  }
  const double theta_;
  const std::vector<std::int64_t> sections_;
};

}  // namespace

extern const Entry mrope_interleaved_entry;
const Entry mrope_interleaved_entry = {
    .name = "mrope_interleaved",
    .title = "M-RoPE with the three streams interleaved over the pairs",
    .paper = "https://arxiv.org/abs/2511.21631",
    .formula = "pair n turns by h if n%3=1, w if n%3=2, else t",
    .pitfall =
        "the leftover pairs follow t: sending them to a fourth stream changes pairs 61 and 62 of (24,20,20)",
    .year = 2025,
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
      return std::make_unique<MropeInterleaved>(options, shape);
    }};

}  // namespace gnomon
