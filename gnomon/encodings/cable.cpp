// Cable: context-aware biases for length extrapolation. Veisi et al. 2025, https://arxiv.org/abs/2503.08067; the authors'
// github.com/axiomlab/Cable, src/Cable.py.
//
//   s[h,i,j] = q_i·k_j/√D − Σ_{l=j+1..i} softplus(w_h·x_l + b_h)
//   score=plain: q_i·k_j without 1/√D, as the published code has it
//
// x is what the layer projects q and k from. For causal masks. Acts on the logits, by query and by key. Parameters: w (H,C), b (H),
// each layer its own.
#include "gnomon/encodings/running_gates.h"

namespace gnomon {
namespace {

class Cable final : public RunningGates {
 public:
  Cable(const Options& options, const Shape& shape)
      : RunningGates(shape, 0), plain_(options.word("score") == "plain") {}
  double content_scale() const override { return plain_ ? std::sqrt(double(shape_.D)) : 1; }

 protected:
  double decay(double z) const override { return -softplus(z); }
  double decay_slope(double z) const override { return -sigmoid(z); }

 private:
  const bool plain_;
};

}  // namespace

extern const Entry cable_entry;
const Entry cable_entry = entry<Cable>(
    {.name = "cable",
     .title = "Cable: the content of each token says by how much the tokens before it fade",
     .paper = "https://arxiv.org/abs/2503.08067",
     .formula = "s = q*k/sqrt(D) - sum_{l=j+1..i} softplus(w*x_l + b)",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} - \sum_{l=j+1}^{i} \mathrm{softplus}(w \cdot x_l + b))",
     .pitfall = "FoX with the sign of w and b turned round, except at the start; the published code leaves "
                "out 1/sqrt(D)",
     .year = 2025,
     .relative = true,
     .causal_only = true,
     .extrapolates = true,
     .options = {{.name = "score",
                  .help = "plain: q*k is not divided by the root of the head's size",
                  .standard = "scaled",
                  .words = {"scaled", "plain"}}}});

}  // namespace gnomon
