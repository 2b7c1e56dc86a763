#include "gnomon/study/statistics/shares.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gnomon/core/check.h"
#include "gnomon/core/distributions.h"
#include "gnomon/study/statistics/statistics.h"

namespace gnomon {
namespace {

void check_count(std::string_view place, std::int64_t k, std::int64_t n) {
  check_extents(place, {{"the number of cases", n, 1, kMostNumbers}, {"the number of right ones", k, 0, n}});
}

}  // namespace

ShareInterval wilson_interval(std::int64_t k, std::int64_t n) {
  check_count("wilson_interval", k, n);
  const double z = normal_quantile(0.025), share = double(k) / double(n), shrink = 1 + z * z / double(n);
  const double centre = (share + z * z / double(2 * n)) / shrink;
  const double half =
      z / shrink * std::sqrt(share * (1 - share) / double(n) + z * z / (4 * double(n) * double(n)));
  // At the ends the interval touches 0 or 1, but for rounding.
  return {share, k == 0 ? 0 : centre - half, k == n ? 1 : centre + half};
}

ShareInterval share_interval(std::span<const std::int64_t> k, std::int64_t n) {
  std::vector<double> logits;
  double right_of_all = 0;
  for (const std::int64_t right : k) {
    check_count("share_interval", right, n);
    right_of_all += double(right) / double(n) / double(k.size());
    logits.push_back(std::log((double(right) + 0.5) / (double(n - right) + 0.5)));
  }
  const auto share = [](double logit) { return 1 / (1 + std::exp(-logit)); };
  const Estimate e = mean_interval(logits);
  // Where all are right, or none, the corrected logits lie just inside of what was counted.
  return {share(e.mean), std::min(share(e.mean - e.half_width), right_of_all),
          std::max(share(e.mean + e.half_width), right_of_all)};
}

}  // namespace gnomon
