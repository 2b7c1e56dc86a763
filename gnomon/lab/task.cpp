#include "gnomon/lab/task.h"

#include <algorithm>
#include <array>

#include "gnomon/core/error.h"
#include "gnomon/kernels/loss.h"

namespace gnomon {
namespace {

constexpr std::int32_t kNames = 'A', kNameCount = 16, kVerbs = 'v', kAsk = '?';

// Two different numbers below `limit`, the second shifted past the first.
std::pair<std::int32_t, std::int32_t> two(const Random& r, std::uint64_t draw, std::int32_t limit) {
  const auto a = std::int32_t(r.below(4 * draw, std::uint64_t(limit)));
  const auto b = std::int32_t(r.below(4 * draw + 1, std::uint64_t(limit - 1)));
  return {a, b + (b >= a)};
}

void push(Sample& s, std::initializer_list<std::int32_t> tokens, std::int32_t answer) {
  s.inputs.insert(s.inputs.end(), tokens);
  s.targets.insert(s.targets.end(), tokens.size() - 1, kUnscored);
  s.targets.push_back(answer);
}

void order(Sample& s, const Random& r, std::uint64_t n) {
  const auto [a, b] = two(r, n, kNameCount);
  const auto verb = std::int32_t(kVerbs + std::int32_t(r.below(4 * n + 2, 4)));
  push(s, {kNames + a, verb, kNames + b, kAsk}, kNames + a);
  push(s, {kNames + b, verb, kNames + a, kAsk}, kNames + b);
}

void binding(Sample& s, const Random& r, std::uint64_t n) {
  const auto [a, b] = two(r, n, 8);
  const std::int32_t oranges = 'o', bananas = 'b', asked = r.below(4 * n + 2, 2) ? oranges : bananas;
  push(s, {'1' + a, oranges, '1' + b, bananas, asked}, '1' + (asked == oranges ? a : b));
  push(s, {'1' + b, oranges, '1' + a, bananas, asked}, '1' + (asked == oranges ? b : a));
}

void majority(Sample& s, const Random& r, std::uint64_t n) {
  std::array<std::int64_t, 3> count{};
  for (std::uint64_t k = 0; k < 9; ++k) ++count[r.below(16 * n + k, 3)];
  const auto most = std::max_element(count.begin(), count.end());
  std::size_t winners = 0;
  for (const auto c : count) winners += c == *most;
  for (std::uint64_t k = 0; k < 9; ++k) s.inputs.push_back('a' + std::int32_t(r.below(16 * n + k, 3)));
  s.inputs.push_back(kAsk);
  s.targets.insert(s.targets.end(), 9, kUnscored);
  s.targets.push_back(winners == 1 ? 'a' + std::int32_t(most - count.begin())
                                   : kUnscored);  // a tie has no answer
}

void earlier(Sample& s, const Random& r, std::uint64_t n, std::int64_t offset) {
  const std::size_t start = s.inputs.size();
  for (std::int64_t t = 0; t < s.T; ++t) {
    s.inputs.push_back('a' + std::int32_t(r.below(n * 4096 + std::uint64_t(t), 26)));
    s.targets.push_back(t < offset ? kUnscored : s.inputs[start + std::size_t(t - offset)]);
  }
}

}  // namespace

std::int64_t task_length(std::string_view task) {
  if (task == "order") return 4;
  if (task == "binding") return 5;
  if (task == "majority") return 10;
  if (task == "previous" || task == "lengths" || task == "offset8") return 0;
  throw Error(Fault::bug, text("no task '", task, "'"));
}

Sample make_task(std::string_view task, std::int64_t T, std::int64_t windows, const Random& random) {
  const std::int64_t own = task_length(task);
  Sample s{own ? own : T, {}, {}};
  while (s.count() < windows) {
    const auto n = std::uint64_t(s.count());
    if (task == "order") order(s, random, n);
    if (task == "binding") binding(s, random, n);
    if (task == "majority") majority(s, random, n);
    if (task == "previous" || task == "lengths") earlier(s, random, n, 1);
    if (task == "offset8") earlier(s, random, n, 8);
  }
  return s;
}

}  // namespace gnomon
