#include "gnomon/nn/train.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/adamw.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/kernels/pointwise.h"

namespace gnomon {
namespace {

// Another number for arrays that differ in one float; 0 for none.
std::uint64_t fingerprint(std::span<const float> numbers) {
  std::uint64_t sum = 1;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    sum += std::bit_cast<std::uint32_t>(numbers[i]) * std::uint64_t(std::uint32_t(2 * i + 1));
  return sum;
}

}  // namespace

void TrainConfig::check() const {
  const auto within = [](const char* name, double x, double least, double most) {
    if (x >= least && x <= most) return;  // NaN is not
    throw Error(Fault::usage, text("train.", name, ": found ", shortest(x), ", allowed are ", shortest(least),
                                   " to ", shortest(most)));
  };
  within("steps", double(steps), 1, 1e12);
  within("batch", double(batch), 1, 1e6);
  within("shards", double(shards), 1, double(batch));
  if (batch % shards != 0)
    throw Error(Fault::usage,
                text("train.shards: found ", shards, ", allowed are divisors of train.batch, ", batch));
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

Trainer::Trainer(const Architecture& architecture, const TrainConfig& train, std::uint64_t seed, Ranks* ranks)
    : model(architecture),
      session(model),
      config(train),
      w(model.initial(seed)),
      m(w.size()),
      v(w.size()),
      seed_(seed),
      ranks_(ranks && ranks->size() > 1 ? ranks : nullptr),
      own_{0, train.shards},
      sums_(train.shards),
      gradient_(w.size()) {
  config.check();
  if (!ranks_) return;
  if (ranks_->size() > config.shards) {
    throw Error(Fault::usage, text("train.shards: found ", config.shards, "; ", ranks_->size(),
                                   " ranks need at least as many shards"));
  }
  own_ = share_of_rank(config.shards, ranks_->rank(), ranks_->size());
  all_reduce_.emplace(*ranks_, config.shards);
}

void Trainer::share() {
  if (!ranks_) return;
  if (!ranks_->agree(true, 0)) throw Stopped{};
  ranks_->broadcast(std::as_writable_bytes(std::span(&step, 1)));
  for (Floats* numbers : {&w, &m, &v}) ranks_->broadcast(std::as_writable_bytes(std::span(*numbers)));
}

// A part of the batch: its targets count as part of all, its sequences draw what they would draw in the whole.
Tokens Trainer::shard(const Tokens& batch, std::int64_t index) const {
  if (config.shards == 1) return batch;
  const std::int64_t B = batch.B / config.shards, T = batch.T;
  check_extents("model", {{"B", batch.B, 1, kMostTokens}, {"T", T, 1, kMostTokens}});
  check_size("model", "inputs", batch.inputs.size(), batch.B * T);
  check_size("model", "targets", batch.targets.size(), batch.B * T);
  if (!batch.types.empty()) check_size("model", "types", batch.types.size(), batch.B * T);
  if (B * config.shards != batch.B || (batch.placement && batch.placement->rows != 1)) {
    throw Error(Fault::usage, text("train.shards: found a batch of B=", batch.B, " with positions.rows=",
                                   batch.placement ? batch.placement->rows : 1, "; allowed are multiples of ",
                                   config.shards, " sequences, with one row of positions"));
  }
  const auto part = [&](std::span<const std::int32_t> all) {
    return all.empty() ? all : all.subspan(std::size_t(index * B * T), std::size_t(B * T));
  };
  Tokens tokens = batch;
  tokens.B = B, tokens.inputs = part(batch.inputs), tokens.targets = part(batch.targets),
  tokens.types = part(batch.types);
  if (batch.padding) tokens.padding = batch.padding + index * B * T;
  tokens.draw = batch.draw * std::uint64_t(config.shards) + std::uint64_t(index);
  const auto unscored = std::count(batch.targets.begin(), batch.targets.end(), kUnscored);
  tokens.scored = std::max<std::int64_t>(1, batch.B * T - unscored);
  return tokens;
}

// The mean loss over the batch; gradient_ is that of it.
double Trainer::sum_over_shards(const Tokens& batch) {
  sums_.clear();
  sums_.give_back(std::move(gradient_));
  try {
    for (std::int64_t s = own_.first; s < own_.last; ++s) {
      ShardSum sum{{s, s + 1}, 0, sums_.array(w.size())};
      std::fill(sum.gradient.begin(), sum.gradient.end(), 0.0f);
      const Tokens tokens = shard(batch, s);
      losses_.resize(tokens.inputs.size());
      sum.loss = session.loss(tokens, w, losses_, sum.gradient);
      sums_.add(std::move(sum));
    }
  } catch (const Stopped&) {
    if (ranks_) ranks_->agree(false, 0);
    throw;
  }
  if (!ranks_) {
    ShardSum all = sums_.take();
    gradient_ = std::move(all.gradient);
    return all.loss;
  }
  if (!ranks_->agree(true, fingerprint(w))) throw Stopped{};
  gradient_ = sums_.array(w.size());
  return (*all_reduce_)(sums_.sums(), gradient_);
}

double Trainer::train(const Tokens& batch) {
  Tokens tokens = batch;
  tokens.seed = seed_, tokens.draw = std::uint64_t(step), tokens.drop_positions = dropped(),
  tokens.precision = config.precision;
  const double loss = sum_over_shards(tokens);
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
