#include "gnomon/study/results/contrast.h"

#include <algorithm>
#include <cmath>

namespace gnomon {
namespace {

std::vector<double> all_of(const std::vector<RunResult>& runs, const Blocks& of) {
  std::vector<double> all;
  for (const RunResult& run : runs) {
    const std::vector<double> own = of(run);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

Estimate over(const std::vector<double>& values, std::size_t runs) {
  return values.empty() ? Estimate{0, std::nan(""), 0} : crossed_interval(values, std::int64_t(runs));
}

std::vector<RunResult> with_seeds_of(std::vector<RunResult> own, const std::vector<RunResult>& others) {
  std::erase_if(own, [&](const RunResult& r) {
    return std::none_of(others.begin(), others.end(),
                        [&](const RunResult& o) { return o.plan.seed == r.plan.seed; });
  });
  return own;
}

}  // namespace

std::vector<double> losses(const RunResult& run) { return run.by_block; }

Blocks losses_at(std::size_t length) {
  return [length](const RunResult& r) {
    return length < r.by_length.size() ? r.by_length[length].by_block : std::vector<double>{};
  };
}

Estimate interval(const std::vector<RunResult>& runs, const Blocks& of) {
  return over(all_of(runs, of), runs.size());
}

Estimate difference(const std::vector<RunResult>& arm, const std::vector<RunResult>& base, const Blocks& of) {
  const std::vector<RunResult> a = with_seeds_of(arm, base), b = with_seeds_of(base, arm);
  std::vector<double> x = all_of(a, of);
  const std::vector<double> y = all_of(b, of);
  if (x.size() != y.size()) return over({}, 0);  // not defined for one of them
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return over(x, a.size());
}

}  // namespace gnomon
