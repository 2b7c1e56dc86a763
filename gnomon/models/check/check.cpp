#include "gnomon/models/check/check.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/check/parts.h"

namespace gnomon {
namespace {

constexpr std::size_t kNearest = 8;  // hypotheses that are looked at closely

}  // namespace

std::vector<double> positions_of(const Asked& asked, std::int64_t tokens, const std::string& what) {
  std::vector<double> p = asked.positions;
  if (!asked.positions_given)
    for (std::int64_t t = 0; t < tokens; ++t) p.push_back(double(t));
  if (std::int64_t(p.size()) != tokens)
    throw Error(Fault::input,
                text("positions: found ", p.size(), ", but ", what, " has ", tokens, " tokens"));
  return p;
}

std::vector<std::int64_t> some_tokens(std::int64_t tokens, std::int64_t most) {
  std::vector<std::int64_t> all;
  const std::int64_t first = std::min(tokens, most / 2), rest = std::min(tokens - first, most - first);
  for (std::int64_t t = 0; t < first; ++t) all.push_back(t);
  for (std::int64_t n = 1; n <= rest; ++n) all.push_back(first - 1 + n * (tokens - first) / rest);
  return all;
}

std::string not_numbers(const DumpedArray& a) {
  if (a.values.empty()) return text(a.name, " is empty");
  std::size_t bad = 0, first = 0;
  for (std::size_t n = 0; n < a.values.size(); ++n)
    if (!std::isfinite(a.values[n]) && bad++ == 0) first = n;
  if (bad == 0) return "";
  return text(a.name, ": ", bad, " of ", a.values.size(), " numbers are not finite; the first is number ",
              first);
}

std::vector<Hypothesis> expected_of(const Asked& asked, const std::function<bool(const Encoding&)>& is_such) {
  std::vector<Hypothesis> all;
  for (const Named& named : asked.expected) {
    const auto made = make_encoding(named, {64, 1, 64, 2048, true});
    if (is_such(*made)) all.push_back({.spec = shortened(named), .expected = true});
  }
  return all;
}

void add_expected(const std::vector<Hypothesis>& expected, std::vector<Hypothesis>& plain) {
  std::set<double> shifts{0};
  for (const Hypothesis& h : plain)
    if (!h.shift_is_fault) shifts.insert(h.shift);
  for (Hypothesis h : expected) {
    for (const double shift : shifts) {
      h.shift = shift;
      plain.push_back(h);
    }
  }
}

void check_extent(std::string_view what, std::int64_t found, std::int64_t most) {
  if (found > most) throw Error(Fault::input, text(what, ": found ", found, "; allowed are at most ", most));
}

void compare_with_expected(const Asked& asked, Checked& c) {
  if (asked.expected.empty()) return;
  if (c.best.expected && c.follows)
    c.words = text("it follows what is expected, ", c.best.spec.print_given(),
                   c.best.apart.empty() ? "" : ", where ", c.best.apart);
  if (!c.best.expected) c.words = text("it is not what is expected: ", c.words);
  c.follows = c.follows && c.best.expected;
}

void search(std::vector<Hypothesis> plain, const Search& by, Checked& c) {
  struct Tried {
    Hypothesis hypothesis;
    Misfit misfit;
    bool fits() const { return misfit.ratio <= 1; }
  };
  std::vector<Tried> tried;
  for (const Hypothesis& h : plain) tried.push_back({h, by.quick(h)});
  std::stable_sort(tried.begin(), tried.end(), [](const Tried& a, const Tried& b) {
    if (a.fits() != b.fits()) return a.fits();
    return a.fits() ? a.hypothesis.assumes() < b.hypothesis.assumes()
                    : a.misfit.typical() < b.misfit.typical();
  });
  std::vector<HeldHypothesis> all, sooner;
  for (std::size_t n = kNearest; n < tried.size(); ++n)
    if (!tried[n].hypothesis.expected) sooner.push_back(held(tried[n].hypothesis, tried[n].misfit));
  const auto hold = [&](const Hypothesis& h) { all.push_back(held(h, by.full(h))); };
  for (std::size_t n = 0; n < tried.size(); ++n) {
    const Hypothesis& h = tried[n].hypothesis;
    if (n < kNearest || h.expected) hold(h);
    // Faults of what comes nearest; of what fits, to say that it is not they.
    if (n > 0 && !h.expected && (tried[0].fits() || n >= kNearest)) continue;
    for (const auto& faults : by.faults)
      for (const Hypothesis& faulty : faults(h)) hold(faulty);
  }
  if (!tried.empty() && by.others)
    for (const Hypothesis& h : by.others(tried[0].hypothesis)) hold(h);
  sooner.insert(sooner.end(), all.begin(), all.end());
  settle(std::move(all), c, sooner);
}

namespace {

// Whether one convention fits both, which then is the answer for both. Each is held against what the other follows.
bool turn_alike(const Dump& dump, const Asked& asked, Checked& q, Checked& k) {
  const auto alike = [&] { return q.best.spec == k.best.spec && q.best.apart == k.best.apart; };
  if (alike()) return true;
  const auto again = [&](Checked& one, const Checked& other, const char* before, const char* after) {
    Asked also = asked;
    also.tried_as_well = other.best.spec;
    Checked checked = check_rotation(*dump.find(before), *dump.find(after), also);
    prefer(other.best, checked);
    if (checked.best.spec == other.best.spec && checked.best.apart == other.best.apart) {
      checked.remarks = one.remarks;
      one = std::move(checked);
    }
    return alike();
  };
  return (q.named && again(k, q, "k_before", "k_after")) || (k.named && again(q, k, "q_before", "q_after"));
}

// Both of what belongs together, or neither.
bool both(const Dump& dump, const char* one, const char* other) {
  const bool has_one = dump.find(one), has_other = dump.find(other);
  if (has_one != has_other)
    throw Error(Fault::input,
                text("the dump has ", has_one ? one : other, " without ", has_one ? other : one));
  return has_one;
}

// Every encoding that a spec names, once.
std::vector<Named> named_in(const std::string& spec) {
  if (spec.empty()) return {};
  const Spec parsed = Spec::parse(spec);
  std::vector<Named> all = parsed.attention;
  if (parsed.input) all.push_back(*parsed.input);
  for (const auto& layer : parsed.layers) all.insert(all.end(), layer.begin(), layer.end());
  std::vector<Named> once;
  for (const Named& named : all)
    if (std::find(once.begin(), once.end(), named) == once.end()) once.push_back(named);
  return once;
}

}  // namespace

std::vector<Checked> check(const Dump& dump, const CheckOptions& options) {
  Asked asked{named_in(options.spec), options.theta, options.positions, !options.positions.empty()};
  const DumpedArray* positions = dump.find("positions");
  if (!asked.positions_given && positions) {
    asked.positions.assign(positions->values.begin(), positions->values.end());
    asked.positions_given = true;
  }
  std::vector<Checked> all;
  if (both(dump, "q_before", "q_after"))
    all.push_back(check_rotation(*dump.find("q_before"), *dump.find("q_after"), asked));
  if (both(dump, "k_before", "k_after"))
    all.push_back(check_rotation(*dump.find("k_before"), *dump.find("k_after"), asked));
  if (all.size() == 2 && !turn_alike(dump, asked, all[0], all[1]) && (all[0].named || all[1].named)) {
    all[1].follows = false;
    all[1].remarks.emplace_back("q and k are rotated differently, so their product follows no convention");
  }
  if (both(dump, "cos", "sin")) all.push_back(check_cos_sin(*dump.find("cos"), *dump.find("sin"), asked));
  if (const auto* a = dump.find("inv_freq")) all.push_back(check_inv_freq(*a, asked));
  if (const auto* a = dump.find("bias")) all.push_back(check_bias(*a, asked));
  if (const auto* a = dump.find("slopes")) all.push_back(check_slopes(*a, asked));
  if (const auto* a = dump.find("table")) all.push_back(check_table(*a, asked));
  if (all.empty())
    throw Error(Fault::input, "the dump has only positions, which do not show how a program uses them");
  return all;
}

}  // namespace gnomon
