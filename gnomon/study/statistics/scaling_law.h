#pragma once
#include <optional>
#include <span>
#include <vector>

#include "gnomon/study/statistics/statistics.h"

namespace gnomon {

// What an arm has at one size and after one budget: a loss by seed, or the difference of two arms by seed.
struct Reached {
  double parameters, tokens;    // of the model; that training has read
  std::vector<double> by_seed;  // seed 1 first; nats
  double mean() const;
};

// loss = floor + of_size·N^−a + of_data·D^−b (Hoffmann and others 2022, arXiv 2203.15556, equation 2), no term negative.
struct ScalingLaw {
  double floor, of_size, size_exponent, of_data, data_exponent;
  double loss(double parameters, double tokens) const;
};
// By least squares of the relative errors of means over seeds. nullopt for fewer points than the law has numbers and one more,
// for fewer than three sizes, and where a loss is not positive.
std::optional<ScalingLaw> scaling_law(std::span<const Reached> points);

// A model that nobody has trained yet.
struct Elsewhere {
  double parameters, tokens;
  int seeds;  // that will be trained: the mean over them is predicted
};
// The loss there by the law through `points`. Its 95 % interval has three sources: other seeds (jackknife over seeds, each left
// out at all points), what the law misses (root mean square of residuals, for the numbers that the law has), and the deviation
// of a seed at the last point. Freedom: that of the seeds. nullopt where there is no law, or fewer than two seeds.
std::optional<Estimate> predicted_loss(std::span<const Reached> points, const Elsewhere& at);
// The same of an arm less the baseline, whose points are at the same place of the list and whose model may have another number
// of parameters.
std::optional<Estimate> predicted_difference(std::span<const Reached> arm, const Elsewhere& at,
                                             std::span<const Reached> baseline, const Elsewhere& baseline_at);

// How differences change, in nats for ten times as much: a straight line for each seed, then Student's t over seeds.
struct Slopes {
  Estimate compute;  // parameters times tokens, all points together
  Estimate size;     // parameters, at equal tokens a parameter (to the nearest power of two)
};
// Of the points that have seed n, for each n. nullopt for fewer than two seeds, and where no two points differ.
std::optional<Slopes> slopes(std::span<const Reached> differences);

}  // namespace gnomon
