#include "gnomon/study/statistics/comparisons.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

Decision decide(double mean, double p, double p_equivalent) {
  if (p_equivalent <= 0.05) return Decision::equivalent;
  if (p <= 0.05) return mean < 0 ? Decision::better : Decision::worse;
  return Decision::undecided;
}

}  // namespace

std::string_view name(Decision decision) {
  constexpr std::array<std::string_view, 4> kNames{"better", "worse", "equivalent", "undecided"};
  return kNames[std::size_t(decision)];
}

std::vector<double> holm(std::span<const double> p) {
  const auto value = [&](std::size_t i) { return std::isnan(p[i]) ? 1 : p[i]; };
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return value(a) < value(b); });
  std::vector<double> adjusted(p.size());
  double most = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t i = order[rank];
    most = std::max(most, std::min(1.0, double(p.size() - rank) * value(i)));
    adjusted[i] = std::isnan(p[i]) ? p[i] : most;
  }
  return adjusted;
}

std::vector<Comparison> compare(std::span<const Estimate> differences, double margin) {
  if (!(margin > 0)) {
    throw Error(Fault::usage,
                text("compare: the smallest difference that matters is ", margin, "; it must be positive"));
  }
  std::vector<double> p, p_equivalent;
  for (const Estimate& d : differences) {
    p.push_back(p_value(d));
    p_equivalent.push_back(equivalence(d, margin).p);
  }
  p = holm(p), p_equivalent = holm(p_equivalent);
  std::vector<Comparison> all;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    Estimate widened = differences[i];
    widened.half_width = half_width(widened, 1 - 0.05 / double(differences.size()));
    all.push_back({widened, p[i], p_equivalent[i], decide(widened.mean, p[i], p_equivalent[i])});
  }
  return all;
}

}  // namespace gnomon
