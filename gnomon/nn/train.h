#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "gnomon/nn/session.h"
#include "gnomon/nn/shards.h"

namespace gnomon {

// AdamW with linear warm-up, cosine to a final rate, and clipping of the global gradient norm. Weight decay
// acts on matrices only; tables, gains and biases have none.
struct TrainConfig {
  std::int64_t steps = 550, batch = 4;  // optimiser steps; windows a step
  std::int64_t shards = 1;              // of a batch, of equal size; ranks share them (shards.h)
  double learning_rate = 3e-3;
  double warmup = 0.05, final_rate = 0.1;  // share of the steps; share of the learning rate
  // Share of the steps after which the encodings act no more: what is left recalibrates a model without positions
  // (DroPE: Gelberg et al. 2025, https://arxiv.org/abs/2512.12167). 1 = never.
  double drop = 1;
  // Of most products of a step (Tokens::precision); weights, gradients and what AdamW keeps are float32. Whoever evaluates
  // chooses for himself.
  Precision precision = Precision::float32;
  double beta1 = 0.9, beta2 = 0.95, weight_decay = 0.1, clip = 1.0;

  void check() const;                    // throws Error(usage): what was found, what is allowed
  double rate(std::int64_t step) const;  // of the step with this number, from 1
};

// A model's parameters and what AdamW keeps of them. Copies of these arrays and `step` are all that resuming
// needs. Several ranks train one model with the same bits as one process: each has a trainer with the same arguments, and
// the same is called of them.
class Trainer {
 public:
  // Throws Error(usage) for settings that cannot be, and more ranks than shards.
  Trainer(const Architecture& architecture, const TrainConfig& config, std::uint64_t seed,
          Ranks* ranks = nullptr);

  const Model model;
  Session session;
  TrainConfig config;
  Floats w, m, v;
  std::int64_t step = 0;  // steps done

  // On several ranks: everyone goes on from what rank 0 has. Throws Stopped when somebody does not go on.
  void share();
  // One step on a batch; the mean loss in nats before it. NaN, and `not_finite` says of what, when something is not
  // finite: a loss or gradient, which changes nothing but the step count, or a parameter after the step. On several ranks
  // each computes its shards of the batch, which is the same for all, and Stopped is thrown on all or none.
  double train(const Tokens& tokens);
  std::string not_finite;  // "the loss", "the gradient of NAME", "the parameter NAME"; empty: nothing
  // The next step, and any evaluation now, is without positions.
  bool dropped() const { return config.drop < 1 && double(step) >= config.drop * double(config.steps); }

 private:
  double sum_over_shards(const Tokens& batch);
  Tokens shard(const Tokens& batch, std::int64_t index) const;
  // The first parameter whose numbers here, one for each, are not all finite; empty: all are.
  std::string first_not_finite(const Floats& numbers) const;

  std::uint64_t seed_;
  Ranks* ranks_;
  IndexRange own_;  // shards
  ShardTree sums_;
  std::optional<AllReduce> all_reduce_;
  Floats gradient_, losses_;
};

}  // namespace gnomon
