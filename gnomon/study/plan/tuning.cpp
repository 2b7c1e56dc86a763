#include "gnomon/study/plan/tuning.h"

#include <algorithm>
#include <cmath>

namespace gnomon {
namespace {

constexpr int kMostExtensions = 3;  // each way

}  // namespace

double TriedRate::mean() const {
  double sum = 0;
  for (const double x : nats) sum += x;
  return sum / double(nats.size());
}

Tuned tune(const Tuning& how, std::span<const TriedRate> found) {
  std::vector<double> rates = how.rates;
  const double up = rates[rates.size() - 1] / rates[rates.size() - 2], down = rates[0] / rates[1];
  for (int above = 0, below = 0;;) {
    Tuned t;
    for (const double rate : rates) {
      const auto it =
          std::find_if(found.begin(), found.end(), [&](const TriedRate& x) { return x.rate == rate; });
      t.tried.push_back(it == found.end() ? TriedRate{rate, {}} : *it);
      if (std::int64_t(t.tried.back().nats.size()) < how.seeds) t.open.push_back(rate);
    }
    if (!t.open.empty()) return t;
    const auto best =
        std::min_element(t.tried.begin(), t.tried.end(),
                         [](const TriedRate& a, const TriedRate& b) { return a.mean() < b.mean(); });
    if (best == t.tried.begin() && below < kMostExtensions) {
      rates.insert(rates.begin(), rates.front() * down), ++below;
    } else if (best + 1 == t.tried.end() && above < kMostExtensions) {
      rates.push_back(rates.back() * up), ++above;
    } else {
      t.chosen = best->rate;
      t.at_edge = best == t.tried.begin() || best + 1 == t.tried.end();
      return t;
    }
  }
}

const Tuned& followed(const std::vector<Tuned>& tuned, double share) {
  const auto far = [&](const Tuned& t) { return std::abs(std::log(share / t.share)); };
  return *std::min_element(tuned.begin(), tuned.end(),
                           [&](const Tuned& a, const Tuned& b) { return far(a) < far(b); });
}

}  // namespace gnomon
