// CoPE: contextual position encoding. Golovneva, Wang, Weston, Sukhbaatar 2024, https://arxiv.org/abs/2405.18719, equations 3
// to 6 and appendix B.
//
//   g_iu = σ(q_i·k_u/√D),   P_ij = min(Σ_{u=j..i} g_iu, positions − 1), over the keys u that i sees
//   s[h,i,j] = q_i·k_j/√D + (1 − f)·q_i·e[⌊P⌋] + f·q_i·e[⌊P⌋ + 1],   f = P − ⌊P⌋
//
// The position of a key is how many keys before it the query counted. For causal masks. Acts on rows: a row's logits make
// its own positions. The gradient flows through the gate and the fraction. Parameters: e (positions, D), shared by the
// heads, each layer its own; 0 at the start.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/gates.h"

namespace gnomon {
namespace {

class Cope final : public Encoding, public RulePart {
 public:
  Cope(const Options& options, const Shape& shape) : Encoding(shape), count_(options.whole("positions")) {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override { return {{"table", {count_, shape_.D}, 0, 0, false}}; }

  double rule(const Scene& s, const Scores& scores, std::int64_t h, std::int64_t i,
              std::int64_t j) const override {
    double place = 0;
    for (std::int64_t u = j; u <= i; ++u) place += scores.sees(i, u) ? sigmoid(scores.score(h, i, u)) : 0;
    if (std::isnan(place)) return place;
    place = std::min(place, double(count_ - 1));
    const std::int64_t low = std::int64_t(place), high = std::min(low + 1, count_ - 1);
    const double f = place - double(low), *q = scores.query(h, i);
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d)
      sum += q[d] * ((1 - f) * s.w[low * shape_.D + d] + f * s.w[high * shape_.D + d]);
    return sum;
  }
  void lower(const Batch& b, Terms& t) const override { t.counted.assign(b.w, b.w + param_count()); }
  void lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const override {
    for (std::size_t n = 0; n < g.counted.size(); ++n) grad.w[n] += g.counted[n];
  }

 private:
  const std::int64_t count_;
};

}  // namespace

extern const Entry cope_entry;
const Entry cope_entry = entry<Cope>(
    {.name = "cope",
     .aliases = {"contextual"},
     .title = "Contextual position encoding: gates count the positions",
     .paper = "https://arxiv.org/abs/2405.18719",
     .formula = "P_ij = sum_{u=j..i} sigmoid(q_i*k_u/sqrt(D)); s += lerp(q_i*e[floor P], q_i*e[ceil P])",
     .latex =
         R"(P_{ij} = \sum_{u=j}^{i} \sigma\left(\frac{q_i \cdot k_u}{\sqrt{D}}\right), \quad s_{ij} \leftarrow s_{ij} + \mathrm{lerp}\big(q_i \cdot e_{\lfloor P_{ij} \rfloor},\, q_i \cdot e_{\lceil P_{ij} \rceil}\big))",
     .pitfall = "apply the mask before the gate; the gradient flows through the gate and the fractional part "
                "of the position",
     .year = 2024,
     .relative = true,
     .causal_only = true,
     .extrapolates = true,
     .options = {{.name = "positions",
                  .help = "number of rows in the table",
                  .standard = "64",
                  .least = 2,
                  .most = 1 << 20,
                  .whole = true}}});

}  // namespace gnomon
