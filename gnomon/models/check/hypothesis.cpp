#include "gnomon/models/check/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Of others that fit, and of those that do not, these are told that assume so much more than the best.
constexpr double kLittleMore = 1, kMostMore = 2.75;

std::string to_type(Rounded to) { return to == Rounded::bfloat16 ? "bfloat16" : "float16"; }

}  // namespace

double rounded(double x, Rounded to) {
  if (to == Rounded::bfloat16) return double(float(BFloat16(float(x))));
  if (to == Rounded::float16) return double(float(Float16(float(x))));
  return x;
}

std::string Hypothesis::apart() const {
  std::vector<std::string> all;
  if (shift != 0) {
    all.push_back(shift_is_fault
                      ? text("positions are off by ", shift > 0 ? "+" : "−", shortest(std::abs(shift)))
                      : text("the first position is ", shortest(shift)));
  }
  if (backwards) all.push_back("it rotates in the opposite direction");
  if (scale != 1) all.push_back(text("cos and sin are multiplied by ", shortest(scale)));
  if (tables_mixed) all.push_back("cos and sin are laid out for the other pairing");
  if (cosine_first) all.push_back("cosines and sines are swapped");
  if (positions != Rounded::no) all.push_back("positions are rounded to " + to_type(positions));
  if (frequencies != Rounded::no) all.push_back("frequencies are rounded to " + to_type(frequencies));
  if (angles != Rounded::no) all.push_back("angles are rounded to " + to_type(angles));
  std::string joined;
  for (const std::string& one : all) joined += (joined.empty() ? "" : ", ") + one;
  return joined;
}
bool Hypothesis::faulty() const {
  return (shift != 0 && shift_is_fault) || backwards || scale != 1 || tables_mixed ||
         positions != Rounded::no || frequencies != Rounded::no || angles != Rounded::no;
}
double Hypothesis::assumes() const {
  const int faults = (shift != 0) + backwards + (scale != 1) + tables_mixed + cosine_first +
                     (positions != Rounded::no) + (frequencies != Rounded::no) + (angles != Rounded::no);
  return cost + 2 * faults;
}

void Misfit::add(double missed, double allowed) {
  if (!std::isfinite(missed)) missed = kNever;
  error = std::max(error, missed);
  const double times = missed == 0 ? 0 : allowed > 0 ? missed / allowed : kNever;
  ratio = std::max(ratio, times);
  // Grows slowly with large misses: a few of them, which a fault leaves, do not hide that the rest fits.
  sum_ += std::log1p(times), ++count_;
}

HeldHypothesis held(const Hypothesis& h, const Misfit& m) {
  return {h.spec, h.apart(), h.faulty(), m.error, m.ratio, h.assumes(), h.expected};
}

namespace {

// Of float16 and bfloat16 each.
std::vector<Hypothesis> with_rounded(const Hypothesis& plain, Rounded Hypothesis::*what) {
  std::vector<Hypothesis> all{plain, plain};
  all[0].*what = Rounded::bfloat16, all[1].*what = Rounded::float16;
  return all;
}

}  // namespace

std::vector<Hypothesis> faults_of_positions(const Hypothesis& plain) {
  auto all = with_rounded(plain, &Hypothesis::positions);
  for (const double by : {1.0, -1.0}) {
    all.push_back(plain);
    all.back().shift += by;
  }
  return all;
}
std::vector<Hypothesis> faults_of_frequencies(const Hypothesis& plain) {
  return with_rounded(plain, &Hypothesis::frequencies);
}
std::vector<Hypothesis> faults_of_angles(const Hypothesis& plain) {
  auto all = with_rounded(plain, &Hypothesis::angles);
  all.push_back(plain);
  all.back().backwards = !plain.backwards;
  return all;
}

std::vector<Complex> factors_of(const Encoding& rotary, const Hypothesis& h,
                                std::span<const double> positions, Role role) {
  const std::int64_t T = std::int64_t(positions.size());
  std::vector<double> places;
  for (const double p : positions) places.push_back(rounded(p + h.shift, h.positions));
  const bool by_rounding = h.frequencies != Rounded::no || h.angles != Rounded::no;
  const TurnPart& map = *part<TurnPart>(rotary);
  const Turns turns = map.turns_at(reach_of(places).length());
  const RotaryWindow& window = turns.window;
  const std::int64_t N = window.pairs();
  std::vector<Complex> z(std::size_t(T * N));
  const Scene scene{places, {}, {}, {}};
  for (std::int64_t t = 0; t < T; ++t) {
    std::vector<double> row(std::size_t(rotary.shape().D));
    for (std::int64_t n = 0; n < N; ++n) row[std::size_t(window.low(n))] = 1;
    if (!by_rounding) map.map_row(scene, role, 0, t, row);
    for (std::int64_t n = 0; n < N; ++n) {
      const Complex one =
          by_rounding
              ? std::polar(turns.factor,
                           rounded(places[t] * rounded(turns.frequencies[n], h.frequencies), h.angles))
              : Complex(row[std::size_t(window.low(n))], row[std::size_t(window.high(n))]);
      z[std::size_t(t * N + n)] = h.scale * (h.backwards ? std::conj(one) : one);
    }
  }
  return z;
}

namespace {

// "none of the 40 conventions tried fits (rope, linear, yarn)".
std::string nothing_fits(const std::vector<HeldHypothesis>& tried) {
  std::vector<std::string> names;
  std::size_t count = 0;
  for (const HeldHypothesis& h : tried) {
    const std::string& name = h.spec.name;
    if (name.empty()) continue;
    ++count;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return count == 1 ? text("the one convention tried does not fit (", list, ")")
                    : text("none of the ", count, " conventions tried fits (", list, ")");
}

std::string answer(const Checked& c) {
  const HeldHypothesis& best = c.best;
  if (best.apart.empty()) return text("it follows ", best.spec.print_given());
  return text("it is ", best.spec.print_given(), best.faulty ? ", but " : ", where ", best.apart);
}
std::string answer_of_none(const Checked& c, const std::vector<HeldHypothesis>& tried) {
  const HeldHypothesis& best = c.best;
  if (best.spec.name.empty() && best.apart.empty()) return "no convention tried comes near";
  return text(nothing_fits(tried), "; the nearest is ", best.spec.print_given(),
              best.apart.empty() ? "" : ", where ", best.apart);
}

// What `more` says beside `apart`.
std::string beside(const std::string& apart, const std::string& more) {
  return !apart.empty() && more.compare(0, apart.size() + 2, apart + ", ") == 0
             ? more.substr(apart.size() + 2)
             : more;
}

// What is expected is written as the caller wrote it.
bool same(const HeldHypothesis& a, const HeldHypothesis& b) {
  if (a.apart != b.apart) return false;
  return a.spec == b.spec || (a.expected != b.expected && completed(a.spec) == completed(b.spec));
}

}  // namespace

void prefer(const HeldHypothesis& wanted, Checked& c) {
  const auto found =
      std::find_if(c.also.begin(), c.also.end(), [&](const HeldHypothesis& h) { return same(h, wanted); });
  if (found == c.also.end()) return;
  std::swap(c.best, *found);
  c.words = answer(c);
}

void settle(std::vector<HeldHypothesis> all, Checked& c, const std::vector<HeldHypothesis>& tried) {
  if (all.empty()) {
    c.words = "there is no convention to try on it";
    return;
  }
  std::stable_sort(all.begin(), all.end(), [](const HeldHypothesis& a, const HeldHypothesis& b) {
    if (a.fits() != b.fits()) return a.fits();
    if (a.fits() && a.expected != b.expected) return a.expected;
    return a.fits() && a.cost != b.cost ? a.cost < b.cost : a.error < b.error;
  });
  c.best = all[0];
  c.named = c.best.fits();
  c.follows = c.named && !c.best.faulty;
  c.words = c.named ? answer(c) : answer_of_none(c, tried.empty() ? all : tried);
  std::string untold;
  for (std::size_t n = 1; n < all.size(); ++n) {
    const HeldHypothesis& h = all[n];
    const bool again = std::any_of(all.begin(), all.begin() + std::ptrdiff_t(n),
                                   [&](const HeldHypothesis& before) { return same(before, h); });
    if (again || (!h.expected && h.cost > c.best.cost + kMostMore)) continue;
    if (!h.fits())
      c.ruled_out.push_back(h);
    else if (!h.faulty && h.cost <= c.best.cost + kLittleMore)
      c.also.push_back(h);
    else if (h.faulty && h.spec == c.best.spec)
      untold += (untold.empty() ? "" : ", or ") + beside(c.best.apart, h.apart);
  }
  if (!untold.empty()) c.remarks.push_back("these numbers fit as well if " + untold);
}

}  // namespace gnomon
