#include "gnomon/study/settings/scale.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/text.h"
#include "gnomon/study/settings/arm.h"

namespace gnomon {
namespace {

constexpr double kCores = 2,
                 kForTraining =
                     0.85;  // of the time; the rest is evaluation, and cores without work at the end
constexpr std::int64_t kBatch = 4, kChannelsAHead = 16, kMostHeads = 8;

struct Size {
  std::int64_t layers, width;
};
constexpr Size kSizes[] = {{2, 32},  {2, 48},  {2, 64},  {2, 96},  {3, 96}, {3, 128},
                           {4, 128}, {4, 192}, {6, 192}, {6, 256}, {8, 320}};

// How many heads a width is surely divided by: those that are set.
std::int64_t heads_set(const StudyModel& m) { return std::max<std::int64_t>({m.heads, m.kv_heads, 1}); }

// Rotations turn pairs, so a head has an even number of channels, and no model has one of fewer than 4 or more than 256.
bool divides(std::int64_t heads, std::int64_t width) {
  return heads <= width / 4 && width / heads <= 256 && width % (2 * heads) == 0;
}

// The sizes of the rule; where one of the two is set, that with every value that the rule has for the other.
std::vector<Size> sizes_to_try(const StudyModel& m) {
  if (m.layers && m.width) return {{m.layers, m.width}};
  std::vector<Size> all;
  std::set<std::int64_t> seen;  // of what is not set
  for (const Size& size : kSizes) {
    const Size tried{m.layers ? m.layers : size.layers, m.width ? m.width : size.width};
    if (!m.width && !divides(heads_set(m), tried.width)) continue;
    if (m.layers && !seen.insert(tried.width).second) continue;
    if (m.width && !seen.insert(tried.layers).second) continue;
    all.push_back(tried);
  }
  if (all.empty())  // a width of its own for this number of heads; what no model has is refused afterwards
    all.push_back({m.layers ? m.layers : 2, kChannelsAHead * std::min<std::int64_t>(heads_set(m), 4096)});
  return all;
}

// One for 16 channels, at most 8, and as many as divide the width and are shared evenly by the heads of keys.
std::int64_t heads_for(const StudyModel& m) {
  const std::int64_t shared = std::max<std::int64_t>(m.kv_heads, 1);
  for (std::int64_t n = std::clamp<std::int64_t>(m.width / kChannelsAHead, 1, kMostHeads); n > 1; --n)
    if (n % shared == 0 && divides(n, m.width)) return n;
  return shared;
}

// The rate that suits a width, in the middle of three a factor 2 apart.
double middle_rate(std::int64_t width) { return std::round(0.008 * 64 / double(width) * 1e4) / 1e4; }

struct Scaled {
  StudyConfig config;
  double minutes_a_step, loss;  // what is expected
  double minutes() const { return minutes_a_step * double(config.train.steps); }
};

// The study with a model of this size, as long as the minutes allow.
Scaled scaled(StudyConfig c, const Size& size) {
  c.model.layers = size.layers, c.model.width = size.width;
  if (!c.model.heads) c.model.heads = heads_for(c.model);
  if (!c.train.batch) c.train.batch = kBatch;
  if (c.tuning.rates.empty()) {
    for (const double factor : {0.5, 1.0, 2.0}) c.tuning.rates.push_back(factor * middle_rate(c.model.width));
  }
  const Model model(model_of(c, Spec::parse("none")));
  const double tokens_a_step = double(c.train.batch * c.model.length);
  const double minutes_a_step = model.training_flops_per_token(c.model.length) * tokens_a_step *
                                double(c.arms.size()) * runs_an_arm(c) /
                                (60 * kCores * kForTraining * core_speed(c.model.width));
  const double steps = c.minutes / minutes_a_step;
  c.train.steps =
      std::max<std::int64_t>(16, std::llround(steps / 16) * 16);  // so that the usual budgets are whole steps
  return {c, minutes_a_step,
          expected_loss(double(model.param_count()), tokens_a_step * double(c.train.steps))};
}

// What was open in `asked`, as it is now, and what it follows from: a sentence each.
std::vector<std::string> derivation(const StudyConfig& asked, const Scaled& found) {
  const StudyConfig& c = found.config;
  const std::string minutes = text("study.minutes = ", shortest(c.minutes));
  std::vector<std::string> said;
  const auto say = [&](bool was_open, const auto&... words) {
    if (was_open) said.push_back(text(words...));
  };
  const bool layers = !asked.model.layers, width = !asked.model.width;
  say(layers || width, layers ? text("model.layers = ", c.model.layers) : "", layers && width ? ", " : "",
      width ? text("model.width = ", c.model.width) : "", ": the lowest expected loss in ", minutes);
  say(!asked.model.heads, "model.heads = ", c.model.heads, ": one per ", kChannelsAHead,
      " channels, at most ", kMostHeads, ", if the width allows");
  say(!asked.train.steps, "train.steps = ", c.train.steps, ": as many steps as this model can do in ",
      minutes);
  say(!asked.train.batch, "train.batch = ", c.train.batch, ": the same for every size");
  std::string rates;
  for (const double rate : c.tuning.rates) rates += (rates.empty() ? "" : ", ") + shortest(rate);
  say(c.tuning.seeds && asked.tuning.rates.empty(), "tune.rates = ", rates,
      ": around the rate that suits width ", c.model.width);
  const std::string takes = shortest(std::stod(fixed(found.minutes(), found.minutes() < 1 ? 2 : 0)));
  say(asked.train.steps && (layers || width), "train.steps = ", c.train.steps,
      " is set, so the study takes about ", takes, takes == "1" ? " minute" : " minutes", " instead of ",
      shortest(c.minutes));
  return said;
}

}  // namespace

double expected_loss(double parameters, double tokens) {
  return 0.734 + 4.86 * std::pow(parameters, -0.219) + 1270 * std::pow(tokens, -0.603);
}

double core_speed(std::int64_t width) {
  return width < 48 ? 50e9 : width < 64 ? 76e9 : width < 96 ? 95e9 : width < 128 ? 110e9 : 125e9;
}

void fill_in_scale(StudyConfig& c) {
  std::vector<Scaled> all;
  for (const Size& size : sizes_to_try(c.model)) all.push_back(scaled(c, size));
  // Long windows can take longer than there is even for the fewest steps; then the smallest has to do.
  const double enough = 1.05 * c.minutes;
  const auto better = [&](const Scaled& a, const Scaled& b) {
    const bool a_fits = a.minutes() <= enough, b_fits = b.minutes() <= enough;
    return a_fits != b_fits ? a_fits : a_fits ? a.loss < b.loss : a.minutes() < b.minutes();
  };
  Scaled found = *std::min_element(all.begin(), all.end(), better);
  if (c.train.steps) found.config.train.steps = c.train.steps;
  found.config.derived = derivation(c, found);
  c = std::move(found.config);
}

}  // namespace gnomon
