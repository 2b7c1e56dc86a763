// Rows that do not turn in pairs: tables for the other pairing, two rotations, a sine from another place.
#include <algorithm>
#include <bit>
#include <cmath>

#include "gnomon/models/check/rows.h"

namespace gnomon {
namespace {

constexpr double kNear = 8;                        // positions from the first that a base is first sought at
constexpr std::int64_t kSome = 1 << 13;            // numbers that it is sought by
constexpr double kLeast = 2, kMost = 23;           // ln of the bases that are sought: 7.4 to 1e10
constexpr int kFewestDigits = 1, kMostDigits = 6;  // of the base that is found

// The window of the whole head, and the narrowest that holds what changed.
std::vector<Window> outer_windows(const Rows& rows) {
  std::vector<Window> all = windows(rows), kept;
  std::int64_t narrowest = rows.D;
  for (const Window& w : all) narrowest = std::min(narrowest, w.channels);
  for (const Window& w : all)
    if (w.channels == narrowest || w.channels == rows.D) kept.push_back(w);
  return kept;
}

// The faults, of the same spec.
std::vector<Hypothesis> strained(const Hypothesis& plain, const Window& window) {
  std::vector<Hypothesis> all;
  const auto add = [&](const auto& change) {
    all.push_back(plain);
    change(all.back());
  };
  add([](Hypothesis& h) { h.tables_mixed = true; });
  add([](Hypothesis& h) { h.again = SecondTurn::then_other; });
  add([](Hypothesis& h) { h.again = SecondTurn::other_first; });
  const auto whole = std::int64_t(std::bit_ceil(std::uint64_t(window.channels)));
  if (whole == window.channels) return all;
  add([&](Hypothesis& h) { h.padded_to = whole; });
  add([&](Hypothesis& h) { h.padded_to = whole, h.padding_masked = true; });
  return all;
}

Named with_window(Named spec, const Window& window) {
  std::erase_if(spec.options, [](const auto& option) {
    const std::string_view name = option.first;
    return name == "pairing" || name == "channels" || name == "side" || name == "offset" ||
           name == "fraction";
  });
  for (const auto& option : window.options()) spec.options.push_back(option);
  return spec;
}
Named rope(double theta, const Window& window) { return with_window({"rope", {{"theta", theta}}}, window); }

// How far rows are from a hypothesis, as one smooth number: for finding a base.
class Distance {
 public:
  Distance(const Rows& rows, const Positions& positions) : rows_(rows), positions_(positions) {}
  // Of tokens at most so many positions from the first.
  double operator()(const Hypothesis& h, double span) const {
    return misfit_of_rows(rows_, h, positions_, near(span)).squares();
  }
  double span() const {
    double most = 0;
    for (std::int64_t t = 0; t < rows_.T; ++t) most = std::max(most, away(t));
    return most;
  }

 private:
  double away(std::int64_t t) const { return std::abs(positions_.at(t, 0)); }
  std::vector<std::int64_t> near(double span) const {
    std::vector<std::int64_t> all, some;
    for (std::int64_t t = 0; t < rows_.T; ++t)
      if (away(t) <= span && away(t) > 0) all.push_back(t);
    const auto size = std::int64_t(all.size()),
               most = std::min(size, std::clamp<std::int64_t>(kSome / (rows_.H * rows_.D), 6, 24));
    for (std::int64_t n = 1; n <= most; ++n) some.push_back(all[std::size_t(n * size / most - 1)]);
    return some;
  }
  const Rows& rows_;
  const Positions& positions_;
};

// The base at which the rows are nearest to the hypothesis: first among near tokens, whose angles change slowly with it, then
// finer with farther ones. As such, and to fewer digits.
std::vector<Hypothesis> with_base_sought(const Hypothesis& like, const Window& window,
                                         const Distance& distance) {
  const auto at = [&](double log_theta, int digits) {
    Hypothesis h = like;
    h.spec = rope(to_digits(std::exp(log_theta), digits), window);
    h.cost = window.cost() + cost_of_theta(to_digits(std::exp(log_theta), digits));
    return h;
  };
  double best = 0, least = INFINITY, from = kLeast, to = kMost, step = 0.35;
  for (double span = kNear; step > 1e-8; span *= 4, step /= 8) {
    least = INFINITY;
    for (double x = from; x <= to + step / 2; x += step) {
      const double here = distance(at(x, 15), span);
      if (here < least) least = here, best = x;
    }
    from = best - 1.25 * step, to = best + 1.25 * step;
    if (!std::isfinite(least)) return {};
    if (span > 4 * distance.span()) break;
  }
  std::vector<Hypothesis> all;
  for (int digits = kFewestDigits; digits <= kMostDigits; ++digits) all.push_back(at(best, digits));
  return all;
}

}  // namespace

std::vector<Hypothesis> hypotheses_of_strain(const Rows& rows, const Asked& asked) {
  std::vector<double> thetas(known_thetas().begin(), known_thetas().end());
  if (asked.theta > 0) thetas.push_back(asked.theta);
  std::vector<Hypothesis> all;
  for (const Window& w : outer_windows(rows)) {
    std::vector<Hypothesis> bases;
    for (const double theta : thetas) bases.push_back({.spec = rope(theta, w), .cost = w.cost()});
    for (const Named& named : asked.told) bases.push_back({.spec = with_window(named, w), .cost = kTold});
    for (const Hypothesis& plain : bases) {
      const auto faults = strained(plain, w);
      all.insert(all.end(), faults.begin(), faults.end());
    }
  }
  return all;
}

std::vector<Hypothesis> hypotheses_of_sought_strain(const Rows& rows, const Positions& positions) {
  const Distance distance(rows, positions);
  std::vector<Hypothesis> all;
  for (const Window& w : outer_windows(rows)) {
    for (const Hypothesis& like : strained({.spec = rope(1e4, w)}, w)) {
      const auto found = with_base_sought(like, w, distance);
      all.insert(all.end(), found.begin(), found.end());
    }
  }
  return all;
}

}  // namespace gnomon
