#include "gnomon/study/settings/prediction.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/files/sha256.h"

namespace gnomon {
namespace {

constexpr std::array<std::string_view, 5> kMeasures{"loss", "growth", "right", "symbols", "previous"};
constexpr double kLongest = 1e6;  // unmeasurable() says more

[[noreturn]] void refuse(std::string_view key, const std::string& found, std::string_view allowed) {
  throw Error(Fault::usage, text("prediction.", key, ": found ", found, ", ", allowed));
}

void check_words(std::string_view key, const std::string& words) {
  if (!is_one_line(words))
    refuse(key, excerpt(words), "allowed is one line in UTF-8 without control characters");
}

void check_number(std::string_view key, const std::optional<double>& x, double least, double most) {
  if (x && !(*x >= least && *x <= most))  // NaN is not
    refuse(key, shortest(*x), text("allowed are ", shortest(least), " to ", shortest(most)));
}

}  // namespace

std::span<const std::string_view> measure_names() { return kMeasures; }

std::vector<Field> fields(Prediction& p) {
  return {
      {"prediction.says", "the expected result, in one sentence", &p.says},
      {"prediction.from", "the source of the expectation; optional", &p.from},
      {"prediction.measure",
       "loss, or growth: loss at `length` minus loss at the training length. For a task: right (share of "
       "right answers) or symbols (share of right symbols). previous: attention weight on the previous "
       "token if queries and keys are 0",
       &p.measure},
      {"prediction.arm", "the arm to measure", &p.arm},
      {"prediction.minus", "an arm whose value is subtracted; optional", &p.minus},
      {"prediction.length",
       "one of evaluate.lengths: the loss of the last bytes of such windows. Without it: the loss of whole "
       "training windows. For a task: symbols of its payload",
       &p.length},
      {"prediction.budget", "one of study.budgets: after this share of the training; without it, after all",
       &p.budget},
      {"prediction.above", "expected to lie above this, in nats per byte or as a share", &p.above},
      {"prediction.below", "expected to lie below this", &p.below},
      {"prediction.within", "expected to differ from 0 by at most this", &p.within},
      {"prediction.exactly", "the expected share, the same in every run to the last bit", &p.exactly},
      {"prediction.after", "written by gnomon: how many runs had finished when this prediction was added",
       &p.after},
  };
}

void Prediction::check() const {
  check_words("says", says), check_words("from", from);
  if (says.empty()) refuse("says", "nothing", "a sentence is needed");
  if (std::find(kMeasures.begin(), kMeasures.end(), measure) == kMeasures.end())
    throw unknown("prediction.measure", measure, kMeasures);
  if (!arm) refuse("arm", "nothing", "the spec of an arm is needed");
  if (minus == arm) refuse("minus", minus->written, "which is the arm itself; give another arm");
  check_number("length", length, 1e-6, kLongest);
  check_number("budget", budget, 1e-9, 1);
  check_number("above", above, -1e3, 1e3);
  check_number("below", below, -1e3, 1e3);
  check_number("within", within, 1e-9, 1e3);
  if (length && budget)
    refuse("budget", shortest(*budget), "but a length is measured only after the whole training");
  if (is_growth() && (!length || *length == 1))
    refuse("length", length ? "1" : "nothing", "growth needs a length other than 1");
  check_number("exactly", exactly, 0, 1);
  if (!above && !below && !within && !exactly)
    refuse("above", "no bound", "needed is above, below, both, within, or exactly");
  if (exactly && (above || below || within))
    refuse("exactly", shortest(*exactly), "but exactly allows no other bound");
  if (exactly && (!is_share() || minus))
    refuse("exactly", shortest(*exactly), "exactly is only for right or symbols, without minus");
  if (budget && (is_share() || is_weight()))
    refuse("budget", shortest(*budget), text("but ", measure, " is measured only after the whole training"));
  if (is_weight() && minus) refuse("minus", minus->written, "but the measure previous allows no minus");
  if (within && (above || below)) refuse("within", shortest(*within), "but within allows no other bound");
  if (above && below && *above >= *below)
    refuse("above", shortest(*above), text("it must be less than below = ", shortest(*below)));
  if (within && !is_growth() && !minus)
    refuse("within", shortest(*within), "within is only for growth or with minus; give above and below");
  if (after && *after < 1) refuse("after", text(*after), "allowed are 1 and more");
}

bool Prediction::same(const Prediction& other) const { return fingerprint({*this}) == fingerprint({other}); }

std::string measured_text(const Prediction& p) {
  if (p.is_weight()) return "weight on the previous token, " + p.arm->print();
  std::string out = p.is_share() ? p.measure : "loss";
  if (p.length) out += text(" at ", shortest(*p.length), p.is_share() ? "" : "×");
  if (p.budget) out += text(" after ", shortest(*p.budget), " of the steps");
  if (p.is_growth()) out += " minus loss at 1×";
  out += ", " + p.arm->print();
  return p.minus ? text(out, " − ", p.minus->print()) : out;
}

std::string bound_text(const Prediction& p) {
  if (p.within) return "within ±" + shortest(*p.within);
  if (p.exactly) return "exactly " + shortest(*p.exactly);
  const std::string above = p.above ? "above " + shortest(*p.above) : "",
                    below = p.below ? "below " + shortest(*p.below) : "";
  return above + (p.above && p.below ? " and " : "") + below;
}

std::string fingerprint(const std::vector<Prediction>& predictions) {
  std::string printed;
  for (Prediction p : predictions) {
    p.after.reset();
    printed += print_table("prediction", fields(p));
  }
  return sha256(printed).substr(0, 16);
}

}  // namespace gnomon
