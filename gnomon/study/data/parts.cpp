#include "gnomon/study/data/parts.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/kernels/loss.h"

namespace gnomon {
namespace {

std::int64_t room(const Parts::Part& part, std::int64_t T) {
  return std::max<std::int64_t>(0, part.second - part.first - T);
}

Sample windows_at(std::span<const std::int64_t> starts, std::int64_t T, bool causal, const SymbolAt& symbol,
                  const Random& masks) {
  Sample s{T, {}, {}};
  for (const std::int64_t start : starts) {
    for (std::int64_t t = start; t < start + T; ++t) {
      const bool masked = !causal && masks.uniform(std::uint64_t(t)) < 0.15;
      s.inputs.push_back(masked ? 0 : symbol(t));
      s.targets.push_back(causal ? symbol(t + 1) : masked ? symbol(t) : kUnscored);
    }
  }
  return s;
}

}  // namespace

Parts cut(std::int64_t n, std::int64_t longest) {
  const std::int64_t parts = std::clamp<std::int64_t>(n / 10 / (8 * (longest + 1)), 1, 16),
                     size = n / 10 / parts;
  Parts p;
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t begin = (2 * i + 1) * n / (2 * parts) - size / 2;
    p.training.emplace_back(from, begin);
    p.held_out.push_back({begin, begin + size / 3, begin + size});
    from = begin + size;
  }
  p.training.emplace_back(from, n);
  return p;
}

std::int64_t Parts::training_tokens() const {
  std::int64_t sum = 0;
  for (const auto& [begin, end] : training) sum += end - begin;
  return sum;
}

std::vector<Parts::Part> Parts::held(Held which) const {
  std::vector<Part> all;
  for (const auto& [begin, third, end] : held_out)
    all.emplace_back(which == Held::test ? third : begin, which == Held::validation ? third : end);
  return all;
}

std::int64_t Parts::training_windows(std::int64_t T) const {
  std::int64_t count = 0;
  for (const Part& part : training) count += room(part, T);
  return count;
}

std::int64_t Parts::training_start(std::int64_t T, std::int64_t n) const {
  for (const Part& part : training) {
    if (n < room(part, T)) return part.first + n;
    n -= room(part, T);
  }
  throw Error(Fault::bug, "parts: there is no such training window");
}

std::vector<std::int64_t> Parts::ends(std::int64_t longest, std::int64_t count, Held which) const {
  const std::vector<Part> all = held(which);
  std::int64_t available = 0;
  for (const Part& part : all) available += room(part, longest);
  std::vector<std::int64_t> found;
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t n = (2 * k + 1) * available / (2 * count);
    for (const Part& part : all) {
      if (n < room(part, longest)) {
        found.push_back(part.first + longest + 1 + n);
        break;
      }
      n -= room(part, longest);
    }
  }
  return found;
}

Sample training_windows(const Parts& parts, const SymbolAt& symbol, const StepBatch& b) {
  const Random order(b.seed, "data order");
  const std::int64_t available = parts.training_windows(b.tokens);
  std::vector<std::int64_t> starts;
  for (std::int64_t n = 0; n < b.windows; ++n) {
    const auto which = order.below(std::uint64_t(b.step * b.windows + n), std::uint64_t(available));
    starts.push_back(parts.training_start(b.tokens, std::int64_t(which)));
  }
  return windows_at(starts, b.tokens, b.causal, symbol, Random(order.bits(std::uint64_t(b.step)), "masks"));
}

Sample held_out_windows(const Parts& parts, const SymbolAt& symbol, const Windows& w) {
  std::vector<std::int64_t> starts;
  for (const std::int64_t end : parts.ends(w.reach ? w.reach : w.tokens + 1, w.count, w.held))
    starts.push_back(end - w.tokens - (w.causal ? 1 : 0));
  return windows_at(starts, w.tokens, w.causal, symbol, Random(w.draw, "held-out masks"));
}

}  // namespace gnomon
