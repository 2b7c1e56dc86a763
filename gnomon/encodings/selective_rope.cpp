// Selective RoPE. Movahedi et al. 2025, https://arxiv.org/abs/2511.17388; the authors' github.com/timurcarstensen/selective-rope,
// src/selective_rope/modules/rotary.py, with low-rank phases.
//
//   pair n of head h turns by τ_n·Σ_{l≤t} g_h(l)·Σ_m c[h,n,m]·φ[h,n](l − kernel + 1 + m),   τ_n = theta^(−2n/D)
//   φ(l) = U·V·y(l),   y: the channels of x in H equal parts, each divided by √(its squares + 1e-6)
//   activation=silu: the convolution's result goes through x·σ(x).   bias=on: e^(b[h,n]) is added to that
//   gate=head: g_h = σ(a_h·y + b_h); gate=off: 1
//
// Positions themselves do not count. The convolution stops where positions do not rise, so at a new document. Acts on q and k.
// Parameters: V (rank,C), U (H·pairs,rank), c (H·pairs,kernel), b (H·pairs), a (H,C) and its bias (H), each layer its own.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/content_rotary.h"
#include "gnomon/encodings/gates.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

constexpr double kFloor = 1e-6;  // beside the squares, as fla's l2_norm has it

class SelectiveRope final : public ContentRotary {
 public:
  SelectiveRope(const Options& options, const Shape& shape)
      : ContentRotary(shape, rotary_window("selective_rope", options, shape)),
        temperature_(geometric_frequencies(options.number("theta"), channels())),
        rank_(options.whole("rank")),
        kernel_(options.whole("kernel")),
        gated_(options.word("gate") == "head"),
        biased_(options.word("bias") == "on"),
        silu_(options.word("activation") == "silu") {
    if (shape.C % shape.H == 0) return;
    throw Error(Fault::usage, text("selective_rope: ", shape.C, " channels cannot be split into ", shape.H,
                                   " equal parts, one for each head"));
  }
  std::vector<ParamSpec> params() const override {
    const double width = 1 / std::sqrt(3.0 * double(shape_.C));
    std::vector<ParamSpec> all{
        {"down.weight", {rank_, shape_.C}, 0, width, true},
        {"up.weight", {turning(), rank_}, 0, 1 / std::sqrt(3.0 * double(rank_)), true},
        {"conv", {turning(), kernel_}, 0, 1 / std::sqrt(3.0 * double(kernel_)), false}};
    if (biased_) all.push_back({"bias", {turning()}, 0, 0, false});
    if (gated_) all.push_back({"gate.weight", {shape_.H, shape_.C}, 0, width, true});
    if (gated_) all.push_back({"gate.bias", {shape_.H}, 0, 0, false});
    return all;
  }

 protected:
  std::vector<double> angles(const Scene& s, std::int64_t h, std::int64_t t) const override {
    std::vector<double> phi(temperature_.size());
    std::vector<std::vector<double>> low;  // V·y of the tokens so far
    for (std::int64_t l = 0; l <= t; ++l) {
      const auto y = normalised(&s.x[l * shape_.C]);
      low.push_back(lowered(s.w.data(), y));
      const double* a = &s.w[gates() + h * shape_.C];
      const double gate =
          gated_ ? sigmoid(dot(a, y.data(), shape_.C) + s.w[gates() + shape_.H * shape_.C + h]) : 1;
      for (std::int64_t n = 0; n < pairs(); ++n) {
        const std::int64_t at = h * pairs() + n;
        double sum = 0;
        for (std::int64_t m = 0; m <= tokens_before(s.positions, l, kernel_ - 1); ++m)
          sum += s.w[conv() + at * kernel_ + kernel_ - 1 - m] *
                 dot(&s.w[up() + at * rank_], low[std::size_t(l - m)].data(), rank_);
        phi[std::size_t(n)] += temperature_[std::size_t(n)] * gate * step(s.w.data(), at, sum);
      }
    }
    return phi;
  }

  std::vector<double> angles(const Batch& b) const override {
    const Passed p = pass(b);
    std::vector<double> phi = convolved(b, p);
    for (std::int64_t n = 0; n < std::int64_t(phi.size()); ++n) {
      phi[std::size_t(n)] =
          temperature_[std::size_t(n % pairs())] * step(b.w, n % turning(), phi[std::size_t(n)]);
      if (gated_) phi[std::size_t(n)] *= p.gate[std::size_t(n / pairs())];
    }
    accumulate({b.content->B, b.content->T, turning()}, phi);
    return phi;
  }
  void angles_backward(const Batch& b, const std::vector<double>& dphi,
                       const BatchGrad& grad) const override {
    const Passed p = pass(b);
    std::vector<double> d = dphi;
    accumulate_backward({b.content->B, b.content->T, turning()}, d);
    Floats dgate(p.gate.size());
    const std::vector<double> sums = convolved(b, p);
    for (std::int64_t n = 0; n < std::int64_t(d.size()); ++n) {
      double& dstep = d[std::size_t(n)];
      const double sum = sums[std::size_t(n)], sigma = sigmoid(sum);
      const std::int64_t at = n % turning();
      dstep *= temperature_[std::size_t(n % pairs())];
      if (gated_) {
        const double g = p.gate[std::size_t(n / pairs())];
        dgate[std::size_t(n / pairs())] += float(dstep * step(b.w, at, sum) * g * (1 - g));
        dstep *= g;
      }
      if (biased_) grad.w[bias() + at] += float(dstep * std::exp(double(b.w[bias() + at])));
      if (silu_) dstep *= sigma * (1 + sum * (1 - sigma));
    }
    const Floats dphases = convolved_backward(b, p, d, grad);
    Floats dlow(p.low.size()), dy(p.y.size());
    linear_backward({p.tokens, rank_, turning()}, p.low.data(), b.w + up(), dphases.data(),
                    {dlow.data(), grad.w + up(), nullptr});
    linear_backward({p.tokens, shape_.C, rank_}, p.y.data(), b.w, dlow.data(), {dy.data(), grad.w, nullptr});
    Floats from_gate(gated_ ? p.y.size() : 0);
    if (gated_) {
      linear_backward({p.tokens, shape_.C, shape_.H}, p.y.data(), b.w + gates(), dgate.data(),
                      {from_gate.data(), grad.w + gates(), grad.w + gates() + shape_.H * shape_.C});
    }
    for (std::size_t n = 0; n < from_gate.size(); ++n) dy[n] += from_gate[n];
    normalised_backward(b, dy, grad);
  }

 private:
  // --- Where the parameters begin: V is the first.
  std::int64_t up() const { return rank_ * shape_.C; }
  std::int64_t conv() const { return up() + turning() * rank_; }
  std::int64_t bias() const { return conv() + turning() * kernel_; }
  std::int64_t gates() const { return bias() + (biased_ ? turning() : 0); }

  // What a token adds to pair `at` of all heads, from what the convolution gives.
  template <class W>
  double step(const W* w, std::int64_t at, double sum) const {
    return (silu_ ? sum * sigmoid(sum) : sum) + (biased_ ? std::exp(double(w[bias() + at])) : 0);
  }
  static double dot(const double* a, const double* b, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }
  // --- y: the parts of x, each of length 1.
  std::int64_t part() const { return shape_.C / shape_.H; }
  template <class X>
  double length(const X* x, std::int64_t c) const {  // of the part of channel c
    const X* first = x + c / part() * part();
    double squares = kFloor;
    for (std::int64_t n = 0; n < part(); ++n) squares += double(first[n]) * double(first[n]);
    return std::sqrt(squares);
  }
  std::vector<double> normalised(const double* x) const {
    std::vector<double> y;
    for (std::int64_t c = 0; c < shape_.C; ++c) y.push_back(x[c] / length(x, c));
    return y;
  }
  std::vector<double> lowered(const double* w, const std::vector<double>& y) const {
    std::vector<double> low;
    for (std::int64_t r = 0; r < rank_; ++r) low.push_back(dot(w + r * shape_.C, y.data(), shape_.C));
    return low;
  }
  void normalised_backward(const Batch& b, const Floats& dy, const BatchGrad& grad) const {
    for (std::int64_t t = 0; t < b.content->B * b.content->T; ++t) {
      const float* x = b.content->x.row(t);
      float* dx = grad.content->x.row(t);
      for (std::int64_t first = 0; first < shape_.C; first += part()) {
        const double norm = length(x, first);
        double along = 0;
        for (std::int64_t c = first; c < first + part(); ++c)
          along += double(x[c]) * double(dy[std::size_t(t * shape_.C + c)]);
        for (std::int64_t c = first; c < first + part(); ++c)
          dx[c] += float((double(dy[std::size_t(t * shape_.C + c)]) - double(x[c]) * along / (norm * norm)) /
                         norm);
      }
    }
  }

  // What the products give: y (tokens,C), low (tokens,rank), phases (tokens,H·pairs), gates (tokens,H).
  struct Passed {
    std::int64_t tokens;
    Floats y, low, phases;
    std::vector<double> gate;
  };
  Passed pass(const Batch& b) const {
    const std::int64_t C = shape_.C, tokens = b.content->B * b.content->T;
    Passed p{tokens,
             Floats(std::size_t(tokens * C)),
             Floats(std::size_t(tokens * rank_)),
             Floats(std::size_t(tokens * turning())),
             {}};
    for (std::int64_t t = 0; t < tokens; ++t) {
      const float* x = b.content->x.row(t);
      for (std::int64_t first = 0; first < C; first += part()) {
        const double norm = length(x, first);
        for (std::int64_t c = first; c < first + part(); ++c)
          p.y[std::size_t(t * C + c)] = float(double(x[c]) / norm);
      }
    }
    linear({tokens, C, rank_}, p.y.data(), b.w, nullptr, p.low.data());
    linear({tokens, rank_, turning()}, p.low.data(), b.w + up(), nullptr, p.phases.data());
    if (!gated_) return p;
    Floats z(std::size_t(tokens * shape_.H));
    linear({tokens, C, shape_.H}, p.y.data(), b.w + gates(), b.w + gates() + shape_.H * C, z.data());
    for (const float x : z) p.gate.push_back(sigmoid(double(x)));
    return p;
  }
  // f(token, how many steps before it, the weight's column) for all that the convolution reads.
  template <class Body>
  void each_read(const Batch& b, const Body& f) const {
    const std::int64_t rows = b.tokens();
    for (std::int64_t t = 0; t < b.content->B * b.content->T; ++t) {
      const std::int64_t before = tokens_before(b.positions, t % rows, kernel_ - 1);
      for (std::int64_t m = 0; m <= before; ++m) f(t, m, kernel_ - 1 - m);
    }
  }
  std::vector<double> convolved(const Batch& b, const Passed& p) const {
    std::vector<double> sum(p.phases.size());
    each_read(b, [&](std::int64_t t, std::int64_t m, std::int64_t column) {
      for (std::int64_t n = 0; n < turning(); ++n)
        sum[std::size_t(t * turning() + n)] += double(b.w[conv() + n * kernel_ + column]) *
                                               double(p.phases[std::size_t((t - m) * turning() + n)]);
    });
    return sum;
  }
  Floats convolved_backward(const Batch& b, const Passed& p, const std::vector<double>& d,
                            const BatchGrad& grad) const {
    Floats dphases(p.phases.size());
    each_read(b, [&](std::int64_t t, std::int64_t m, std::int64_t column) {
      for (std::int64_t n = 0; n < turning(); ++n) {
        const double dsum = d[std::size_t(t * turning() + n)];
        const std::int64_t from = (t - m) * turning() + n;
        dphases[std::size_t(from)] += float(dsum * double(b.w[conv() + n * kernel_ + column]));
        grad.w[conv() + n * kernel_ + column] += float(dsum * double(p.phases[std::size_t(from)]));
      }
    });
    return dphases;
  }

  const std::vector<double> temperature_;
  const std::int64_t rank_, kernel_;
  const bool gated_, biased_, silu_;
};

}  // namespace

extern const Entry selective_rope_entry;
const Entry selective_rope_entry = entry<SelectiveRope>(
    {.name = "selective_rope",
     .aliases = {"selective_rotary", "srope"},
     .title = "Selective RoPE: pairs turn by angles that the content adds up",
     .paper = "https://arxiv.org/abs/2511.17388",
     .formula = "pair n turns by theta^(-2n/D) * sum_{l<=t} gate(x_l)*conv(U V x)_l",
     .latex = R"(\text{pair } n \;\text{turns by}\; \theta^{-2n/D} \sum_{l \le t} g(x_l)\, (c * U V x)_l)",
     .pitfall = "x is normalised in parts, one for each head, before the phases are projected",
     .year = 2025,
     .relative = true,
     .options = [] {
       auto all = rotary_options(
           {{.name = "rank",
             .help = "rank of the projection to phases",
             .standard = "16",
             .least = 1,
             .most = 4096,
             .whole = true},
            {.name = "kernel",
             .help = "tokens that the convolution of the phases reads",
             .standard = "4",
             .least = 1,
             .most = 64,
             .whole = true},
            {.name = "activation",
             .help = "of what the convolution gives; the paper recommends silu, the code has none",
             .standard = "none",
             .words = {"none", "silu"}},
            {.name = "gate",
             .help = "head: a learned gate for each head scales what a token adds",
             .standard = "off",
             .words = {"off", "head"}},
            {.name = "bias",
             .help = "on: every token adds a learned angle beside that of its content",
             .standard = "off",
             .words = {"off", "on"}}});
       all.front().standard = "500000";
       return all;
     }()});

}  // namespace gnomon
