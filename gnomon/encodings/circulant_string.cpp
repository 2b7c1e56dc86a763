// Circulant-STRING: rotations of the whole head by circulant generators. Schenck et al. 2025,
// https://arxiv.org/abs/2502.02562, definition 3.1 and equation 11.
//
//   R(p) = exp(Σ_a p_a·(C_a − C_aᵀ)) on q and on k,   C_a[r,c] = c_a[(r − c) mod D],   one set of c for each head
//
// Circulant matrices are diagonal in the Fourier basis (theorem 3.5), so there R turns pair n = 1..⌈D/2⌉−1 by Σ_a p_a·θ[a,n],
// θ[a,n] = −2·Σ_m c_a[m]·sin(2π·m·n/D). The fast path changes to that basis, rotates, and changes back. The way back cancels
// in q·k, but some encodings, such as cope, read the rows of q. Acts on q and k. Parameters: c (axes, H, D), each layer its own.
// The paper does not say in what unit coordinates are, nor how c starts. Here p_a is the coordinate over the extent, as in LieRE
// and ComRoPE: with one token as the unit, gradients of c would be sums of large numbers. Pair n starts with RoPE's frequency of
// ⌊(n−1)/axes⌋ on axis (n−1) mod axes.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/dense_rotary.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {
namespace {

// The pairs that turn: all frequencies of the Fourier basis but 0 and D/2.
RotaryWindow fourier_window(const Shape& shape) {
  check_dense("circulant_string", shape);
  if (shape.D > 2) return {Pairing::halves, 0, (shape.D - 1) / 2 * 2};
  throw Error(Fault::usage,
              text("circulant_string: found a head of ", counted(std::size_t(shape.D), "channel"),
                   ", which has no pair in the Fourier basis; allowed are 3 or more"));
}

class CirculantString final : public LearnedRotary {
 public:
  CirculantString(const Options& options, const Shape& shape)
      : LearnedRotary(shape, fourier_window(shape), {options.whole("axes"), options.whole("columns")}, false),
        base_(options.number("theta")),
        extent_(grid_extent(options, shape)) {}
  std::vector<ParamSpec> params() const override {
    const std::int64_t pairs = window_.pairs(), axes = grid_.axes, D = shape_.D;
    std::vector<double> start(std::size_t(axes * shape_.H * D));
    for (std::int64_t n = 0; n < axes * D; ++n) {
      double c = 0;
      for (std::int64_t pair = n / D; pair < pairs; pair += axes) {
        const double theta = extent_ * std::pow(base_, -2.0 * double(pair / axes * axes) / double(D));
        c -= theta * wave(pair, n % D) / double(D);
      }
      for (std::int64_t h = 0; h < shape_.H; ++h) start[std::size_t((n / D * shape_.H + h) * D + n % D)] = c;
    }
    return {{"circulant", {axes, shape_.H, D}, 0, 0, false, start}};
  }

  void map_row(const Scene& s, Role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override {
    const std::int64_t D = shape_.D;
    const auto theta = thetas(s.w);
    std::vector<double> turned(std::size_t(D), 0.0);
    for (std::int64_t n = 0; n < D;
         ++n) {  // of its Fourier transform, number n turns, and D − n the other way
      Angle angle;
      const std::int64_t pair = std::min(n, D - n) - 1;
      for (std::int64_t a = 0; a < grid_.axes && pair >= 0 && pair < window_.pairs(); ++a)
        angle.add(coordinate(s.positions, t, a, grid_), theta[std::size_t(index(a, h, pair))]);
      double re = 0, im = 0;
      for (std::int64_t m = 0; m < D; ++m) {
        re += row[std::size_t(m)] * std::cos(phase(n, m));
        im -= row[std::size_t(m)] * std::sin(phase(n, m));
      }
      const double cos = angle.cos(), sin = 2 * n < D ? angle.sin() : -angle.sin();
      const double x = re * cos - im * sin, y = re * sin + im * cos;
      for (std::int64_t m = 0; m < D; ++m)
        turned[std::size_t(m)] += (x * std::cos(phase(n, m)) - y * std::sin(phase(n, m))) / double(D);
    }
    std::copy(turned.begin(), turned.end(), row.begin());
  }
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override {
    const std::int64_t D = shape_.D, pairs = window_.pairs();
    MultiplyBlocks m{D, 1, 1, 1, Floats(std::size_t(D * D))};
    const double root = std::sqrt(2 / double(D));
    for (std::int64_t i = 0; i < pairs * D; ++i) {
      const std::int64_t pair = i / D, c = i % D;
      m.matrices[std::size_t(i)] = float(root * std::cos(phase(pair + 1, c)));
      m.matrices[std::size_t(pairs * D + i)] = float(-root * wave(pair, c));
    }
    for (std::int64_t c = 0; c < D; ++c) {
      m.matrices[std::size_t(2 * pairs * D + c)] = float(root * std::sqrt(0.5));
      if (D % 2 == 0)
        m.matrices[std::size_t((D - 1) * D + c)] = float((c % 2 ? -root : root) * std::sqrt(0.5));
    }
    MultiplyBlocks back = m;
    for (std::int64_t i = 0; i < D * D; ++i)
      back.matrices[std::size_t(i)] = m.matrices[std::size_t(i % D * D + i / D)];
    steps.push_back({Role::q | Role::k, std::move(m)});
    LearnedRotary::map(b, own, steps);
    steps.push_back({Role::q | Role::k, std::move(back)});
  }
  void map_backward(const Batch& b, std::span<const Step> steps, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    LearnedRotary::map_backward(b, steps.subspan(1), dsteps.subspan(1), grad);
  }

 protected:
  std::vector<double> thetas(std::span<const double> w) const override {
    std::vector<double> all(std::size_t(grid_.axes * shape_.H * window_.pairs()));
    each([&](std::size_t theta, std::size_t c, double sine) { all[theta] -= 2 * w[c] * sine / extent_; });
    return all;
  }
  void thetas_backward(std::span<const double> w, const std::vector<double>& dtheta,
                       float* dw) const override {
    std::vector<double> d(w.size());
    each([&](std::size_t theta, std::size_t c, double sine) { d[c] -= 2 * dtheta[theta] * sine / extent_; });
    for (std::size_t n = 0; n < d.size(); ++n) dw[n] += float(d[n]);
  }

 private:
  // 2π·n·m/D
  double phase(std::int64_t n, std::int64_t m) const {
    return 2 * std::numbers::pi * double(n * m % shape_.D) / double(shape_.D);
  }
  double wave(std::int64_t pair, std::int64_t m) const { return std::sin(phase(pair + 1, m)); }
  // f(index of θ, of c, sin(2π·m·n/D))
  template <class Body>
  void each(const Body& f) const {
    const std::int64_t D = shape_.D, pairs = window_.pairs();
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      for (std::int64_t m = 0; m < D; ++m) {
        const double sine = wave(pair, m);
        for (std::int64_t set = 0; set < grid_.axes * shape_.H; ++set)
          f(std::size_t(set * pairs + pair), std::size_t(set * D + m), sine);
      }
    }
  }
  const double base_, extent_;
};

}  // namespace

extern const Entry circulant_string_entry;
const Entry circulant_string_entry = entry<CirculantString>(
    {.name = "circulant_string",
     .aliases = {"string"},
     .title = "Circulant-STRING: rotations of the whole head by circulant generators",
     .paper = "https://arxiv.org/abs/2502.02562",
     .formula = "R(p) = exp(sum_a p_a*(C_a - C_a^T)), C_a circulant and learned",
     .latex = R"(R(p) = \exp\Big(\sum_a p_a \big(C_a - C_a^{\top}\big)\Big), \quad C_a \;\text{circulant})",
     .pitfall =
         "the numbers of C are its first column; its first number and, for an even head, the middle one "
         "change nothing",
     .year = 2025,
     .relative = true,
     .options = grid_options({{.name = "theta",
                               .help = "base of the initial frequencies",
                               .standard = "10000",
                               .least = 1e-6,
                               .most = 1e15}})});

}  // namespace gnomon
