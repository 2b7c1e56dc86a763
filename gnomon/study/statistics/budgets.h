#pragma once
#include <optional>
#include <span>
#include <vector>

namespace gnomon {

// The loss that an arm reaches with a budget of compute (FLOPs, or any unit that is the same for all). Curves are budgets in
// any order, two or more, all different and positive; else Error(usage).
struct Budget {
  double compute, loss;
};

// loss = floor + scale · compute^−exponent (Hestness and others 2017, arXiv 1712.00409).
struct PowerLaw {
  double floor, scale, exponent;
  double loss(double compute) const;
  double compute(double loss) const;  // infinite at the floor and below
};
// By least squares: through three budgets exactly. nullopt for fewer than three, and where no exponent in [0.01, 10] is
// best: a curve that does not fall ever slower in the logarithm of compute has no such law. The floor is what fits between
// the budgets, no estimate of what more compute would reach.
std::optional<PowerLaw> power_law(std::span<const Budget> curve);

// How many times the arm's compute the baseline needs for the arm's loss.
struct SpeedUp {
  enum class Bound {
    equal,
    at_least,  // the baseline did not come down to that loss: it needs more than its largest budget
    at_most    // its smallest budget was already better
  };
  double factor;  // 2: the arm needs half of the compute
  Bound bound;
};
// Between its budgets the baseline's loss is `law` where there is one (`power_law(baseline)`), otherwise linear in the
// logarithm of compute; beyond them nothing is assumed. Where the loss rises and falls again, the first budget that reaches
// it counts.
SpeedUp speed_up(std::span<const Budget> baseline, Budget arm, const std::optional<PowerLaw>& law = {});

// The compute at which two curves cross, rising, each linear in the logarithm of compute between its budgets, within the
// range that both have. Curves that touch without changing sides do not cross; where they coincide for a stretch and then
// change sides, its beginning is the crossing.
std::vector<double> crossings(std::span<const Budget> a, std::span<const Budget> b);

}  // namespace gnomon
