#include "gnomon/study/settings/arm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/study/settings/config.h"

namespace gnomon {
namespace {

constexpr std::array<std::string_view, 3> kWords{"width", "parameters", "flops"};

// The bar that separates; a spec holds none.
constexpr char kBar = '|';

double relative(double found, double wanted) { return std::abs(found - wanted) / wanted; }

std::int64_t parameters(const RunSettings& s, const Spec& spec) {
  return Model(model_of(s, spec)).param_count();
}
double flops_a_token(const RunSettings& s, const Spec& spec) {
  return Model(model_of(s, spec)).training_flops_per_token(s.model.length);
}

[[noreturn]] void unmatched(const Arm& arm, const std::string& why) {
  throw Error(Fault::usage, text("study.arms: '", arm.print(), "': ", why));
}

// Parameters grow evenly with the hidden width, so the one that fits is found by halving an interval.
RunSettings with_parameters(const Arm& arm, RunSettings s, const Spec& baseline) {
  const std::int64_t wanted = parameters(s, baseline);
  const double width = double(s.model.width);
  std::int64_t low = s.model.width, high = 64 * s.model.width;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    s.model.feed_forward = double(middle) / width;
    (parameters(s, arm.spec) > wanted ? high : low) = middle;
  }
  s.model.feed_forward = double(low) / width;
  if (relative(double(parameters(s, arm.spec)), double(wanted)) > 0.01)
    unmatched(arm, text("no hidden width brings it within 1 % of the ", wanted, " parameters of '",
                        baseline.print(), "'"));
  return s;
}

RunSettings with_flops(const Arm& arm, RunSettings s, const Spec& baseline) {
  const double wanted = flops_a_token(s, baseline) * double(s.train.steps), own = flops_a_token(s, arm.spec);
  s.train.steps = std::max<std::int64_t>(1, std::llround(wanted / own));
  if (relative(own * double(s.train.steps), wanted) > 0.02)
    unmatched(arm, text("no number of steps brings it within 2 % of the FLOPs of '", baseline.print(), "'"));
  return s;
}

}  // namespace

Arm::Arm(std::string_view words) : written(words) {
  const auto bar = words.find(kBar);
  spec = Spec::parse(trim(words.substr(0, bar)));
  if (bar == std::string_view::npos) return;
  const std::string_view wanted = trim(words.substr(bar + 1));
  const auto found = std::find(kWords.begin(), kWords.end(), wanted);
  if (found == kWords.end()) throw unknown("match", wanted, kWords);
  match = Match(found - kWords.begin());
}

std::string Arm::print() const {
  return match == Match::width ? spec.print()
                               : text(spec.print(), " ", kBar, " ", kWords[std::size_t(match)]);
}

RunSettings settings_of(const Arm& arm, const RunSettings& s, const Spec& baseline) {
  if (arm.match == Match::width) return s;
  const bool by_parameters = arm.match == Match::parameters;
  RunSettings matched = by_parameters ? with_parameters(arm, s, baseline) : with_flops(arm, s, baseline);
  if (matched.train.steps == s.train.steps &&
      model_of(matched, arm.spec).feed_forward.hidden == model_of(s, arm.spec).feed_forward.hidden)
    unmatched(arm, text("it already has the ", kWords[std::size_t(arm.match)], " of '", baseline.print(),
                        "'; remove '| ", kWords[std::size_t(arm.match)], "'"));
  return matched;
}

}  // namespace gnomon
