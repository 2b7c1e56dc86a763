// RoPE, rotary position embedding. Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.2.2.
//
//   pair i of q and of k at position p turns by p·θ_i,  θ_i = theta^(−2i/r),  i = 0..r/2−1
//   pairing=adjacent: channels (2i, 2i+1), the paper, GPT-J     pairing=halves: (i, i + r/2), GPT-NeoX, Hugging Face
//   r = fraction·D rotated channels from channel `offset` on, or the last of the head (side=trailing, DeepSeek-V4);
//   the others carry no position
//
// The logit then depends on i − j alone. Acts on q and k. No parameters. The backward pass turns by −p·θ_i. A larger
// theta ("adjusted base frequency", Xiong et al. 2023, https://arxiv.org/abs/2309.16039) is the plainest extension of the context.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

RotaryWindow window_of(const Options& options, const Shape& shape) {
  const std::int64_t r = std::llround(options.number("fraction") * double(shape.D));
  if (r % 2 || r == 0) {
    throw Error(Fault::usage,
                text("rope: fraction ", options.word("fraction"), " of a head of ", shape.D,
                     " channels rotates ", r, "; allowed are even numbers from 2 to ", shape.D));
  }
  const std::int64_t offset = options.word("side") == "trailing" ? shape.D - r : options.whole("offset");
  if (options.word("side") == "trailing" && options.whole("offset") != 0) {
    throw Error(Fault::usage, "rope: side=trailing fixes the window; offset must be 0");
  }
  if (offset + r > shape.D) {
    throw Error(Fault::usage,
                text("rope: a window of ", r, " channels at offset ", offset, " leaves the head of ", shape.D,
                     "; allowed are offsets up to ", shape.D - r));
  }
  return {options.word("pairing") == "halves" ? Pairing::halves : Pairing::adjacent, offset, r};
}

class Rope final : public Rotary {
 public:
  Rope(const Options& options, const Shape& shape)
      : Rotary(shape, window_of(options, shape)), theta_(options.number("theta")) {}
  std::vector<double> frequencies() const override {
    return geometric_frequencies(theta_, window().channels);
  }

 private:
  const double theta_;
};

}  // namespace

extern const Entry rope_entry;
const Entry rope_entry = {
    .name = "rope",
    .title = "Rotary position embedding",
    .paper = "https://arxiv.org/abs/2104.09864",
    .formula = "pair i of q and k turns by p*theta^(-2i/r)",
    .pitfall = "adjacent and halved pairs are both common; mixing them up is silent",
    .year = 2021,
    .acts = kQk,
    .relative = true,
    .options = rotary_options(
        {{.name = "fraction", .help = "rotated share of the head", .standard = "1", .least = 0, .most = 1},
         {.name = "offset",
          .help = "first rotated channel",
          .standard = "0",
          .least = 0,
          .most = 65536,
          .whole = true},
         {.name = "side",
          .help = "which end of the head rotates",
          .standard = "leading",
          .words = {"leading", "trailing"}}}),
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Rope>(options, shape);
    }};

}  // namespace gnomon
