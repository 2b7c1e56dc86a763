// Stick-breaking attention. Tan et al. 2024, https://arxiv.org/abs/2410.17980, equations 2 to 4.
//
//   β_ij = σ(q_i·k_j/√D),   A_ij = β_ij·Π_{j<u<i} (1 − β_iu),   j < i   (current=on: j ≤ i, u ≤ i)
//
// No softmax follows: a row sums to at most 1, and the first token sees nothing unless current=on. The nearest key breaks
// the stick first; order alone is position. For causal masks. Acts on rows. No parameters.
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class StickBreaking final : public Encoding, public WeightsPart {
 public:
  StickBreaking(const Options& options, const Shape& shape)
      : Encoding(shape), current_(options.word("current") == "on") {}
  Weighting weights() const override { return current_ ? Weighting::stick_current : Weighting::stick; }
  void lower(const Batch&, Terms& t) const override { t.weights = weights(); }

 private:
  const bool current_;
};

}  // namespace

extern const Entry stick_breaking_entry;
const Entry stick_breaking_entry = entry<StickBreaking>(
    {.name = "stick_breaking",
     .aliases = {"stickbreaking", "sba"},
     .title = "Stick-breaking attention: the nearest key takes its share first",
     .paper = "https://arxiv.org/abs/2410.17980",
     .formula = "A_ij = b_ij*prod_{j<u<i}(1 - b_iu), b = sigmoid(q*k/sqrt(D))",
     .latex =
         R"(a_{ij} = b_{ij} \prod_{j<u<i} (1 - b_{iu}), \quad b_{ij} = \sigma\left(\frac{q_i \cdot k_j}{\sqrt{D}}\right))",
     .pitfall = "each row of weights sums to at most 1; compute the product in logarithms",
     .year = 2024,
     .relative = true,
     .causal_only = true,
     .extrapolates = true,
     .options = {{.name = "current",
                  .help = "whether a token sees itself",
                  .standard = "off",
                  .words = {"off", "on"}}}});

}  // namespace gnomon
