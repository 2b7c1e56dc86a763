#include "gnomon/models/check/turned.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace gnomon {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

double middle(std::vector<double> x) {
  if (x.empty()) return 0;
  const auto at = x.begin() + std::ptrdiff_t(x.size() / 2);
  std::nth_element(x.begin(), at, x.end());
  return *at;
}

// The factors of one pair, in the order of the positions.
struct Wave {
  std::vector<double> p;
  std::vector<Complex> z;
  // Σ z·e^(−iωp) over the first tokens.
  Complex sum(double omega, std::size_t tokens) const {
    Complex s = 0;
    for (std::size_t t = 0; t < tokens; ++t) s += z[t] * std::polar(1.0, -omega * p[t]);
    return s;
  }
};

constexpr std::size_t kFirst = 32;  // tokens that a frequency is first sought in

// The frequency in (−π, π] at which the first tokens add up to most.
double coarse(const Wave& w, std::size_t tokens) {
  const double span = w.p[tokens - 1] - w.p[0];
  const double steps = std::clamp(std::ceil(8 * span), 64.0, 16384.0);  // π/8 of phase between two of them
  double best = 0, most = std::abs(w.sum(0, tokens));
  for (double n = 1; n <= steps / 2; ++n) {
    for (const double omega : {kTurn * n / steps, -kTurn * n / steps}) {
      const double size = std::abs(w.sum(omega, tokens));
      if (size > most * (1 + 1e-9)) most = size, best = omega;
    }
  }
  return best;
}

// Gauss-Newton: the line through what is left of the phases.
double refined(const Wave& w, double omega, std::size_t tokens) {
  const Complex all = w.sum(omega, tokens);
  double mean_p = 0, mean_r = 0, sum_pr = 0, sum_pp = 0;
  std::vector<double> left;
  for (std::size_t t = 0; t < tokens; ++t) {
    left.push_back(std::arg(w.z[t] * std::polar(1.0, -omega * w.p[t]) * std::conj(all)));
    mean_p += w.p[t] / double(tokens), mean_r += left[t] / double(tokens);
  }
  for (std::size_t t = 0; t < tokens; ++t) {
    const double away = w.p[t] - mean_p;
    sum_pr += away * (left[t] - mean_r), sum_pp += away * away;
  }
  return sum_pp > 0 ? omega + sum_pr / sum_pp : omega;
}

double frequency(const Wave& w) {
  std::size_t tokens = std::min(w.p.size(), kFirst);
  double omega = coarse(w, tokens);
  for (;; tokens = std::min(2 * tokens, w.p.size())) {
    for (int again = 0; again < 3; ++again) omega = refined(w, omega, tokens);
    if (tokens == w.p.size()) return omega;
  }
}

// The shift that all phases have in common.
double common_shift(const std::vector<double>& phase, const Measured& m, double farthest) {
  const auto agreement = [&](double shift) {
    double sum = 0;
    for (std::size_t n = 0; n < phase.size(); ++n) sum += std::cos(phase[n] - m.frequencies[n] * shift);
    return sum;
  };
  // Beyond this the frequencies are not known well enough to follow the phases back.
  const double reach = std::min(farthest, std::floor(0.3 / std::max(m.resolution, 1e-12)));
  double best = 0, most = agreement(0) + 1e-3 * double(phase.size());  // 0, unless another is better
  for (double shift = -16; shift <= reach; ++shift) {
    const double sum = agreement(shift);
    if (sum > most) most = sum, best = shift;
  }
  return best;
}

}  // namespace

Measured measure(const Turned& turned, double farthest) {
  Measured m;
  std::vector<double> sizes;
  for (const Complex& z : turned.z) sizes.push_back(std::abs(z));
  m.factor = middle(sizes);
  std::vector<std::size_t> order(std::size_t(turned.T));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return turned.positions[a] < turned.positions[b]; });
  const double span = turned.T ? turned.positions[order.back()] - turned.positions[order.front()] : 0;
  if (span <= 0) return m;
  m.resolution = 8 * turned.noise / span;
  double forwards = 0;
  std::vector<double> phase;
  for (std::int64_t n = 0; n < turned.N; ++n) {
    Wave w;
    for (const std::size_t t : order) {
      w.p.push_back(turned.positions[t]);
      w.z.push_back(turned.z[t * std::size_t(turned.N) + std::size_t(n)]);
    }
    m.frequencies.push_back(frequency(w));
    phase.push_back(std::arg(w.sum(m.frequencies.back(), w.p.size())));
    if (std::abs(m.frequencies.back()) > m.resolution) forwards += m.frequencies.back() > 0 ? 1 : -1;
  }
  m.backwards = forwards < 0;
  if (m.backwards) {
    for (double& omega : m.frequencies) omega = -omega;
    for (double& angle : phase) angle = -angle;
  }
  m.shift = common_shift(phase, m, farthest);
  return m;
}

}  // namespace gnomon
