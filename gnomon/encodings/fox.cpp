// FoX, the Forgetting Transformer. Lin et al. 2025, https://openreview.net/forum?id=q2Lnyegkr8, equations 3 to 5; flash-linear-attention,
// ops/forgetting_attn/naive.py.
//
//   s[h,i,j] = q_i·k_j/√D + Σ_{l=j+1..i} ln f_hl,   f_hl = σ(w_h·x_l + b_h)
//
// x is what the layer projects q and k from. The sum is a difference of two running sums, kept in double. For causal masks.
// Acts on the logits, by query and by key. Parameters: w (H,C), b (H), each layer its own; b starts at `bias`.
#include <cmath>

#include "gnomon/encodings/gates.h"

namespace gnomon {
namespace {

class Fox final : public Encoding, public BiasPart {
 public:
  Fox(const Options& options, const Shape& shape) : Encoding(shape), bias_(options.number("bias")) {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsInput; }
  std::vector<ParamSpec> params() const override {
    return {{"weight", {shape_.H, shape_.C}, 0, 0.02, true}, {"bias", {shape_.H}, bias_, 0, false}};
  }

  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    double sum = 0;
    for (std::int64_t l = j + 1; l <= i; ++l) sum -= softplus(-gate(s.w.data(), &s.x[l * shape_.C], h));
    return sum;
  }
  void lower(const Batch& b, Terms& t) const override {
    const Content& content = *b.content;
    t.by_query.resize(content.B * shape_.H * content.T), t.by_key.resize(t.by_query.size());
    each_head(content, [&](std::int64_t first, std::int64_t batch, std::int64_t h) {
      double sum = 0;
      for (std::int64_t l = 0; l < content.T; ++l) {
        sum -= softplus(-gate(b.w, content.x.row(batch * content.T + l), h));
        t.by_query[first + l] += float(sum), t.by_key[first + l] -= float(sum);
      }
    });
  }
  // A gate counts for every query at or after it and every key before it.
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    const Content& content = *b.content;
    each_head(content, [&](std::int64_t first, std::int64_t batch, std::int64_t h) {
      double sum = 0;
      for (std::int64_t l = content.T; l-- > 0;) {
        sum += double(g.by_query[first + l]) - double(g.by_key[first + l]);
        const float* x = content.x.row(batch * content.T + l);
        const float d = float(sum * sigmoid(-gate(b.w, x, h)));
        float* dx = grad.content->x.row(batch * content.T + l);
        for (std::int64_t c = 0; c < shape_.C; ++c) {
          grad.w[h * shape_.C + c] += d * x[c];
          dx[c] += d * b.w[h * shape_.C + c];
        }
        grad.w[shape_.H * shape_.C + h] += d;
      }
    });
  }

 private:
  template <class W, class X>
  double gate(const W* w, const X* x, std::int64_t h) const {
    double sum = double(w[shape_.H * shape_.C + h]);
    for (std::int64_t c = 0; c < shape_.C; ++c) sum += double(w[h * shape_.C + c]) * double(x[c]);
    return sum;
  }
  template <class Body>
  void each_head(const Content& content, const Body& f) const {
    for (std::int64_t n = 0; n < content.B * shape_.H; ++n) f(n * content.T, n / shape_.H, n % shape_.H);
  }
  const double bias_;
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
                  .most = 50}}});

}  // namespace gnomon
