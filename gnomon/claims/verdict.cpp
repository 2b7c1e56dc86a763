#include "gnomon/claims/verdict.h"

#include <algorithm>

#include "gnomon/core/distributions.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/study/statistics/statistics.h"

namespace gnomon::claims {
namespace {

const FoundNumber* find(std::span<const FoundNumber> numbers, std::string_view key) {
  const auto found =
      std::find_if(numbers.begin(), numbers.end(), [&](const FoundNumber& n) { return n.key == key; });
  return found == numbers.end() ? nullptr : &*found;
}
const FoundNumber& get(std::span<const FoundNumber> numbers, std::string_view key) {
  if (const FoundNumber* n = find(numbers, key)) return *n;
  throw Error(Fault::bug,
              text("a check looks at the number '", key, "', which the measurement did not find"));
}

// The numbers that asked(key) is about.
std::vector<const FoundNumber*> group(std::span<const FoundNumber> numbers, std::string_view key) {
  std::vector<const FoundNumber*> out;
  for (const FoundNumber& n : numbers) {
    const bool member = std::string_view(n.key).substr(0, key.size()) == key &&
                        (n.key.size() == key.size() || n.key[key.size()] == '.');
    if (member && n.asked()) out.push_back(&n);
  }
  return out;
}

double value_of(const Bound& b, std::span<const FoundNumber> numbers) {
  return b.key.empty() ? b.factor : b.factor * get(numbers, b.key).value;
}

std::string quoted(std::span<const FoundNumber> numbers, std::string_view key) {
  const FoundNumber* n = find(numbers, key);
  return text("“", n ? std::string_view(n->name) : key, "”");
}
std::string explained(const Bound& b, std::span<const FoundNumber> numbers) {
  if (b.key.empty()) return shortest(b.factor);
  return text(b.factor == 1 ? "" : text(shortest(b.factor), " times "), quoted(numbers, b.key));
}
std::string explained(const Check& c, std::span<const FoundNumber> numbers) {
  const std::string number = quoted(numbers, c.key), bound = explained(c.bound, numbers);
  switch (c.kind) {
    case Check::Kind::asked: {
      const auto all = group(numbers, c.key);
      const std::string first = text("“", all.empty() ? c.key : std::string_view(all.front()->name), "”");
      return all.size() < 2 ? text(first, " is as asked for")
                            : text(first, " and ", all.size() - 1, " more are as asked for");
    }
    case Check::Kind::at_least:
      return text(number, " is at least ", bound);
    case Check::Kind::at_most:
      return text(number, " is at most ", bound);
    case Check::Kind::above:
      return text("the interval of ", number, " lies above ", bound);
    case Check::Kind::below:
      return text("the interval of ", number, " lies below ", bound);
    case Check::Kind::apart:
      return text("the interval of ", number,
                  c.bound.factor == 0 ? " excludes 0" : text(" lies outside ±", bound));
    case Check::Kind::equal:
      break;
  }
  return text("the interval of ", number, " lies within ±", bound);
}

}  // namespace

std::string_view name(Verdict v) {
  switch (v) {
    case Verdict::answered:
      return "answered";
    case Verdict::holds:
      return "holds";
    case Verdict::holds_if:
      return "holds if";
    case Verdict::wrong:
      return "wrong";
    case Verdict::open:
      return "open";
    case Verdict::no_inference:
      return "no inference from a quick run";
    case Verdict::unmeasurable:
      return "not measurable on this text";
    case Verdict::differs:
      break;
  }
  return "a number did not come out";
}

bool passes(const Check& c, std::span<const FoundNumber> numbers) {
  if (c.kind == Check::Kind::asked) {
    const auto all = group(numbers, c.key);
    if (all.empty())
      throw Error(Fault::bug,
                  text("a check looks at the range of '", c.key, "', but no such number has one"));
    return std::all_of(all.begin(), all.end(), [](const FoundNumber* n) { return n->fits(); });
  }
  const FoundNumber& n = get(numbers, c.key);
  const double bound = value_of(c.bound, numbers), low = n.least(), high = n.most();
  switch (c.kind) {
    case Check::Kind::at_least:
      return n.value >= bound;
    case Check::Kind::at_most:
      return n.value <= bound;
    case Check::Kind::above:
      return low > bound;
    case Check::Kind::below:
      return high < bound;
    case Check::Kind::apart:
      return low > bound || high < -bound;
    case Check::Kind::equal:
      return low > -bound && high < bound;
    case Check::Kind::asked:
      break;
  }
  return false;
}

namespace {
bool applies(const VerdictRule& rule, std::span<const FoundNumber> numbers) {
  bool all = true;
  for (const Check& c : rule.checks) all &= passes(c, numbers);
  return all;
}

// Of a check of an interval.
double p_value(const Check& c, std::span<const FoundNumber> numbers) {
  const FoundNumber& n = get(numbers, c.key);
  const double freedom = double(n.n - 1), quantile = t_quantile(.025, freedom),
               error = (n.of_share() ? (log_odds(n.to) - log_odds(n.from)) / 2 : n.half_width) / quantile;
  // On the scale that the interval is of: a share lies above 0 and below 1 whatever it is.
  const auto scaled = [&](double x) { return n.of_share() ? log_odds(std::clamp(x, 0.0, 1.0)) : x; };
  const double value = scaled(n.value), bound = scaled(value_of(c.bound, numbers)),
               other = scaled(-value_of(c.bound, numbers));
  const auto exceeds = [&](double by) {  // two-sided; 1 on the other side
    return error == 0 ? (by > 0 ? 0.0 : 1.0) : std::min(1.0, 2 * t_tail(by / error, freedom));
  };
  switch (c.kind) {
    case Check::Kind::above:
      return exceeds(value - bound);
    case Check::Kind::below:
      return exceeds(bound - value);
    case Check::Kind::apart:
      return std::min(exceeds(value - bound), exceeds(other - value));
    default:
      return std::max(exceeds(bound - value), exceeds(value - other));  // two one-sided tests
  }
}
}  // namespace

const VerdictRule* applied(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers) {
  const VerdictRule* found = nullptr;
  for (std::size_t n = rules.size(); n-- > 0;) {
    if (applies(rules[n], numbers)) found = &rules[n];
  }
  return found;
}

Verdict decide(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers) {
  const VerdictRule* rule = applied(rules, numbers);
  return rule ? rule->verdict : Verdict::differs;
}

double p_value(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers) {
  const VerdictRule* rule = applied(rules, numbers);
  if (!rule || std::none_of(rule->checks.begin(), rule->checks.end(), of_interval)) return 1;
  double p = 0;
  for (const Check& c : rule->checks) {
    if (of_interval(c)) p = std::max(p, p_value(c, numbers));
  }
  return p;
}

bool needs_seeds(std::span<const VerdictRule> rules) {
  return std::any_of(rules.begin(), rules.end(), [](const VerdictRule& r) {
    return std::any_of(r.checks.begin(), r.checks.end(), of_interval);
  });
}

std::vector<RuleInWords> in_words(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers) {
  std::vector<RuleInWords> out;
  for (const VerdictRule& r : rules) {
    const std::string_view verdict =
        r.verdict == Verdict::holds_if ? "holds under its condition" : name(r.verdict);
    out.push_back({text(r.checks.empty() ? "otherwise " : "", verdict), {}});
    for (const Check& c : r.checks) out.back().checks.push_back(explained(c, numbers));
  }
  return out;
}

std::string explained(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers) {
  std::string out, before;
  for (const RuleInWords& r : in_words(rules, numbers)) {
    std::string when;
    for (const std::string& c : r.checks) when += text(when.empty() ? " if " : " and ", c);
    out += r.verdict == before ? text(", or", when) : text(out.empty() ? "" : "; ", r.verdict, when);
    before = r.verdict;
  }
  return out;
}

}  // namespace gnomon::claims
