#include "gnomon/lab/scale.h"

#include <algorithm>
#include <cmath>

#include "gnomon/lab/arm.h"
#include "gnomon/lab/estimate.h"
#include "gnomon/lab/job.h"

namespace gnomon {
namespace {

constexpr double kCores = 2,
                 kForTraining =
                     0.85;  // of the time; the rest is evaluation, and cores without work at the end
constexpr std::int64_t kBatch = 4;

struct Size {
  std::int64_t layers, width;
};
constexpr Size kSizes[] = {{2, 32},  {2, 48},  {2, 64},  {2, 96},  {3, 96}, {3, 128},
                           {4, 128}, {4, 192}, {6, 192}, {6, 256}, {8, 320}};

// The rate that suits a width, in the middle of three a factor 2 apart.
double middle_rate(std::int64_t width) { return std::round(0.008 * 64 / double(width) * 1e4) / 1e4; }

struct Scaled {
  StudyConfig config;
  double minutes, loss;  // what it takes; what is expected
};

// The study with a model of this size, as long as the minutes allow.
Scaled scaled(StudyConfig c, const Size& size) {
  c.model.layers = size.layers, c.model.width = size.width;
  if (!c.model.heads) c.model.heads = std::clamp<std::int64_t>(c.model.width / 16, 1, 8);
  if (!c.train.batch) c.train.batch = kBatch;
  if (c.tuning.rates.empty()) {
    for (const double factor : {0.5, 1.0, 2.0}) c.tuning.rates.push_back(factor * middle_rate(c.model.width));
  }
  const Model model(model_of(c, Spec::parse("none")));
  const double tokens_a_step = double(c.train.batch * c.model.length);
  const double minutes_a_step = model.training_flops_per_token(c.model.length) * tokens_a_step *
                                double(c.arms.size()) * runs_an_arm(c) /
                                (60 * kCores * kForTraining * core_speed(c.model.width));
  if (!c.train.steps) {
    const double steps = c.minutes / minutes_a_step;
    c.train.steps = std::max<std::int64_t>(
        16, std::llround(steps / 16) * 16);  // so that the usual budgets are whole steps
  }
  return {c, minutes_a_step * double(c.train.steps),
          expected_loss(double(model.param_count()), tokens_a_step * double(c.train.steps))};
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
  for (const Size& size : kSizes) {
    const bool layers_fit = !c.model.layers || c.model.layers == size.layers,
               width_fits = !c.model.width || c.model.width == size.width;
    if (layers_fit && width_fits) all.push_back(scaled(c, size));
  }
  if (all.empty())
    all.push_back(scaled(c, {c.model.layers ? c.model.layers : 2, c.model.width ? c.model.width : 64}));
  // Where the steps are given, a size may take longer than there is; then the smallest has to do.
  const double enough = 1.05 * c.minutes;
  const auto better = [&](const Scaled& a, const Scaled& b) {
    const bool a_fits = a.minutes <= enough, b_fits = b.minutes <= enough;
    return a_fits != b_fits ? a_fits : a_fits ? a.loss < b.loss : a.minutes < b.minutes;
  };
  c = std::min_element(all.begin(), all.end(), better)->config;
}

}  // namespace gnomon
