#include "gnomon/lens/blocks.h"

#include <cmath>
#include <limits>

#include "gnomon/core/distributions.h"
#include "gnomon/core/error.h"

namespace gnomon {
namespace {

struct Spread {
  double mean = 0, squares = 0;  // about the mean
};
Spread spread(std::span<const double> x) {
  Spread s;
  for (const double v : x) s.mean += v / double(x.size());
  for (const double v : x) s.squares += (v - s.mean) * (v - s.mean);
  return s;
}

// Of a mean with this squared standard error, from so many blocks.
double half_width(double squared_error, double blocks) {
  if (blocks < 2) return std::numeric_limits<double>::quiet_NaN();
  return t_quantile(0.025, blocks - 1) * std::sqrt(squared_error);
}

}  // namespace

BlockMean over_blocks(std::span<const double> blocks) {
  if (blocks.empty()) throw Error(Fault::usage, "over_blocks: no blocks");
  const double n = double(blocks.size());
  const Spread s = spread(blocks);
  return {s.mean, half_width(s.squares / (n - 1) / n, n)};
}

BlockMean over_sums(std::span<const BlockSum> blocks) {
  std::vector<BlockSum> held;
  BlockSum all;
  for (const BlockSum& b : blocks) {
    if (b.count == 0) continue;
    held.push_back(b), all.sum += b.sum, all.count += b.count;
  }
  if (held.empty()) throw Error(Fault::usage, "over_sums: no block holds a number");
  BlockMean out{all.sum / all.count, half_width(0, 1)};
  if (held.size() < 2) return out;
  out.half_width = jackknife(std::int64_t(held.size()), [&](std::int64_t b) {
                     const BlockSum& without = held[std::size_t(b)];
                     return std::vector<double>{(all.sum - without.sum) / (all.count - without.count)};
                   }).front();
  return out;
}

std::vector<double> jackknife(std::int64_t blocks,
                              const std::function<std::vector<double>(std::int64_t b)>& without) {
  if (blocks < 2) throw Error(Fault::usage, "jackknife: fewer than two blocks");
  std::vector<std::vector<double>> left;  // [number][block]
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::vector<double> found = without(b);
    left.resize(found.size());
    for (std::size_t n = 0; n < found.size(); ++n) left[n].push_back(found[n]);
  }
  const double n = double(blocks);
  std::vector<double> out;
  for (const auto& of_one : left) out.push_back(half_width((n - 1) / n * spread(of_one).squares, n));
  return out;
}

}  // namespace gnomon
