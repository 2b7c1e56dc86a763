// PaTH attention. Yang et al. 2025, https://arxiv.org/abs/2505.16381, section 2; flash-linear-attention, layers/path_attn.py and
// ops/path_attn/naive.py.
//
//   s[h,i,j] = q_i·A_i·A_{i−1} ··· A_{j+1}·k_j / √D,   A_l = 1 − β_l·w_l·w_lᵀ,   β_l = 2σ(u_h·x_l + c_h)
//   w_l: the head's part of silu(Σ_m conv[m]·z(l − kernel + 1 + m)), z = V·U·x, divided by √(its squares + 1e-6)
//   projection=full: z = W·x; convolution=off: w_l is z itself, divided likewise, without silu
//
// x is what the layer projects q and k from; q and k are as projected. The convolution stops where positions do not rise, so at a
// new document. For causal masks. Acts on the score. Parameters: U (rank,C), V (H·D,rank), conv (H·D,kernel), u (H,C), c (H), each
// layer its own. PaTH-FoX of the paper is `path+fox(bias=0)`, that of the library `path+fox(bias=0,scaled=on)`.
#include <cmath>

#include "gnomon/encodings/content_rotary.h"
#include "gnomon/encodings/gates.h"
#include "gnomon/kernels/matmul.h"

namespace gnomon {
namespace {

constexpr double kFloor = 1e-6;  // beside the squares, as fla's l2_norm has it

double silu(double x) { return x * sigmoid(x); }
double silu_slope(double x) { return sigmoid(x) * (1 + x * sigmoid(-x)); }

class Path final : public Encoding, public CarryPart {
 public:
  Path(const Options& options, const Shape& shape)
      : Encoding(shape),
        rank_(options.word("projection") == "full" ? 0 : options.whole("rank")),
        kernel_(options.word("convolution") == "off" ? 0 : options.whole("kernel")) {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsInput; }
  // As torch's layers begin: deviations 1/√(3·inputs).
  std::vector<ParamSpec> params() const override {
    const auto deviation = [](std::int64_t inputs) { return 1 / std::sqrt(3.0 * double(inputs)); };
    std::vector<ParamSpec> all;
    if (rank_) all.push_back({"down.weight", {rank_, shape_.C}, 0, deviation(shape_.C), true});
    all.push_back({rank_ ? "up.weight" : "weight", {channels(), inner()}, 0, deviation(inner()), true});
    if (kernel_) all.push_back({"conv", {channels(), kernel_}, 0, deviation(kernel_), false});
    all.push_back({"beta.weight", {shape_.H, shape_.C}, 0, deviation(shape_.C), true});
    all.push_back({"beta.bias", {shape_.H}, 0, 0, false});
    return all;
  }

  // w, then β.
  std::vector<double> operators(const Scene& s) const override {
    const std::vector<double> z = projected(s);
    std::vector<double> all;
    for (std::int64_t n = 0; n < shape_.H * s.T(); ++n) {
      const std::int64_t h = n / s.T(), t = n % s.T();
      std::vector<double> w;
      double squares = kFloor;
      for (std::int64_t d = 0; d < shape_.D; ++d) {
        const std::int64_t channel = h * shape_.D + d;
        double sum = kernel_ ? 0 : z[std::size_t(t * channels() + channel)];
        for (std::int64_t m = 0; kernel_ && m <= tokens_before(s.positions, t, kernel_ - 1); ++m)
          sum += s.w[conv() + channel * kernel_ + kernel_ - 1 - m] *
                 z[std::size_t((t - m) * channels() + channel)];
        w.push_back(kernel_ ? silu(sum) : sum);
        squares += w.back() * w.back();
      }
      for (const double x : w) all.push_back(x / std::sqrt(squares));
      all.push_back(2 * sigmoid(dot(&s.w[beta() + h * shape_.C], &s.x[t * shape_.C], shape_.C) +
                                s.w[beta() + shape_.H * shape_.C + h]));
    }
    return all;
  }
  void pass(std::span<const double> token, std::vector<double>& row) const override {
    const double along = token.back() * dot(token.data(), row.data(), shape_.D);
    for (std::int64_t d = 0; d < shape_.D; ++d) row[std::size_t(d)] -= along * token[std::size_t(d)];
  }

  void lower(const Batch& b, Terms& t) const override {
    const Passed p = forward(b);
    t.carry_axis.resize(p.axis.size()), t.carry_strength.resize(p.beta.size());
    each_head(b, [&](std::int64_t token, std::int64_t h, std::int64_t to) {
      std::copy_n(&p.axis[token * channels() + h * shape_.D], shape_.D, &t.carry_axis[to * shape_.D]);
      t.carry_strength[to] = float(2 * sigmoid(p.beta[token * shape_.H + h]));
    });
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    const Passed p = forward(b);
    Floats dbeta(p.beta.size());
    std::vector<double> dsum(p.axis.size());  // of what the convolution gives
    each_head(b, [&](std::int64_t token, std::int64_t h, std::int64_t from) {
      const double sigma = sigmoid(p.beta[token * shape_.H + h]);
      dbeta[token * shape_.H + h] = float(2 * double(g.carry_strength[from]) * sigma * (1 - sigma));
      normalise_backward(p, token, h, &g.carry_axis[from * shape_.D], dsum);
    });
    const Floats dz = convolve_backward(b, p, dsum, grad);
    const std::int64_t step = b.content->x.step;
    Floats dx(std::size_t(p.tokens * step)), dlow(p.low.size());
    const Linear strengths{p.tokens, shape_.C, shape_.H, step},
        axes{p.tokens, shape_.C, rank_ ? rank_ : channels(), step};
    linear_backward(strengths, b.content->x.data, b.w + beta(), dbeta.data(),
                    {dx.data(), grad.w + beta(), grad.w + beta() + shape_.H * shape_.C});
    add_to_input(strengths, dx, grad);
    if (rank_) {
      linear_backward({p.tokens, rank_, channels()}, p.low.data(), b.w + up(), dz.data(),
                      {dlow.data(), grad.w + up(), nullptr});
    }
    linear_backward(axes, b.content->x.data, b.w, rank_ ? dlow.data() : dz.data(),
                    {dx.data(), grad.w, nullptr});
    add_to_input(axes, dx, grad);
  }

 private:
  // --- Where the parameters begin: U, or W, is the first.
  std::int64_t channels() const { return shape_.H * shape_.D; }
  std::int64_t inner() const { return rank_ ? rank_ : shape_.C; }
  std::int64_t up() const { return rank_ * shape_.C; }
  std::int64_t conv() const { return up() + channels() * inner(); }
  std::int64_t beta() const { return conv() + channels() * kernel_; }

  static double dot(const double* a, const double* b, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }
  std::vector<double> projected(const Scene& s) const {  // z (T,H·D)
    std::vector<double> z;
    for (std::int64_t t = 0; t < s.T(); ++t) {
      const double* x = &s.x[t * shape_.C];
      std::vector<double> low(x, x + (rank_ ? 0 : shape_.C));
      for (std::int64_t r = 0; r < rank_; ++r) low.push_back(dot(&s.w[r * shape_.C], x, shape_.C));
      for (std::int64_t n = 0; n < channels(); ++n)
        z.push_back(dot(&s.w[up() + n * inner()], low.data(), inner()));
    }
    return z;
  }

  // U·x (tokens,rank), z, what the convolution gives, and w (tokens,H·D each); the logits of β/2 (tokens,H).
  struct Passed {
    std::int64_t tokens;
    Floats low, z;
    std::vector<double> sum;
    Floats axis, beta;
  };
  Passed forward(const Batch& b) const {
    const std::int64_t tokens = b.content->B * b.content->T, size = tokens * channels(),
                       step = b.content->x.step;
    Passed p{tokens, Floats(std::size_t(tokens * rank_)), Floats(std::size_t(size)),
             {},     Floats(std::size_t(size)),           Floats(std::size_t(tokens * shape_.H))};
    const float* x = b.content->x.data;
    if (rank_) linear({tokens, shape_.C, rank_, step}, x, b.w, nullptr, p.low.data());
    linear({tokens, inner(), channels(), rank_ ? rank_ : step}, rank_ ? p.low.data() : x, b.w + up(), nullptr,
           p.z.data());
    linear({tokens, shape_.C, shape_.H, step}, x, b.w + beta(), b.w + beta() + shape_.H * shape_.C,
           p.beta.data());
    p.sum.assign(p.z.begin(), p.z.end());
    if (kernel_) std::fill(p.sum.begin(), p.sum.end(), 0.0);
    each_read(b, [&](std::int64_t at, std::int64_t from, std::int64_t weight) {
      p.sum[std::size_t(at)] += double(b.w[weight]) * double(p.z[from]);
    });
    for (std::int64_t first = 0; first < size; first += shape_.D) {
      const double length = length_of(p, first);
      for (std::int64_t n = first; n < first + shape_.D; ++n)
        p.axis[n] = float(shaped(p.sum[std::size_t(n)]) / length);
    }
    return p;
  }
  double shaped(double sum) const { return kernel_ ? silu(sum) : sum; }
  double length_of(const Passed& p, std::int64_t first) const {
    double squares = kFloor;
    for (std::int64_t n = first; n < first + shape_.D; ++n)
      squares += std::pow(shaped(p.sum[std::size_t(n)]), 2);
    return std::sqrt(squares);
  }
  void normalise_backward(const Passed& p, std::int64_t token, std::int64_t h, const float* daxis,
                          std::vector<double>& dsum) const {
    const std::int64_t first = token * channels() + h * shape_.D;
    const double length = length_of(p, first);
    double along = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d)
      along += double(daxis[d]) * shaped(p.sum[std::size_t(first + d)]) / length;
    for (std::int64_t d = 0; d < shape_.D; ++d) {
      const double sum = p.sum[std::size_t(first + d)];
      const double dw = (double(daxis[d]) - along * shaped(sum) / length) / length;
      dsum[std::size_t(first + d)] = dw * (kernel_ ? silu_slope(sum) : 1);
    }
  }
  Floats convolve_backward(const Batch& b, const Passed& p, const std::vector<double>& dsum,
                           const BatchGrad& grad) const {
    if (!kernel_) return {dsum.begin(), dsum.end()};
    std::vector<double> dz(dsum.size());
    each_read(b, [&](std::int64_t at, std::int64_t from, std::int64_t weight) {
      dz[std::size_t(from)] += dsum[std::size_t(at)] * double(b.w[weight]);
      grad.w[weight] += float(dsum[std::size_t(at)] * double(p.z[from]));
    });
    return {dz.begin(), dz.end()};
  }
  // f(number of the sum, number of z, the weight between them) for all that the convolution reads.
  template <class Body>
  void each_read(const Batch& b, const Body& f) const {
    for (std::int64_t t = 0; kernel_ && t < b.content->B * b.content->T; ++t) {
      const std::int64_t before = tokens_before(b.positions, t % b.tokens(), kernel_ - 1);
      for (std::int64_t m = 0; m <= before; ++m) {
        for (std::int64_t n = 0; n < channels(); ++n)
          f(t * channels() + n, (t - m) * channels() + n, conv() + n * kernel_ + kernel_ - 1 - m);
      }
    }
  }
  // f(token of the batch, head, row of (B,H,T))
  template <class Body>
  void each_head(const Batch& b, const Body& f) const {
    const std::int64_t T = b.content->T;
    for (std::int64_t n = 0; n < b.content->B * T * shape_.H; ++n) {
      const std::int64_t token = n / shape_.H, h = n % shape_.H;
      f(token, h, (token / T * shape_.H + h) * T + token % T);
    }
  }

  const std::int64_t rank_, kernel_;  // 0: a full projection, no convolution
};

}  // namespace

extern const Entry path_entry;
const Entry path_entry = entry<Path>(
    {.name = "path",
     .aliases = {"path_attention", "householder"},
     .title = "PaTH attention: every token between reflects the query along an axis of its content",
     .paper = "https://arxiv.org/abs/2505.16381",
     .formula =
         "s = q_i*A_i*...*A_{j+1}*k_j/sqrt(D); A_l = 1 - beta_l*w_l*w_l^T, beta_l = 2*sigmoid(u*x_l + c)",
     .latex =
         R"(s_{ij} = \frac{1}{\sqrt{D}}\, q_i^\top A_i A_{i-1} \cdots A_{j+1} k_j, \quad A_l = I - \beta_l w_l w_l^\top)",
     .pitfall = "A_i meets the query first; the key's own token takes no part",
     .year = 2025,
     .relative = true,
     .causal_only = true,
     .extrapolates = true,
     .options = {{.name = "projection",
                  .help = "low_rank: w comes from the input by two matrices; full: by one",
                  .standard = "low_rank",
                  .words = {"low_rank", "full"}},
                 {.name = "rank",
                  .help = "rank of the projection, with projection=low_rank",
                  .standard = "32",
                  .least = 1,
                  .most = 4096,
                  .whole = true},
                 {.name = "convolution",
                  .help = "on: w is a convolution along the tokens and a SiLU; off: neither",
                  .standard = "on",
                  .words = {"on", "off"}},
                 {.name = "kernel",
                  .help = "tokens that the convolution reads",
                  .standard = "3",
                  .least = 1,
                  .most = 64,
                  .whole = true}}});

}  // namespace gnomon
