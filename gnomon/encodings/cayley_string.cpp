// Cayley-STRING: RoPE with learned frequencies in a learned basis. Schenck et al. 2025, https://arxiv.org/abs/2502.02562,
// theorem 3.4 and equation 10.
//
//   R(p) = RoPE(p)·P on q and on k,   P = (1 − S)·(1 + S)^(−1),   Sᵀ = −S learned, one for each head
//   pair n of RoPE(p) turns by Σ_a p_a·w[a,h,n]
//
// All commuting rotations are Pᵀ·RoPE(p)·P in some basis P; the Pᵀ on the left cancels in q·k, so the paper leaves it out. Acts
// on q and k. Parameters: frequencies w (axes, H, pairs), skew (H, D·(D−1)/2), the part of S above the diagonal row by row; each
// layer its own. The paper does not say how they start: here S = 0, and pair n has RoPE's frequency of ⌊n/axes⌋ on axis
// n mod axes, which is axial RoPE.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/dense_rotary.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

// (1 + S)^(−1), by elimination. Without a search for pivots: |x|² = xᵀ(1 + S)x, so each is at least 1.
std::vector<double> inverse_of_one_plus(std::int64_t n, std::vector<double> s) {
  std::vector<double> inverse(s.size());
  for (std::int64_t r = 0; r < n; ++r)
    s[std::size_t(r * (n + 1))] += 1, inverse[std::size_t(r * (n + 1))] = 1;
  const auto subtract = [n](std::vector<double>& m, std::int64_t from, double factor, std::int64_t row) {
    for (std::int64_t c = 0; c < n; ++c) m[std::size_t(row * n + c)] -= factor * m[std::size_t(from * n + c)];
  };
  for (std::int64_t k = 0; k < n; ++k) {
    const double pivot = s[std::size_t(k * (n + 1))];
    for (std::int64_t c = 0; c < n; ++c)
      s[std::size_t(k * n + c)] /= pivot, inverse[std::size_t(k * n + c)] /= pivot;
    for (std::int64_t r = 0; r < n; ++r) {
      const double factor = s[std::size_t(r * n + k)];
      if (r != k) subtract(s, k, factor, r), subtract(inverse, k, factor, r);
    }
  }
  return inverse;
}
std::vector<double> product(std::int64_t n, const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> to(a.size());
  for (std::int64_t i = 0; i < n * n; ++i) {
    double* row = &to[std::size_t(i / n * n)];
    const double factor = a[std::size_t(i)], *from = &b[std::size_t(i % n * n)];
    for (std::int64_t c = 0; c < n; ++c) row[c] += factor * from[c];
  }
  return to;
}

// The whole head: P mixes all its channels.
RotaryWindow whole_head(const Options& options, const Shape& shape) {
  check_dense("cayley_string", shape);
  if (shape.D % 2 == 0)
    return {options.word("pairing") == "halves" ? Pairing::halves : Pairing::adjacent, 0, shape.D};
  throw Error(Fault::usage, text("cayley_string: a head of ", shape.D,
                                 " channels cannot be split into pairs; allowed are even numbers"));
}

class CayleyString final : public LearnedRotary {
 public:
  CayleyString(const Options& options, const Shape& shape)
      : LearnedRotary(shape, whole_head(options, shape), {options.whole("axes"), options.whole("columns")},
                      false),
        base_(options.number("theta")) {}
  std::vector<ParamSpec> params() const override {
    const std::int64_t pairs = window_.pairs(), axes = grid_.axes, D = shape_.D;
    std::vector<double> start(std::size_t(axes * shape_.H * pairs));
    for (std::int64_t n = 0; n < shape_.H * pairs; ++n) {
      const std::int64_t h = n / pairs, pair = n % pairs;
      start[std::size_t(index(pair % axes, h, pair))] =
          std::pow(base_, -2.0 * double(pair / axes * axes) / double(window_.channels));
    }
    return {{"frequencies", {axes, shape_.H, pairs}, 0, 0, false, start},
            {"skew", {shape_.H, D * (D - 1) / 2}, 0, 0, false}};
  }

  void map_row(const Scene& s, Role role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override {
    const auto P = basis(s.w, h);
    const std::vector<double> x = row;
    for (std::int64_t r = 0; r < shape_.D; ++r) {
      row[std::size_t(r)] = 0;
      for (std::int64_t c = 0; c < shape_.D; ++c)
        row[std::size_t(r)] += P[std::size_t(r * shape_.D + c)] * x[std::size_t(c)];
    }
    LearnedRotary::map_row(s, role, h, t, row);
  }
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override {
    const std::vector<double> w(b.w, b.w + param_count());
    MultiplyBlocks m{shape_.D, 1, shape_.H, 1, {}};
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      for (const double x : basis(w, h)) m.matrices.push_back(float(x));
    }
    steps.push_back({Role::q | Role::k, std::move(m), true});
    LearnedRotary::map(b, own, steps);
  }
  void map_backward(const Batch& b, std::span<const Step> steps, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    LearnedRotary::map_backward(b, steps.subspan(1), dsteps.subspan(1), grad);
    const std::vector<double> w(b.w, b.w + param_count());
    const auto& dP = std::get<MultiplyBlocks>(dsteps[0].what).matrices;
    const std::int64_t D = shape_.D;
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      // P = 2N − 1 with N = (1 + S)^(−1): dS = −2·Nᵀ·dP·Nᵀ.
      const auto N = inverse_of_one_plus(D, skew(w, h));
      std::vector<double> turned(N.size());
      for (std::int64_t i = 0; i < D * D; ++i) turned[std::size_t(i % D * D + i / D)] = N[std::size_t(i)];
      const std::vector<double> g(dP.begin() + h * D * D, dP.begin() + (h + 1) * D * D);
      const auto dS = product(D, turned, product(D, g, turned));
      each_above([&](std::int64_t n, std::size_t above, std::size_t below) {
        grad.w[skews(h) + n] -= float(2 * (dS[above] - dS[below]));
      });
    }
  }

 private:
  std::int64_t skews(std::int64_t h) const {
    return grid_.axes * shape_.H * window_.pairs() + h * (shape_.D * (shape_.D - 1) / 2);
  }
  // f(number, index in S, index of its mirror image), above the diagonal
  template <class Body>
  void each_above(const Body& f) const {
    std::int64_t n = 0;
    for (std::int64_t r = 0; r < shape_.D; ++r) {
      for (std::int64_t c = r + 1; c < shape_.D; ++c)
        f(n++, std::size_t(r * shape_.D + c), std::size_t(c * shape_.D + r));
    }
  }
  std::vector<double> skew(std::span<const double> w, std::int64_t h) const {
    std::vector<double> S(std::size_t(shape_.D * shape_.D));
    each_above([&](std::int64_t n, std::size_t above, std::size_t below) {
      S[above] = w[std::size_t(skews(h) + n)], S[below] = -S[above];
    });
    return S;
  }
  // P = (1 − S)·(1 + S)^(−1) = 2·(1 + S)^(−1) − 1
  std::vector<double> basis(std::span<const double> w, std::int64_t h) const {
    auto P = inverse_of_one_plus(shape_.D, skew(w, h));
    for (double& x : P) x *= 2;
    for (std::int64_t r = 0; r < shape_.D; ++r) P[std::size_t(r * (shape_.D + 1))] -= 1;
    return P;
  }
  const double base_;
};

}  // namespace

extern const Entry cayley_string_entry;
const Entry cayley_string_entry = entry<CayleyString>(
    {.name = "cayley_string",
     .aliases = {"string"},
     .title = "Cayley-STRING: RoPE with learned frequencies in a learned basis",
     .paper = "https://arxiv.org/abs/2502.02562",
     .formula = "R(p) = RoPE(p)*P, P = (1 - S)*(1 + S)^(-1), S skew-symmetric and learned",
     .latex = R"(R(p) = \mathrm{RoPE}(p)\, P, \quad P = (I - S)(I + S)^{-1}, \quad S^{\top} = -S)",
     .pitfall =
         "P multiplies q and k before they rotate, not after: after it, it would cancel in their product",
     .year = 2025,
     .relative = true,
     .options = [] {
       auto all = rotary_options();
       all.resize(2);  // theta and pairing
       all.push_back({.name = "axes",
                      .help = "coordinates per token",
                      .standard = "2",
                      .least = 1,
                      .most = 4,
                      .whole = true});
       all.push_back(columns_option());
       return all;
     }()});

}  // namespace gnomon
