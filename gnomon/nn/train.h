#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "gnomon/nn/session.h"

namespace gnomon {

// AdamW with linear warm-up, cosine to a final rate, and clipping of the global gradient norm. Weight decay
// acts on matrices only; tables, gains and biases have none.
struct TrainConfig {
  std::int64_t steps = 550, batch = 4;  // optimiser steps; windows a step
  double learning_rate = 3e-3;
  double warmup = 0.05, final_rate = 0.1;  // share of the steps; share of the learning rate
  // Share of the steps after which the encodings act no more: what is left recalibrates a model without positions
  // (DroPE: Gelberg et al. 2025, https://arxiv.org/abs/2512.12167). 1 = never.
  double drop = 1;
  double beta1 = 0.9, beta2 = 0.95, weight_decay = 0.1, clip = 1.0;

  void check() const;                    // throws Error(usage): what was found, what is allowed
  double rate(std::int64_t step) const;  // of the step with this number, from 1
};

// A model's parameters and what AdamW keeps of them. Copies of these arrays and `step` are all that resuming
// needs.
class Trainer {
 public:
  Trainer(const Architecture& architecture, const TrainConfig& config, std::uint64_t seed);

  const Model model;
  Session session;
  TrainConfig config;
  Floats w, m, v;
  std::int64_t step = 0;  // steps done

  // One step on a batch; the mean loss in nats before it. NaN, and `not_finite` says of what, when something is not
  // finite: a loss or gradient, which changes nothing but the step count, or a parameter after the step.
  double train(const Tokens& tokens);
  std::string not_finite;  // "the loss", "the gradient of NAME", "the parameter NAME"; empty: nothing
  // The next step, and any evaluation now, is without positions.
  bool dropped() const { return config.drop < 1 && double(step) >= config.drop * double(config.steps); }

 private:
  // The first parameter whose numbers here, one for each, are not all finite; empty: all are.
  std::string first_not_finite(const Floats& numbers) const;

  std::uint64_t seed_;
  Floats gradient_, losses_;
};

}  // namespace gnomon
