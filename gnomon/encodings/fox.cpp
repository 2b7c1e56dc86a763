// FoX, the Forgetting Transformer. Lin et al. 2025, https://openreview.net/forum?id=q2Lnyegkr8, equations 3 to 5; flash-linear-attention,
// ops/forgetting_attn/naive.py.
//
//   s[h,i,j] = q_i·k_j/√D + Σ_{l=j+1..i} ln f_hl,   f_hl = σ(w_h·x_l + b_h)
//   scaled=on: the sum is divided by √D too, as that library does it beside PaTH (ops/path_attn/naive.py)
//
// x is what the layer projects q and k from. For causal masks.
// Acts on the logits, by query and by key. Parameters: w (H,C), b (H), each layer its own; b starts at `bias`.
#include "gnomon/encodings/running_gates.h"

namespace gnomon {
namespace {

class Fox final : public RunningGates {
 public:
  Fox(const Options& options, const Shape& shape)
      : RunningGates(shape, options.number("bias")),
        factor_(options.word("scaled") == "on" ? 1 / std::sqrt(double(shape.D)) : 1) {}

 protected:
  double decay(double z) const override { return -factor_ * softplus(-z); }
  double decay_slope(double z) const override { return factor_ * sigmoid(-z); }

 private:
  const double factor_;
};

}  // namespace

extern const Entry fox_entry;
const Entry fox_entry = entry<Fox>(
    {.name = "fox",
     .aliases = {"forgetting", "forgetting_transformer"},
     .title = "Forgetting attention: the gate of each token fades all tokens before it",
     .paper = "https://openreview.net/forum?id=q2Lnyegkr8",
     .formula = "s = q*k/sqrt(D) + sum_{l=j+1..i} ln sigmoid(w*x_l + b)",
     .latex = R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} + \sum_{l=j+1}^{i} \ln \sigma(w \cdot x_l + b))",
     .pitfall = "the running sum of log gates needs more than 16 bits",
     .year = 2025,
     .relative = true,
     .causal_only = true,
     .extrapolates = true,
     .options = {{.name = "bias",
                  .help = "initial bias of the gates; 5 forgets almost nothing",
                  .standard = "5",
                  .least = -50,
                  .most = 50},
                 {.name = "scaled",
                  .help = "on: what the gates add is divided by sqrt(D), as in the library of PaTH",
                  .standard = "off",
                  .words = {"off", "on"}}}});

}  // namespace gnomon
