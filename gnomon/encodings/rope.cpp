// RoPE, rotary position embedding. Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.2.2.
//
//   pair i of q and of k at position p turns by p·θ_i,  θ_i = theta^(−2i/r),  i = 0..r/2−1
//   pairing=adjacent: channels (2i, 2i+1), the paper, GPT-J     pairing=halves: (i, i + r/2), GPT-NeoX, Hugging Face
//   r rotated channels, the window of the head (rotary.h): a fraction, or a number; the others carry no position
//   direction=backward: by −p·θ_i, as in NanoChat
//
// The logit then depends on i − j alone. Acts on q and k. No parameters. The backward pass turns by −p·θ_i. A larger
// theta ("adjusted base frequency", Xiong et al. 2023, https://arxiv.org/abs/2309.16039) is the plainest extension of the context.
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Rope final : public Rotary {
 public:
  Rope(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("rope", options, shape)),
        theta_(options.number("theta")),
        backward_(options.word("direction") == "backward") {}
  std::vector<double> frequencies() const override {
    return geometric_frequencies(theta_, window().channels);
  }

 protected:
  std::vector<double> frequencies_in(const Reach&) const override {
    auto w = frequencies();
    for (double& each : w) each = backward_ ? -each : each;
    return w;
  }

 private:
  const double theta_;
  const bool backward_;
};

}  // namespace

extern const Entry rope_entry;
const Entry rope_entry =
    entry<Rope>({.name = "rope",
                 .aliases = {"rotary", "rotary_embedding", "roformer", "default"},
                 .title = "Rotary position embedding",
                 .paper = "https://arxiv.org/abs/2104.09864",
                 .formula = "pair i of q and k turns by p*theta^(-2i/r)",
                 .latex = R"((q, k)_{\text{pair } i} \;\text{turns by}\; p\, \theta^{-2i/r})",
                 .pitfall = "both pairings, adjacent and halves, are common; mixing them up raises no error",
                 .year = 2021,
                 .relative = true,
                 .options = rotary_options({{.name = "direction",
                                             .help = "backward turns by minus the angle",
                                             .standard = "forward",
                                             .words = {"forward", "backward"}}})});

}  // namespace gnomon
