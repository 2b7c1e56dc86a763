#include "gnomon/kernels/exponential.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gnomon {
namespace {

// Terms of the series: of a matrix of norm 1/2 the rest is below 2^−54.
constexpr int kTerms = 14;

// Halvings after which the norm (largest sum of a row) is at most 1/2; −1 if it is not finite.
int halvings(std::int64_t n, const std::vector<double>& x) {
  double most = 0;
  for (std::int64_t r = 0; r < n; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < n; ++c) sum += std::abs(x[std::size_t(r * n + c)]);
    if (!std::isfinite(sum)) return -1;
    most = std::max(most, sum);
  }
  return most <= 0.5 ? 0 : std::ilogb(most) + 2;
}

}  // namespace

void Exponential::add_product(const std::vector<double>& a, const std::vector<double>& b,
                              std::vector<double>& to) const {
  for (std::int64_t r = 0; r < n_; ++r) {
    double* row = &to[std::size_t(r * n_)];
    for (std::int64_t k = 0; k < n_; ++k) {
      const double factor = a[std::size_t(r * n_ + k)], *from = &b[std::size_t(k * n_)];
      for (std::int64_t c = 0; c < n_; ++c) row[c] += factor * from[c];
    }
  }
}
void Exponential::product(const std::vector<double>& a, const std::vector<double>& b,
                          std::vector<double>& to) const {
  to.assign(a.size(), 0.0);
  add_product(a, b, to);
}

void Exponential::run(bool derivative) {
  const std::size_t size = x_.size();
  const int squarings = halvings(n_, x_);
  p_.assign(size, 0.0), d_.assign(size, 0.0);
  if (squarings < 0) {
    std::fill(p_.begin(), p_.end(), std::numeric_limits<double>::quiet_NaN());
    d_ = p_;
    return;
  }
  for (double& x : x_) x = std::ldexp(x, -squarings);
  for (double& e : e_) e = std::ldexp(e, -squarings);
  for (std::int64_t r = 0; r < n_; ++r) p_[std::size_t(r * (n_ + 1))] = 1;
  for (int term = kTerms; term > 0; --term) {  // P ← 1 + X·P/term
    if (derivative) {
      product(e_, p_, dnext_), add_product(x_, d_, dnext_);
      for (double& d : dnext_) d /= term;
      std::swap(d_, dnext_);
    }
    product(x_, p_, next_);
    for (double& p : next_) p /= term;
    for (std::int64_t r = 0; r < n_; ++r) next_[std::size_t(r * (n_ + 1))] += 1;
    std::swap(p_, next_);
  }
  for (int n = 0; n < squarings; ++n) {
    if (derivative) {
      product(p_, d_, dnext_), add_product(d_, p_, dnext_);
      std::swap(d_, dnext_);
    }
    product(p_, p_, next_);
    std::swap(p_, next_);
  }
}

const std::vector<double>& Exponential::of(const std::vector<double>& x) {
  x_ = x, e_.clear();
  run(false);
  return p_;
}
const std::vector<double>& Exponential::backward(const std::vector<double>& x, const std::vector<double>& g) {
  x_.resize(x.size()), e_ = g;
  for (std::int64_t r = 0; r < n_; ++r) {
    for (std::int64_t c = 0; c < n_; ++c) x_[std::size_t(c * n_ + r)] = x[std::size_t(r * n_ + c)];
  }
  run(true);
  return d_;
}

}  // namespace gnomon
