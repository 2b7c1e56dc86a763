#include "gnomon/nn/train.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/adamw.h"
#include "gnomon/kernels/pointwise.h"

namespace gnomon {

void TrainConfig::check() const {
  const auto within = [](const char* name, double x, double least, double most) {
    if (x >= least && x <= most) return;  // NaN is not
    throw Error(Fault::usage, text("train.", name, ": found ", shortest(x), ", allowed are ", shortest(least),
                                   " to ", shortest(most)));
  };
  within("steps", double(steps), 1, 1e12);
  within("batch", double(batch), 1, 1e6);
  within("learning_rate", learning_rate, 1e-12, 1e3);
  within("warmup", warmup, 0, 1);
  within("final_rate", final_rate, 0, 1);
  within("drop", drop, 0, 1);
  within("beta1", beta1, 0, 1 - 1e-9);
  within("beta2", beta2, 0, 1 - 1e-9);
  within("weight_decay", weight_decay, 0, 100);
  within("clip", clip, 1e-9, 1e9);
}

double TrainConfig::rate(std::int64_t t) const {
  const double ramp = std::max(1.0, std::round(warmup * double(steps)));
  if (double(t) <= ramp) return learning_rate * double(t) / ramp;
  const double done = (double(t) - ramp) / std::max(1.0, double(steps) - ramp);
  return learning_rate * (final_rate + (1 - final_rate) * 0.5 * (1 + std::cos(std::numbers::pi * done)));
}

Trainer::Trainer(const Architecture& architecture, const TrainConfig& train, std::uint64_t seed)
    : model(architecture),
      session(model),
      config(train),
      w(model.initial(seed)),
      m(w.size()),
      v(w.size()),
      seed_(seed),
      gradient_(w.size()) {
  config.check();
}

double Trainer::train(const Tokens& batch) {
  Tokens tokens = batch;
  tokens.seed = seed_, tokens.draw = std::uint64_t(step), tokens.drop_positions = dropped();
  std::fill(gradient_.begin(), gradient_.end(), 0.0f);
  losses_.resize(tokens.inputs.size());
  const double loss = session.loss(tokens, w, losses_, gradient_);
  const double norm = std::sqrt(sum_of_squares(model.param_count(), gradient_.data()));
  ++step;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  not_finite.clear();
  if (!std::isfinite(loss)) {
    not_finite = "the loss";
  } else if (!std::isfinite(norm)) {
    const std::string name = first_not_finite(gradient_);
    not_finite = name.empty() ? "the norm of the gradient" : "the gradient of " + name;
  }
  if (!not_finite.empty()) return kNan;
  AdamW update{.rate = config.rate(step),
               .beta1 = config.beta1,
               .beta2 = config.beta2,
               .t = step,
               .gradient = std::min(1.0, config.clip / std::max(norm, 1e-12))};
  // Neighbours with the same decay are one range.
  const auto params = model.params();
  for (std::size_t first = 0; first < params.size();) {
    std::size_t last = first;
    while (last + 1 < params.size() && params[last + 1].spec.decay == params[first].spec.decay) ++last;
    const std::int64_t begin = params[first].offset, end = params[last].offset + params[last].spec.size();
    update.decay = params[first].spec.decay ? config.weight_decay : 0;
    adamw(update, end - begin, &gradient_[begin], &w[begin], &m[begin], &v[begin]);
    first = last + 1;
  }
  if (all_finite(model.param_count(), w.data())) return loss;
  not_finite = "the parameter " + first_not_finite(w);
  return kNan;
}

std::string Trainer::first_not_finite(const Floats& numbers) const {
  for (const auto& p : model.params()) {
    if (!all_finite(p.spec.size(), &numbers[p.offset])) return p.spec.name;
  }
  return "";
}

}  // namespace gnomon
