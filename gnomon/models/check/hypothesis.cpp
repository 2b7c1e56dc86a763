#include "gnomon/models/check/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/core/prose.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/check/hypothesis.txt.inc"
    ;

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

namespace {

std::string other_pairing(const Named& spec) {
  const auto pairing = spec.option("pairing");
  return pairing && pairing->word() == "adjacent" ? "halves" : "adjacent";
}

std::string in_words(const Hypothesis& h, SecondTurn again) {
  if (again == SecondTurn::alike) return std::string(kText.at("apart", "twice"));
  if (again == SecondTurn::then_other)
    return said<"pairing">(kText.at("apart", "twice.then"), other_pairing(h.spec));
  return said<"pairing">(kText.at("apart", "twice.first"), other_pairing(h.spec));
}
std::string of_padding(const Hypothesis& h) {
  const std::string channels = text(h.padded_to);
  return h.padding_masked ? said<"channels">(kText.at("apart", "padded.zeros"), channels)
                          : said<"channels">(kText.at("apart", "padded"), channels);
}

}  // namespace

std::string Hypothesis::apart() const {
  std::vector<std::string> all;
  if (shift != 0 && shift_is_fault)
    all.push_back(said<"by">(kText.at("apart", "off"), (shift > 0 ? "+" : "−") + shortest(std::abs(shift))));
  if (shift != 0 && !shift_is_fault)
    all.push_back(said<"position">(kText.at("apart", "first"), shortest(shift)));
  if (backwards) all.emplace_back(kText.at("apart", "backwards"));
  if (scale != 1) all.push_back(said<"factor">(kText.at("apart", "scale"), shortest(scale)));
  if (tables_mixed) all.emplace_back(kText.at("apart", "tables"));
  if (cosine_first) all.emplace_back(kText.at("apart", "cosine"));
  if (again != SecondTurn::no) all.push_back(in_words(*this, again));
  if (padded_to) all.push_back(of_padding(*this));
  const auto add = [&](Rounded to, Form<"type"> form) {
    if (to != Rounded::no) all.push_back(said<"type">(form, to_type(to)));
  };
  add(positions, kText.at("apart", "positions"));
  add(frequencies, kText.at("apart", "frequencies"));
  add(angles, kText.at("apart", "angles"));
  add(tables, kText.at("apart", "cos-sin"));
  std::string joined;
  for (const std::string& one : all) joined += (joined.empty() ? "" : ", ") + one;
  return joined;
}
bool Hypothesis::in_pairs() const {
  return !tables_mixed && !padded_to && (again == SecondTurn::no || again == SecondTurn::alike);
}
bool Hypothesis::rounds_angles() const {
  return positions != Rounded::no || frequencies != Rounded::no || angles != Rounded::no;
}
// Cos and sin of 16 bits are a choice: their error is that of a number, wherever the token stands. Axes whose tables are laid
// out for the other pairing are published like that (V-JEPA 2).
bool Hypothesis::faulty() const {
  const bool mixed = tables_mixed && spec.name != "rope_axial";
  return (shift != 0 && shift_is_fault) || backwards || scale != 1 || mixed || again != SecondTurn::no ||
         padded_to || rounds_angles();
}
double Hypothesis::assumes() const {
  const int faults = (shift != 0) + backwards + (scale != 1) + tables_mixed + cosine_first +
                     (again != SecondTurn::no) + (padded_to != 0);
  // One type for several numbers is one cause.
  const int types = (positions != Rounded::no) + (frequencies != Rounded::no) + (angles != Rounded::no) +
                    (tables != Rounded::no);
  return cost + 2 * faults + (types ? 1.75 + 0.25 * types : 0);
}
Hypothesis Hypothesis::mended() const {
  Hypothesis h{.spec = spec, .cost = cost, .expected = expected};
  if (!shift_is_fault) h.shift = shift;
  h.cosine_first = cosine_first;
  return h;
}

void Misfit::add(double missed, double allowed, const DumpPlace& at) {
  if (!std::isfinite(missed)) missed = kNever;
  error = std::max(error, missed);
  const double times = missed == 0 ? 0 : allowed > 0 ? missed / allowed : kNever;
  if (times > ratio || count_ == 0) ratio = times, place = at;
  // Grows slowly with large misses: a few of them, which a fault leaves, do not hide that the rest fits.
  if (times > 1e100) {
    sum_ += std::log(times);
  } else if (product_ *= 1 + times; product_ > 1e100) {
    sum_ += std::log(product_), product_ = 1;
  }
  squares_ += missed * missed, ++count_;
}

HeldHypothesis held(const Hypothesis& h, const Misfit& m) {
  return {h.spec, h.apart(), h.faulty(), m.error, m.ratio, h.assumes(), h.expected, m.place};
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

std::vector<Hypothesis> faults_of_types(const Hypothesis& plain) {
  std::vector<Hypothesis> all;
  for (const Rounded to : {Rounded::bfloat16, Rounded::float16}) {
    for (unsigned which = 1; which < 16; ++which) {
      if (which == 1 || which == 2 || which == 4) continue;  // those above
      Hypothesis h = plain;
      if (which & 1) h.positions = to;
      if (which & 2) h.frequencies = to;
      if (which & 4) h.angles = to;
      if (which & 8) h.tables = to;
      all.push_back(h);
    }
  }
  return all;
}

namespace {

// Angles in the type that the hypothesis rounds them to; of one coordinate.
std::vector<Complex> rounded_factors(const Turns& turns, const Hypothesis& h, const Positions& places) {
  std::vector<Complex> z;
  for (std::int64_t t = 0; t < places.size(); ++t) {
    for (const double w : turns.frequencies) {
      const double angle = rounded(places[t] * rounded(w, h.frequencies), h.angles);
      z.push_back(std::polar(turns.factor, angle));
    }
  }
  return z;
}
std::vector<Complex> exact_factors(const Encoding& rotary, const Positions& places, Role role) {
  const TurnPart& map = *part<TurnPart>(rotary);
  const RotaryWindow window = map.turns_at(1).window;
  std::vector<Complex> z;
  const Scene scene{places, {}, {}, {}};
  for (std::int64_t t = 0; t < places.size(); ++t) {
    std::vector<double> row(std::size_t(rotary.shape().D));
    for (std::int64_t n = 0; n < window.pairs(); ++n) row[std::size_t(window.low(n))] = 1;
    map.map_row(scene, role, 0, t, row);
    for (std::int64_t n = 0; n < window.pairs(); ++n)
      z.emplace_back(row[std::size_t(window.low(n))], row[std::size_t(window.high(n))]);
  }
  return z;
}

// The sines that a kernel finds whose blocks are wider than the rows (cos, sin) of the table; `next` are the rows of the
// positions after.
void read_past(const Hypothesis& h, const std::vector<Complex>& next, std::vector<Complex>& z,
               std::int64_t N) {
  const std::vector<Complex> own = z;
  const auto column = [&](const std::vector<Complex>& rows, std::int64_t t, std::int64_t c) {
    const Complex pair = rows[std::size_t(t * N + c % N)];
    return c < N ? pair.real() : pair.imag();
  };
  for (std::int64_t t = 0; t < std::int64_t(own.size()) / N; ++t) {
    for (std::int64_t n = 0; n < N; ++n) {
      const std::int64_t c = h.padded_to / 2 + n;
      const double sine = c < 2 * N ? column(own, t, c) : h.padding_masked ? 0 : column(next, t, c - 2 * N);
      z[std::size_t(t * N + n)].imag(sine);
    }
  }
}

}  // namespace

std::vector<Complex> factors_of(const Encoding& rotary, const Hypothesis& h, const Positions& positions,
                                Role role) {
  std::vector<double> places;
  for (const double p : positions.values) places.push_back(rounded(p + h.shift, h.positions));
  const Positions at(places, 1, positions.axes);
  const Turns turns = part<TurnPart>(rotary)->turns_at(reach_of(at).length());
  const bool by_rounding = (h.frequencies != Rounded::no || h.angles != Rounded::no) && positions.axes == 1;
  std::vector<Complex> z = by_rounding ? rounded_factors(turns, h, at) : exact_factors(rotary, at, role);
  if (h.padded_to) {
    for (double& p : places) p += 1;
    read_past(h, exact_factors(rotary, at, role), z, turns.window.pairs());
  }
  for (Complex& one : z) one = h.scale * (h.backwards ? std::conj(one) : one);
  return z;
}

Applied applied(const Hypothesis& h, Complex z, double off) {
  double slack = 0;
  const auto in_table = [&](double x) {
    slack = std::max(slack, rounded(x + off, h.tables) - rounded(x - off, h.tables));
    return rounded(x, h.tables);
  };
  if (h.tables != Rounded::no) z = {in_table(z.real()), in_table(z.imag())};
  return h.again == SecondTurn::alike ? Applied{z * z, 2 * slack * std::abs(z)} : Applied{z, slack};
}

PhaseError phase_error(const Encoding& rotary, const Hypothesis& h, double position) {
  const double place = rounded(position + h.shift, h.positions);
  const Turns turns = part<TurnPart>(rotary)->turns_at(position + h.shift + 1);
  PhaseError most;
  for (std::size_t n = 0; n < turns.frequencies.size(); ++n) {
    const double w = turns.frequencies[n], used = rounded(place * rounded(w, h.frequencies), h.angles),
                 off = std::abs(used - (position + h.shift) * w);
    if (off > most.radians) most = {off, std::int64_t(n)};
  }
  return most;
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

std::string answer(const Checked& c) {
  const HeldHypothesis& best = c.best;
  if (best.apart.empty()) return text("it follows ", best.spec.print_given());
  return text("it is ", best.spec.print_given(), best.faulty ? ", but " : ", where ", best.apart);
}

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
    if (a.fits() && a.faulty != b.faulty)
      return b.faulty;  // a fault is told only of what nothing right explains
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
  if (!untold.empty()) c.remarks.push_back(said<"what">(kText.at("remark", "fits"), untold));
}

}  // namespace gnomon
