#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/lab/desk.h"
#include "gnomon/lab/statistics.h"

namespace gnomon::claims {

enum class Verdict {
  holds,
  conditional,   // holds with a condition, which the answer names
  wrong,         // the answer gives the correction
  undecided,     // not decidable at this scale: the interval says why
  no_inference,  // a quick run of something that needs seeds
  unmeasurable,  // the text lacks what the measurement needs: the answer says what
  differs        // a number did not come out: the answer cannot be given
};
std::string_view name(Verdict v);  // "holds", "holds with a condition", ...

// A number that was found, with what it should be.
struct Number {
  std::string name;
  double value;
  double half_width = std::nan("");  // of a 95 % t interval
  std::int64_t n = 1;                // seeds, draws or cases behind it
  int digits = 4;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool asked() const {
    return low > -std::numeric_limits<double>::infinity() || high < std::numeric_limits<double>::infinity();
  }
  bool fits() const { return !asked() || (value >= low && value <= high); }
};

// What a measurement found.
struct Finding {
  Verdict verdict = Verdict::differs;
  std::string answer;  // one or two sentences
  std::vector<Number> numbers;
  std::string figures;  // what report::draw() returned

  void number(std::string name, double value, int digits = 4) {
    numbers.push_back({std::move(name), value, std::nan(""), 1, digits});
  }
  void near(std::string name, double value, double expected, double tolerance, int digits = 4);
  void between(std::string name, double value, double low, double high, int digits = 4);
  void estimate(std::string name, const Estimate& e, int digits = 4);
  bool fits() const;  // every number that was asked for something
  // The verdict is `v` if every number fits.
  void conclude(Verdict v, std::string sentences);
};

// The questions that people ask, in the order of the page.
struct Question {
  std::string_view key, title;
  std::string_view lead;    // the claim that is shown first
  std::string_view answer;  // two sentences; {ID|number} is replaced by that number as found
};
std::span<const Question> questions();

// One statement or question of the texts.
struct Claim {
  std::string_view id;                                    // text and number: "000-01"
  std::string_view question;                              // key of the question it belongs to
  std::string_view says;                                  // the claim, in our words
  std::string_view method;                                // how it is measured
  std::string_view expects;                               // what must come out, and why
  std::string_view advice;                                // what a user should do about it
  Verdict expected;                                       // recorded
  bool statistical = false;                               // it needs seeds: a quick run gives no verdict
  std::vector<Recipe> (*recipes)(const Desk&) = nullptr;  // the models it needs
  Finding (*measure)(Desk&) = nullptr;
};
std::span<const Claim* const> all_claims();  // in the order of list.def
// Those named by ids ("000-05"), texts ("000") or "all". Throws Error(usage).
std::vector<const Claim*> select_claims(std::span<const std::string> names);

// --- Rules for statistical verdicts, on a 95 % t interval of a difference (negative = the first is lower).
enum class Sign { below, above, open };
Sign sign(const Estimate& e);                   // does the interval exclude 0?
bool within(const Estimate& e, double margin);  // the whole interval lies within ±margin: equivalent

}  // namespace gnomon::claims
