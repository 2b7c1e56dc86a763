// Wall attention. Tilde Research 2026, https://blog.tilderesearch.com/blog/wall-attn; flash-linear-attention, layers/wall_attn.py and
// ops/wall_attn/naive.py; the bound: github.com/bicycleman15/wall-attention-release, wall_attn/gates.py.
//
//   s[h,i,j] = Σ_d q_i[d]·k_j[d]·Π_{l=j+1..i} e^{g_l[d]} / √D,   g_l = ln σ(W_h·x_l + b_h), a gate for each channel of each head
//   bound=soft: g becomes m·(e^{g/m} − 1), between −m and 0, m = most
//
// x is what the layer projects q and k from; q and k are as projected. For causal masks. Acts on the score. Parameters: W (H·D,C),
// b (H·D), each layer its own; b starts at `bias`. The optional gate of a whole head is `wall+fox`, whose bias begins at 8 there.
#include <cmath>

#include "gnomon/encodings/content_rotary.h"
#include "gnomon/encodings/gates.h"
#include "gnomon/kernels/matmul.h"

namespace gnomon {
namespace {

class Wall final : public Encoding, public CarryPart {
 public:
  Wall(const Options& options, const Shape& shape)
      : Encoding(shape),
        bias_(options.number("bias")),
        most_(options.number("most")),
        bound_(options.word("bound") == "soft") {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsInput; }
  std::vector<ParamSpec> params() const override {
    return {{"weight", {channels(), shape_.C}, 0, 0.02, true}, {"bias", {channels()}, bias_, 0, false}};
  }

  // e^g of the channels of a head.
  std::vector<double> operators(const Scene& s) const override {
    std::vector<double> all;
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      for (std::int64_t n = 0; n < s.T() * shape_.D; ++n) {
        const std::int64_t channel = h * shape_.D + n % shape_.D;
        const double *x = &s.x[n / shape_.D * shape_.C], *w = &s.w[channel * shape_.C];
        double z = s.w[channels() * shape_.C + channel];
        for (std::int64_t c = 0; c < shape_.C; ++c) z += w[c] * x[c];
        all.push_back(std::exp(gate(z)));
      }
    }
    return all;
  }
  void pass(std::span<const double> token, std::vector<double>& row) const override {
    for (std::size_t d = 0; d < row.size(); ++d) row[d] *= token[d];
  }

  void lower(const Batch& b, Terms& t) const override {
    const Floats z = logits(b);
    t.carry_gate.resize(z.size());
    each(b,
         [&](std::int64_t of_row, std::int64_t of_head) { t.carry_gate[of_head] = float(gate(z[of_row])); });
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    Floats dz = logits(b);
    each(b, [&](std::int64_t of_row, std::int64_t of_head) {
      dz[of_row] = float(double(g.carry_gate[of_head]) * slope(dz[of_row]));
    });
    Floats dx(std::size_t(b.content->B * b.content->T * b.content->x.step));
    linear_backward(projection(b), b.content->x.data, b.w, dz.data(),
                    {dx.data(), grad.w, grad.w + channels() * shape_.C});
    add_to_input(projection(b), dx, grad);
  }

 private:
  std::int64_t channels() const { return shape_.H * shape_.D; }
  double gate(double z) const {
    const double g = -softplus(-z);
    return bound_ ? most_ * std::expm1(g / most_) : g;
  }
  double slope(double z) const { return sigmoid(-z) * (bound_ ? std::exp(-softplus(-z) / most_) : 1); }
  Linear projection(const Batch& b) const {
    return {b.content->B * b.content->T, shape_.C, channels(), b.content->x.step};
  }
  Floats logits(const Batch& b) const {
    Floats z(std::size_t(b.content->B * b.content->T * channels()));
    linear(projection(b), b.content->x.data, b.w, b.w + channels() * shape_.C, z.data());
    return z;
  }
  // f(index in (tokens,H·D), index in (B,H,T,D))
  template <class Body>
  void each(const Batch& b, const Body& f) const {
    const std::int64_t T = b.content->T, D = shape_.D, H = shape_.H;
    for (std::int64_t n = 0; n < b.content->B * T * channels(); ++n) {
      const std::int64_t token = n / channels(), h = n / D % H;
      f(n, ((token / T * H + h) * T + token % T) * D + n % D);
    }
  }
  const double bias_, most_;
  const bool bound_;
};

}  // namespace

extern const Entry wall_entry;
const Entry wall_entry = entry<Wall>(
    {.name = "wall",
     .aliases = {"wall_attention", "diagonal_gates"},
     .title = "Wall attention: each channel of q*k fades by a gate of every token between",
     .paper = "https://blog.tilderesearch.com/blog/wall-attn",
     .formula = "s = sum_d q_i[d]*k_j[d]*prod_{l=j+1..i} sigmoid(W x_l + b)[d]/sqrt(D)",
     .latex = R"(s_{ij} = \frac{1}{\sqrt{D}} \sum_d q_{id}\, k_{jd} \prod_{l=j+1}^{i} \sigma(W x_l + b)_d)",
     .pitfall =
         "running products of gates leave the range of floats: gates are multiplied from chunk to chunk",
     .year = 2026,
     .relative = true,
     .causal_only = true,
     .options = {
         {.name = "bias",
          .help = "initial bias of the gates; 8 forgets almost nothing",
          .standard = "8",
          .least = -50,
          .most = 50},
         {.name = "bound",
          .help = "soft: no token fades a channel by more than e^-most, as the authors' own kernels need",
          .standard = "none",
          .words = {"none", "soft"}},
         {.name = "most",
          .help = "largest fading of one token with bound=soft, as a natural logarithm",
          .standard = "0.86",
          .least = 0.01,
          .most = 50}}});

}  // namespace gnomon
