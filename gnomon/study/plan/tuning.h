#pragma once
#include <optional>
#include <span>
#include <vector>

#include "gnomon/study/settings/config.h"

namespace gnomon {

// A learning rate that was tried, with the validation losses of its runs (nats a byte); infinite: the run diverged.
struct TriedRate {
  double rate;
  std::vector<double> nats;
  double mean() const;
};

// How far the choice of an arm's rate at one budget has come.
struct Tuned {
  double share = 1;              // of train.steps
  std::vector<TriedRate> tried;  // by rate; some may lack runs
  std::vector<double> open;      // rates of which runs are missing; empty: it is done
  std::optional<double> chosen;
  bool at_edge = false;  // the best is the last that may be tried: a better one may lie beyond
};

// The rule, the same for every arm: the rate with the lowest mean validation loss over the tuning seeds. Where that is the
// lowest or the highest tried, the next one in the same ratio is tried, up to three times each way. `found` holds what has
// been tried, in any order.
Tuned tune(const Tuning& how, std::span<const TriedRate> found);

// Of what was chosen at each of how.budgets, that which a budget of the study follows: the nearest in ratio, the smaller of two.
const Tuned& followed(const std::vector<Tuned>& tuned, double share);

}  // namespace gnomon
