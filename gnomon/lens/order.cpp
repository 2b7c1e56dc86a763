#include "gnomon/lens/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/kernels/loss.h"

namespace gnomon {
namespace {

std::vector<std::int64_t> permutation(const Random& random, std::uint64_t draw, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t i = n - 1; i > 0; --i) {
    const auto j = random.below(draw * 1000003 + std::uint64_t(i), std::uint64_t(i + 1));
    std::swap(order[std::size_t(i)], order[j]);
  }
  return order;
}

// Throws where `tokens` in each of `draws` orders cannot change places.
void can_move(std::int64_t tokens, std::int64_t draws, std::string_view who) {
  if (tokens >= 2 && draws >= 1) return;
  throw Error(Fault::usage, text(who, ": found ", draws, " orders of ", tokens,
                                 " tokens; allowed are at least 1 order of at least 2 tokens"));
}

// Every window with its tokens t taken from order[t].
Sample rearranged(const Sample& s, const std::vector<std::vector<std::int64_t>>& orders) {
  Sample out = s;
  for (std::int64_t n = 0; n < s.count(); ++n) {
    const auto& order = orders[std::size_t(n) % orders.size()];
    for (std::int64_t t = 0; t < s.T; ++t)
      out.inputs[std::size_t(n * s.T + t)] = s.inputs[std::size_t(n * s.T + order[std::size_t(t)])];
  }
  return out;
}

}  // namespace

double equivariance_error(const Trained& m, const Sample& sample, std::int64_t permutations,
                          std::uint64_t seed) {
  can_move(sample.T, permutations, "equivariance_error");
  const Random random(seed, "permutations");
  const Matrix intact = logits(m, sample);
  double error = 0;
  for (std::int64_t n = 0; n < permutations; ++n) {
    const auto order = permutation(random, std::uint64_t(n), sample.T);
    const Matrix moved = logits(m, rearranged(sample, {order}));
    double difference = 0;
    for (std::int64_t r = 0; r < moved.rows; ++r) {
      const std::int64_t from = r / sample.T * sample.T + order[std::size_t(r % sample.T)];
      for (std::int64_t c = 0; c < moved.columns; ++c)
        difference += std::pow(moved.at(r, c) - intact.at(from, c), 2);
    }
    const double size = squares(intact);
    error +=
        std::sqrt(share(difference, size, size, "equivariance_error: the logits")) / double(permutations);
  }
  return error;
}

double reversal_pooled(const Trained& m, const Sample& sample) {
  can_move(sample.T, 1, "reversal_pooled");
  std::vector<std::int64_t> backwards(static_cast<std::size_t>(sample.T));
  std::iota(backwards.rbegin(), backwards.rend(), std::int64_t{0});
  const Matrix intact = logits(m, sample), moved = logits(m, rearranged(sample, {backwards}));
  double most = 0;
  for (std::int64_t s = 0; s < sample.count(); ++s) {
    const auto a = column_means(intact.block(s * sample.T, sample.T)),
               b = column_means(moved.block(s * sample.T, sample.T));
    double difference = 0, size = 0;
    for (std::size_t c = 0; c < a.size(); ++c)
      difference += (a[c] - b[c]) * (a[c] - b[c]), size += a[c] * a[c];
    most = std::max(most, std::sqrt(share(difference, size, size, "reversal_pooled: the logits")));
  }
  return most;
}

double swap_difference(const Trained& m, const Sample& sample, std::int64_t pairs, std::uint64_t seed) {
  can_move(sample.T - 1, pairs, "swap_difference");
  const Random random(seed, "swaps");
  const Matrix intact = logits(m, sample);
  double most = 0;
  std::int64_t swapped = 0;
  for (std::int64_t n = 0; n < pairs; ++n) {
    std::vector<std::int64_t> order(std::size_t(sample.T));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto a = random.below(std::uint64_t(2 * n), std::uint64_t(sample.T - 1)),
               b = random.below(std::uint64_t(2 * n + 1), std::uint64_t(sample.T - 1));
    if (a == b) continue;
    ++swapped;
    std::swap(order[a], order[b]);
    const Matrix moved = logits(m, rearranged(sample, {order}));
    for (std::int64_t s = 0; s < sample.count(); ++s) {
      const std::int64_t r = s * sample.T + sample.T - 1;
      for (std::int64_t c = 0; c < moved.columns; ++c)
        most = std::max(most, std::abs(moved.at(r, c) - intact.at(r, c)));
    }
  }
  can_move(2, swapped, "swap_difference");
  return most;
}

double shuffle_cost(const Trained& m, const Sample& sample, std::int64_t kept, std::uint64_t seed) {
  can_move(kept < 0 ? 0 : sample.T - kept, 1, "shuffle_cost");
  const Random random(seed, "prefix shuffles");
  Sample last = sample;
  for (std::size_t n = 0; n < last.targets.size(); ++n) {
    if (std::int64_t(n) % sample.T != sample.T - 1) last.targets[n] = kUnscored;
  }
  std::vector<std::vector<std::int64_t>> orders;
  for (std::int64_t s = 0; s < sample.count(); ++s) {
    auto order = permutation(random, std::uint64_t(s), sample.T - kept);
    for (std::int64_t t = sample.T - kept; t < sample.T; ++t) order.push_back(t);
    orders.push_back(std::move(order));
  }
  return mean_loss(m, rearranged(last, orders)) - mean_loss(m, last);
}

ShiftEffect shift_effect(const Trained& m, const Sample& sample, double shift) {
  if (sample.placement || !std::isfinite(shift))
    throw Error(Fault::usage, text("shift_effect: found a shift of ", shift,
                                   sample.placement ? " and a sample with its own positions" : "",
                                   "; allowed is a finite shift of a sample at positions 0 to T-1"));
  const Placement moved = Placement::consecutive(shift, sample.T);
  Sample there = sample;
  there.placement = &moved;
  const Matrix a = logits(m, sample), b = logits(m, there);
  ShiftEffect e{0, mean_loss(m, there) - mean_loss(m, sample)};
  for (std::size_t n = 0; n < a.values.size(); ++n)
    e.largest_logit = std::max(e.largest_logit, std::abs(a.values[n] - b.values[n]));
  return e;
}

}  // namespace gnomon
