// A gated sum: the word decides how much position it takes. The gate of Dauphin et al. 2016,
// https://arxiv.org/abs/1612.08083, on the sum of Vaswani et al. 2017.
//
//   h = s·x + g ⊙ e,   g = σ(W·[x' ; e] + b),   x' = s·x
//   kind=scalar: one gate a token, W (1, 2d);   kind=vector: one a channel, W (d, 2d)
//
// b starts at `bias`, so that the gate is open and the model begins as the plain sum. Parameters: W, b.
#include <algorithm>
#include <cmath>

#include "gnomon/kernels/matmul.h"
#include "gnomon/spec/combination.h"

namespace gnomon {
namespace {

class Gate final : public Combination {
 public:
  Gate(const Options& options, const Shape& shape)
      : Combination(shape.C),
        scale_(options.word("scale") == "on" ? std::sqrt(double(d)) : 1.0),
        gates_(options.word("kind") == "vector" ? d : 1),
        bias_(options.number("bias")) {}
  std::vector<ParamSpec> params() const override {
    return {{"weight", {gates_, 2 * d}, 0, 0.1 / std::sqrt(2.0 * double(d)), true},
            {"bias", {gates_}, bias_, 0, false}};
  }

  double at(const Joining& s, std::int64_t t, std::int64_t c) const override {
    const std::int64_t gate = gates_ == 1 ? 0 : c;
    double z = s.w[gates_ * 2 * d + gate];
    for (std::int64_t k = 0; k < d; ++k)
      z += s.w[gate * 2 * d + k] * scale_ * s.x[t * d + k] + s.w[gate * 2 * d + d + k] * s.e[t * d + k];
    return scale_ * s.x[t * d + c] + s.e[t * d + c] / (1 + std::exp(-z));
  }
  void forward(const Words& words, Strided<float> h) const override {
    const Scratch both = concatenate(words), g = gates(words, both);
    for (std::int64_t n = 0; n < words.B * words.T; ++n) {
      const float *x = &both[n * row_step(2 * d)], *e = x + d;
      for (std::int64_t c = 0; c < d; ++c) h.row(n)[c] = x[c] + g[n * gates_ + (gates_ == 1 ? 0 : c)] * e[c];
    }
  }
  void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const override {
    const std::int64_t N = words.B * words.T, step = row_step(2 * d);
    const Scratch both = concatenate(words), g = gates(words, both);
    Scratch dboth(N * step);
    Floats dz(N * gates_);
    for (std::int64_t n = 0; n < N; ++n) {
      for (std::int64_t c = 0; c < d; ++c) {
        const std::int64_t at = n * gates_ + (gates_ == 1 ? 0 : c);
        dz[at] += dh.row(n)[c] * both[n * step + d + c] * g[at] * (1 - g[at]);
      }
    }
    linear_backward({N, 2 * d, gates_, step, gates_}, both.data(), words.w, dz.data(),
                    {dboth.data(), grad.dw, grad.dw + gates_ * 2 * d});
    std::fill_n(grad.de, words.e_rows * words.T * d, 0.0f);
    for (std::int64_t n = 0; n < N; ++n) {
      const float* from = &dboth[n * step];
      float* de = grad.de + words.place(n) * d;
      for (std::int64_t c = 0; c < d; ++c) {
        grad.dx.row(n)[c] = float(scale_) * (from[c] + dh.row(n)[c]);
        de[c] += from[d + c] + g[n * gates_ + (gates_ == 1 ? 0 : c)] * dh.row(n)[c];
      }
    }
  }

 private:
  Scratch concatenate(const Words& words) const {
    const std::int64_t step = row_step(2 * d);
    Scratch both(words.B * words.T * step);
    for (std::int64_t n = 0; n < words.B * words.T; ++n) {
      for (std::int64_t c = 0; c < d; ++c) both[n * step + c] = float(scale_) * words.x.row(n)[c];
      std::copy_n(words.e + words.place(n) * d, d, &both[n * step + d]);
    }
    return both;
  }
  Scratch gates(const Words& words, const Scratch& both) const {
    const std::int64_t N = words.B * words.T;
    Scratch g(N * gates_);
    linear({N, 2 * d, gates_, row_step(2 * d), gates_}, both.data(), words.w, words.w + gates_ * 2 * d,
           g.data());
    for (float& z : g) z = 1 / (1 + std::exp(-z));
    return g;
  }
  const double scale_;
  const std::int64_t gates_;
  const double bias_;
};

}  // namespace

extern const CombinationEntry gate_combination;
const CombinationEntry gate_combination = {
    .name = "gate",
    .aliases = {"gated"},
    .title = "Sum with a learned gate on the position",
    .paper = "https://arxiv.org/abs/1612.08083",
    .formula = "h = s*x + sigmoid(W[s*x ; e] + b)*e",
    .needs_position = true,
    .options = {{.name = "kind",
                 .help = "one gate per token, or one per channel",
                 .standard = "vector",
                 .words = {"scalar", "vector"}},
                {.name = "bias",
                 .help = "initial bias of the gate; 3 opens it to 95 %",
                 .standard = "3",
                 .least = -20,
                 .most = 20},
                {.name = "scale",
                 .help = "multiply the word vector by sqrt(d)",
                 .standard = "on",
                 .words = {"on", "off"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Gate>(options, shape);
    }};

}  // namespace gnomon
