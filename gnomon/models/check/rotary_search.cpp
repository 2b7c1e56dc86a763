#include "gnomon/models/check/rotary_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/prose.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/check/rotary_search.txt.inc"
    ;

constexpr double kFarthest = 131072;  // where a context may begin, if no positions are given

// What is given for an option.
const OptionValue* given(const Named& spec, std::string_view name) {
  for (const auto& [key, value] : spec.options)
    if (key == name) return &value;
  return nullptr;
}
std::optional<double> number_given(const Named& spec, std::string_view name) {
  const OptionValue* value = given(spec, name);
  return value ? std::optional(value->number()) : std::nullopt;
}
// With another value; none given: as it was.
Named with(Named spec, std::string_view name, const OptionValue& value) {
  for (auto& [key, old] : spec.options)
    if (key == name) old = value;
  return spec;
}
Named without(Named spec, std::string_view name) {
  std::erase_if(spec.options, [&](const auto& option) { return option.first == name; });
  return spec;
}

}  // namespace

bool is_rotary(const Encoding& e) { return part<TurnPart>(e) != nullptr; }

std::unique_ptr<Encoding> rotary_of(const Named& spec, std::int64_t D) {
  try {
    auto made = make_encoding(completed(spec), {D, 1, D, 2048, true});
    if (is_rotary(*made)) return made;
  } catch (const Error&) {  // a window beyond the head: no hypothesis
  }
  return nullptr;
}

std::vector<double> places_of(const std::vector<std::int64_t>& tokens, const Positions& positions) {
  std::vector<double> places;
  for (const std::int64_t t : tokens)
    for (std::int64_t a = 0; a < positions.axes; ++a) places.push_back(positions.at(t, a));
  return places;
}

std::vector<double> angles_at(std::span<const double> frequencies, const Hypothesis& h,
                              const Positions& positions, std::int64_t token) {
  double place = 0;
  for (std::int64_t a = 0; a < positions.axes; ++a)
    place = std::max(place, std::abs(positions.at(token, a) + h.shift));
  if (h.again != SecondTurn::no) place *= 2;
  std::vector<double> angles;
  for (const double w : frequencies) angles.push_back(place * (h.in_pairs() ? w : frequencies[0]));
  return angles;
}

namespace {

// How well the turns of all tokens agree with the hypothesis, at most 1: by phases alone.
double agreement(const Hypothesis& h, const Turned& turned, std::int64_t D) {
  const auto made = rotary_of(h.spec, D);
  if (!made) return -1;
  const auto z = factors_of(*made, h, Positions(turned.positions, 1, 1), Role::q);
  if (z.size() != turned.z.size()) return -1;
  double sum = 0;
  for (std::size_t n = 0; n < z.size(); ++n) {
    const double size = std::abs(z[n]) * std::abs(turned.z[n]);
    if (size > 0) sum += (z[n] * std::conj(turned.z[n])).real() / size;
  }
  return sum / double(z.size());
}

// So many of the tokens, evenly spread; `positions` holds theirs.
Turned some_of(const Turned& turned, std::int64_t most, std::vector<double>& positions) {
  Turned some{std::min(turned.T, most), turned.N, {}, {}, turned.noise};
  for (std::int64_t n = 0; n < some.T; ++n) {
    const std::int64_t t = n * turned.T / some.T;
    positions.push_back(turned.positions[std::size_t(t)]);
    const auto from = turned.z.begin() + std::ptrdiff_t(t * turned.N);
    some.z.insert(some.z.end(), from, from + std::ptrdiff_t(turned.N));
  }
  some.positions = positions;
  return some;
}

// At far positions a base that is a little off is an angle that is far off: the base near the fitted one at which all turns
// agree best, to several numbers of digits.
std::vector<Hypothesis> with_finer_theta(const Hypothesis& fitted, const Turned& all_turned, std::int64_t D,
                                         double resolution) {
  const double theta = number_given(fitted.spec, "theta").value_or(0);
  if (!(theta > 2)) return {};
  std::vector<double> positions;
  const Turned turned = some_of(all_turned, 64, positions);
  double farthest = 1;
  for (const double p : positions) farthest = std::max(farthest, std::abs(p + fitted.shift));
  const auto with_theta = [&](double log_theta, int digits) {
    Hypothesis h = fitted;
    h.spec = with(h.spec, "theta", to_digits(std::exp(log_theta), digits));
    return h;
  };
  // The angle p·θ^(−x), x = 2n/r, changes by p·x·θ^(−x), at most p/(e·ln θ), with ln θ.
  const double changes = farthest / (std::exp(1.0) * std::log(theta)),
               reach = std::min(0.05, 16 * resolution * std::log(theta));
  double best = std::log(theta), step = 0.5 / changes;
  std::int64_t steps = std::min<std::int64_t>(128, std::int64_t(std::ceil(reach / step)));
  for (; step > 1e-3 * turned.noise / changes; step /= 8, steps = 8) {
    const double middle = best;
    double most = -1;
    for (std::int64_t s = -steps; s <= steps; ++s) {
      const double here = agreement(with_theta(middle + double(s) * step, 15), turned, D);
      if (here > most) most = here, best = middle + double(s) * step;
    }
  }
  std::vector<Hypothesis> all;
  for (int digits = 3; digits <= 7; ++digits) {
    all.push_back(with_theta(best, digits));
    all.back().cost +=
        cost_of_theta(to_digits(std::exp(best), digits)) - cost_of_theta(theta) + 0.1 * (digits - 3);
  }
  return all;
}

}  // namespace

std::vector<Hypothesis> rotary_hypotheses(const Window& window, const Turned& turned, const Asked& asked,
                                          SecondTurn again) {
  Measured m = measure(turned, asked.positions_given ? 64 : kFarthest);
  if (again == SecondTurn::alike) {
    for (double& w : m.frequencies) w /= 2;
    m.factor = std::sqrt(m.factor);
  }
  const double noise = 4 * turned.noise + 1e-6;
  const bool scaled = std::abs(m.factor - 1) > 4 * noise;
  auto all = rotary_rules(window, {m.frequencies, m.resolution, m.factor, noise, asked.theta});
  for (Hypothesis& h : all) {
    h.shift = m.shift, h.shift_is_fault = asked.positions_given, h.backwards = m.backwards, h.again = again;
    if (scaled && h.spec.name != "yarn") h.scale = m.factor;
  }
  // Of the bases that come nearest without being ones that models have: of the plain rotation, and of any kind.
  std::vector<Hypothesis> odd;
  for (const bool plain : {true, false}) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Hypothesis& h) {
      const auto theta = number_given(h.spec, "theta");
      return theta && cost_of_theta(*theta) > 0 && (h.spec.name == "rope") == plain;
    });
    if (found != all.end() && !m.frequencies.empty()) odd.push_back(*found);
  }
  if (again != SecondTurn::no) odd.clear();
  for (Hypothesis& h : odd) {
    if (asked.positions_given) h.shift = 0;  // far away a rough frequency tells no shift
    const std::vector<Hypothesis> finer = with_finer_theta(h, turned, window.head, m.resolution);
    all.insert(all.end(), finer.begin(), finer.end());
  }
  if (m.shift == 0) return all;
  const std::size_t found = all.size();
  for (std::size_t n = 0; n < found; ++n) {
    all.push_back(all[n]);
    all.back().shift = 0;
  }
  return all;
}

std::vector<Hypothesis> confused(const Hypothesis& best, std::int64_t D) {
  std::vector<Hypothesis> all;
  const auto add = [&](const Named& spec) {
    if (spec == best.spec) return;
    all.push_back(best);
    all.back().spec = spec;
  };
  for (const char* pairing : {"halves", "adjacent"}) add(with(best.spec, "pairing", pairing));
  for (const double theta : {1e4, 5e5, 1e6}) add(with(best.spec, "theta", theta));
  add(without(best.spec, "side"));
  add(without(without(best.spec, "channels"), "side"));
  const auto theta = number_given(best.spec, "theta"), channels = number_given(best.spec, "channels"),
             share = number_given(best.spec, "share");
  if (!theta) return all;
  // Partial and proportional; what an extension of the context is without it.
  const OptionValue* paired = given(best.spec, "pairing");
  const NamedOptions plain{{"theta", *theta}, {"pairing", paired ? *paired : OptionValue("halves")}};
  const auto of = [&](const char* name, const char* option, double value) {
    Named spec{name, plain};
    spec.options.emplace_back(option, value);
    return spec;
  };
  if (channels) add(of("proportional", "share", *channels / double(D)));
  if (share) add(of("rope", "fraction", *share));
  if (!best.spec.name.starts_with("rope")) add({"rope", plain});
  if (best.spec.name == "yarn") {
    add(without(best.spec, "attention_factor"));
    if (!given(best.spec, "attention_factor")) {
      all.push_back(best);
      all.back().spec.options.emplace_back("attention_factor", 1);
    }
    add(without(best.spec, "truncate"));
  }
  if (const auto factor = number_given(best.spec, "factor")) add(of("linear", "factor", *factor));
  return all;
}

namespace {

void remark_on_factor(Checked& c) {
  const auto found = number_given(c.best.spec, "attention_factor"),
             factor = number_given(c.best.spec, "factor");
  if (!found || !factor || c.best.spec.name != "yarn") return;
  const double rule = 0.1 * std::log(*factor) + 1;
  if (*found == 1)
    c.remarks.push_back(text("YaRN multiplies cos and sin by ", fixed(rule, 4),
                             " here: the factor was dropped, or the file sets it to 1"));
  else if (std::abs(*found - rule * rule) < 1e-3)
    c.remarks.push_back(
        text("the factor is the square of YaRN's factor ", fixed(rule, 4), ": it was applied twice"));
}

// A base that no model has, but whose power is one that many have: the exponents were formed otherwise.
void remark_on_theta(std::int64_t D, Checked& c) {
  const auto theta = number_given(c.best.spec, "theta"), channels = number_given(c.best.spec, "channels");
  const auto usual = [](double x) {
    const auto known = known_thetas();
    return std::any_of(known.begin(), known.end(), [x](double k) { return std::abs(x / k - 1) < 1e-3; });
  };
  if (!theta || usual(*theta)) return;
  if (usual(*theta * *theta))
    c.remarks.push_back(text(shortest(*theta), " is the square root of ",
                             shortest(std::round(*theta * *theta)),
                             ": the exponents may be −i/r instead of −2i/r"));
  if (!channels) return;
  const double whole = std::pow(*theta, double(D) / *channels);
  if (usual(whole))
    c.remarks.push_back(text("the frequencies are those of base ", shortest(std::round(whole)), " over all ",
                             D, " channels of the head, but only ", shortest(*channels), " rotate"));
}

}  // namespace

void tell_rounding(const Hypothesis& best, std::int64_t D, const Positions& positions, Checked& c) {
  if (best.again == SecondTurn::alike && !best.shift_is_fault)
    c.remarks.emplace_back(kText.at("remark", "doubled"));
  if (best.tables_mixed && best.spec.name == "rope_axial")
    c.remarks.emplace_back(kText.at("remark", "blocks"));
  const auto made = rotary_of(best.spec, D);
  if (!made || !best.rounds_angles() || positions.size() == 0 || positions.axes > 1) return;
  const double last = *std::max_element(positions.values.begin(), positions.values.end());
  const PhaseError off = phase_error(*made, best, last);
  c.evidence.push_back({"phase_error", off.radians});
  c.evidence.push_back({"phase_error_position", last});
  c.evidence.push_back({"phase_error_pair", double(off.pair)});
  c.remarks.push_back(said<"position", "radians", "pair">(kText.at("remark", "phase"), shortest(last),
                                                          text(off.radians), text(off.pair)));
  if (best.positions == Rounded::no) return;
  std::set<double> before, after;
  for (const double p : positions.values)
    before.insert(p), after.insert(rounded(p + best.shift, best.positions));
  c.evidence.push_back({"positions", double(before.size())});
  c.evidence.push_back({"positions_told_apart", double(after.size())});
  c.remarks.push_back(said<"left", "all">(kText.at("remark", "coincide"), text(after.size()),
                                          counted(before.size(), "position")));
}

void remark_on_numbers(std::int64_t D, Checked& c) {
  if (!c.named) return;
  remark_on_factor(c), remark_on_theta(D, c);
}

}  // namespace gnomon
