#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gnomon::claims {

enum class Verdict {
  answered,      // a question: the finding is the answer
  holds,         // a statement
  holds_if,      // under the claim's condition
  wrong,         // the answer gives the correction
  open,          // not decided by this data: the interval says why, the claim what would settle it
  no_inference,  // a quick run of something that needs seeds
  unmeasurable,  // the text lacks what the measurement needs: the answer says what
  differs        // a number did not come out: the answer cannot be given
};
std::string_view name(Verdict v);  // "answered", "holds if", ...

// A number that was found, with what it should be.
struct FoundNumber {
  std::string key;   // short, one of its kind in a finding: what checks and the answers to questions call it
  std::string name;  // for readers
  double value;
  double half_width = std::nan("");  // of a 95 % t interval
  std::int64_t n = 1;                // seeds, draws or cases behind it
  int digits = 4;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  // Of a share: the ends of an interval by log-odds, which is not value ± half_width. Then half_width stays NaN.
  double from = std::nan(""), to = std::nan("");
  bool of_share() const { return !std::isnan(from); }
  double least() const { return of_share() ? from : value - half_width; }
  double most() const { return of_share() ? to : value + half_width; }
  bool asked() const {
    return low > -std::numeric_limits<double>::infinity() || high < std::numeric_limits<double>::infinity();
  }
  bool fits() const { return !asked() || (value >= low && value <= high); }
  void ask(double least, double most = std::numeric_limits<double>::infinity()) { low = least, high = most; }
};

// What a check compares with: a value, or a multiple of another number of the same finding.
struct Bound {
  double factor;
  std::string_view key = {};
  Bound(double value) : factor(value) {}
  Bound(int value) : factor(value) {}
  Bound(const char* other) : factor(1), key(other) {}
  Bound(double times, const char* other) : factor(times), key(other) {}
};

// One thing that a verdict depends on, declared beside the measurement.
struct Check {
  enum class Kind { asked, at_least, at_most, above, below, apart, equal };
  Kind kind;
  std::string_view key;
  Bound bound = 0;
};
// Every number of that key, and of the keys that begin with it and a dot, lies in the range asked of it.
inline Check asked(std::string_view key) { return {Check::Kind::asked, key}; }
// The number itself, or the mean of an estimate.
inline Check at_least(std::string_view key, Bound b) { return {Check::Kind::at_least, key, b}; }
inline Check at_most(std::string_view key, Bound b) { return {Check::Kind::at_most, key, b}; }
// The whole 95 % interval of an estimate: above or below the bound, outside ±bound, inside ±bound. Where there is no
// interval none of them passes.
inline Check above(std::string_view key, Bound b = 0) { return {Check::Kind::above, key, b}; }
inline Check below(std::string_view key, Bound b = 0) { return {Check::Kind::below, key, b}; }
inline Check apart(std::string_view key, double margin = 0) { return {Check::Kind::apart, key, margin}; }
inline Check equal(std::string_view key, double margin) { return {Check::Kind::equal, key, margin}; }

// The verdict where all checks pass; without checks: in every other case.
struct VerdictRule {
  Verdict verdict;
  std::vector<Check> checks;
};
inline VerdictRule otherwise(Verdict v) { return {v, {}}; }

// Throws Error(bug) for a number that the finding does not have.
bool passes(const Check& check, std::span<const FoundNumber> numbers);
// The first rule that applies; null where none does. Every check is looked at, so a number that is missing is told
// wherever the rule stands.
const VerdictRule* applied(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers);
// Its verdict; `differs` where none applies.
Verdict decide(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers);
// A check of an interval; a rule looks at one, so that one seed decides nothing.
inline bool of_interval(const Check& c) { return c.kind >= Check::Kind::above; }
bool needs_seeds(std::span<const VerdictRule> rules);
// Two-sided p value of the first rule that applies: it is below 0.05 exactly where the rule's checks of intervals pass. A
// rule of several is as sure as the least sure of them (intersection-union: Berger 1982). 1 where that rule looks at no interval.
double p_value(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers);
// A rule in words: "holds under its condition" and what its checks ask; without a check, "otherwise wrong".
struct RuleInWords {
  std::string verdict;
  std::vector<std::string> checks;
};
// Names stand for the keys that `numbers` has, and keys for the others.
std::vector<RuleInWords> in_words(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers);
// The same in one line: "wrong if the interval of “a” lies above 0; otherwise open".
std::string explained(std::span<const VerdictRule> rules, std::span<const FoundNumber> numbers);

}  // namespace gnomon::claims
