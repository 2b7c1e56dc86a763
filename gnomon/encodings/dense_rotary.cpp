#include "gnomon/encodings/dense_rotary.h"

#include <algorithm>
#include <utility>

#include "gnomon/core/check.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/exponential.h"

namespace gnomon {

std::vector<OptionSpec> grid_options(std::vector<OptionSpec> more) {
  std::vector<OptionSpec> all{
      {.name = "axes",
       .help = "coordinates per token",
       .standard = "2",
       .least = 1,
       .most = 4,
       .whole = true},
      columns_option(),
      {.name = "extent",
       .help = "positions are divided by this; 0 = by columns, or with one axis by the "
               "training window",
       .standard = "0",
       .least = 0,
       .most = 1e9}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
double grid_extent(const Options& options, const Shape& shape) {
  if (options.number("extent") > 0) return options.number("extent");
  return options.whole("axes") == 1 ? double(shape.length) : options.number("columns");
}
void check_dense(std::string_view owner, const Shape& shape) {
  check_extents(owner, {{"D", shape.D, 1, kMostDense}});
}
std::vector<OptionSpec> DenseRotary::options(std::vector<OptionSpec> more) {
  more.insert(
      more.begin(),
      {.name = "size",
       .help = "channels of a block, at most the head; channels after the last whole block do not rotate",
       .standard = "8",
       .least = 2,
       .most = double(kMostDense),
       .whole = true,
       .aliases = {"block_size", "generator_dim"}});
  return grid_options(std::move(more));
}

DenseRotary::DenseRotary(const Options& options, const Shape& shape, bool shared)
    : Encoding(shape),
      grid_{options.whole("axes"), options.whole("columns")},
      size_(std::min(options.whole("size"), shape.D)),
      extent_(grid_extent(options, shape)),
      shared_(shared) {}

std::vector<double> DenseRotary::places(const Positions& p) const {
  std::vector<double> all;
  for (std::int64_t n = 0; n < p.size() * grid_.axes; ++n)
    all.push_back(coordinate(p, n / grid_.axes, n % grid_.axes, grid_) / extent_);
  return all;
}
std::vector<double> DenseRotary::exponent(const std::vector<double>& A, const double* place,
                                          std::int64_t block) const {
  const std::int64_t n = size_ * size_;
  std::vector<double> x(std::size_t(n), 0.0);
  for (std::int64_t a = 0; a < grid_.axes; ++a) {
    const double* of_axis_a = &A[std::size_t(a * of_axis() + block * n)];
    for (std::int64_t i = 0; i < n; ++i) x[std::size_t(i)] += place[a] * of_axis_a[i];
  }
  return x;
}

void DenseRotary::map_row(const Scene& s, Role, std::int64_t h, std::int64_t t,
                          std::vector<double>& row) const {
  const auto A = generators(s.w);
  std::vector<double> place;
  for (std::int64_t a = 0; a < grid_.axes; ++a)
    place.push_back(coordinate(s.positions, t, a, grid_) / extent_);
  Exponential exponential(size_);
  for (std::int64_t n = 0; n < blocks(); ++n) {
    const auto& R = exponential.of(exponent(A, place.data(), (shared_ ? 0 : h) * blocks() + n));
    const std::vector<double> x(row.begin() + n * size_, row.begin() + (n + 1) * size_);
    for (std::int64_t r = 0; r < size_; ++r) {
      double sum = 0;
      for (std::int64_t c = 0; c < size_; ++c) sum += R[std::size_t(r * size_ + c)] * x[std::size_t(c)];
      row[std::size_t(n * size_ + r)] = sum;
    }
  }
}

void DenseRotary::map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const {
  const std::vector<double> w(b.w, b.w + param_count()), A = generators(w), at = places(b.positions);
  const std::int64_t numbers = size_ * size_;
  MultiplyBlocks m{size_, blocks(), tables_of_heads(), b.tokens(), {}};
  m.matrices.resize(std::size_t(m.at(m.heads, 0)));
  parallel_for(m.heads * m.tokens, [&](std::int64_t entry) {
    Exponential exponential(size_);
    for (std::int64_t n = 0; n < m.blocks; ++n) {
      const std::int64_t block = entry / m.tokens * m.blocks + n;
      const auto& R = exponential.of(exponent(A, &at[std::size_t(entry % m.tokens * grid_.axes)], block));
      std::copy(R.begin(), R.end(), &m.matrices[std::size_t((entry * m.blocks + n) * numbers)]);
    }
  });
  steps.push_back({Role::q | Role::k, std::move(m), true});
}

void DenseRotary::map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                               const BatchGrad& grad) const {
  const std::vector<double> w(b.w, b.w + param_count()), A = generators(w), at = places(b.positions);
  const auto& dm = std::get<MultiplyBlocks>(dsteps[0].what);
  const std::int64_t numbers = size_ * size_;
  std::vector<double> dA(A.size());
  parallel_for(dm.heads * dm.blocks, [&](std::int64_t block) {
    Exponential exponential(size_);
    std::vector<double> dR(std::size_t(numbers), 0.0);
    for (std::int64_t t = 0; t < dm.tokens; ++t) {
      const double* place = &at[std::size_t(t * grid_.axes)];
      const float* from =
          &dm.matrices[std::size_t(dm.at(block / dm.blocks, t) + block % dm.blocks * numbers)];
      std::copy_n(from, numbers, dR.begin());
      const auto& dx = exponential.backward(exponent(A, place, block), dR);
      for (std::int64_t a = 0; a < grid_.axes; ++a) {
        double* to = &dA[std::size_t(a * of_axis() + block * numbers)];
        for (std::int64_t i = 0; i < numbers; ++i) to[i] += place[a] * dx[std::size_t(i)];
      }
    }
  });
  generators_backward(w, dA, grad.w);
}

}  // namespace gnomon
