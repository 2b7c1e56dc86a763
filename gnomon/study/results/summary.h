#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gnomon/study/plan/study.h"
#include "gnomon/study/statistics/budgets.h"
#include "gnomon/study/statistics/comparisons.h"
#include "gnomon/study/statistics/shares.h"
#include "gnomon/study/statistics/statistics.h"

namespace gnomon {

constexpr double kSolved = 0.9;  // share of right answers from which on a seed has solved a task

// An arm trained with one share of the steps.
struct AtBudget {
  double share;
  std::int64_t tokens;                        // bytes seen by a run
  double flops;                               // of a run's training
  std::vector<RunResult> runs, failed;        // that finished, by seed; that diverged
  Estimate nats, difference;                  // of the held-out loss; to the baseline, paired
  std::optional<Comparison> comparison = {};  // what the difference says; of the baseline itself: nothing
  std::optional<double> rate = {};            // learning rate; nullopt: not chosen yet
  bool at_edge = false;                       // that rate was the last that was tried
};

// One arm over its seeds.
struct ArmSummary {
  std::string arm;
  std::vector<Tuned> rates;       // how its learning rates were chosen, by tune.budgets
  std::vector<RunResult> tuning;  // runs of that
  std::vector<AtBudget> budgets;  // rising; ranked by the last
  struct AtLength {
    double factor;
    std::int64_t tokens;
    std::optional<Estimate> nats, difference;  // nullopt: not defined there
    std::optional<Comparison> comparison;      // at twice the training length
    std::optional<ShareInterval> share;        // of right answers, by the metric
    double mean_share = 0;                     // of the same, over seeds
    std::int64_t solved = 0;                   // seeds with at least kSolved of them
    std::vector<Tally> by_depth;               // over all seeds; empty: answers have no place
  };
  std::vector<AtLength> by_length;    // of the largest budget
  std::optional<Comparison> to_best;  // the difference to the arm with the lowest loss
  std::optional<SpeedUp>
      speed_up;  // in computing, of the better one of this arm and the baseline: below 1 it is the baseline
  double detectable = 0;  // nats that a paired t test over so many seeds finds with 80 % power; NaN: one seed
  double tokens_per_second = 0;        // median over seeds
  std::int64_t peak_memory_bytes = 0;  // largest
  const AtBudget& largest() const { return budgets.back(); }
};
struct StudySummary {
  StudyConfig config;
  std::vector<ArmSummary> arms;  // best first; arms without a finished run last
  std::size_t baseline = 0;
  std::size_t finished = 0, failed = 0, planned = 0;  // runs, those of the tuning too
  double flops = 0, tuning_flops = 0;                 // all training; of it, the choice of rates
  struct Crossing {
    std::string one, other;
    double flops;  // of one training, between two budgets
  };
  std::vector<Crossing> crossings;
  std::optional<ReferenceLosses> reference;
  std::string unit;              // of losses: "nats per byte"
  std::optional<Metric> metric;  // of answers, where there are any
  double chance = 0;
  double trained = 1;  // as Data::trained()
};

// One of several studies, by its name; empty: it is the only one.
struct Told {
  std::string name;
  const StudySummary* summary;
};

StudySummary summarise(const StudyConfig& config, const Data& data, const Found& found);

}  // namespace gnomon
