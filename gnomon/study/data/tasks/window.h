#pragma once
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/kernels/loss.h"
#include "gnomon/study/data/task.h"

namespace gnomon {

// Symbols that mean the same in every task. 0 is what an encoder reads in the place of an answer.
inline constexpr std::int32_t kHidden = 0, kBegin = '^', kSeparator = '|', kEnd = '.', kAsk = '?',
                              kPadding = '_';
// Symbols beyond ASCII, where 52 letters are not enough.
inline constexpr std::int32_t kBeyond = 128, kBeyondCount = 128;

// The random numbers of one example, one after the other.
class Draws {
 public:
  Draws(const Random& random, std::uint64_t first) : random_(random), next_(first) {}
  std::int64_t below(std::int64_t limit) {
    return std::int64_t(random_.below(next_++, std::uint64_t(limit)));
  }
  bool coin() { return below(2) == 1; }
  // `count` different ones of 0..limit−1, in random order (Fisher, Yates).
  std::vector<std::int64_t> different(std::int64_t count, std::int64_t limit) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(limit));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    for (std::int64_t n = 0; n < count; ++n)
      std::swap(all[std::size_t(n)], all[std::size_t(n + below(limit - n))]);
    all.resize(std::size_t(count));
    return all;
  }

 private:
  const Random& random_;
  std::uint64_t next_;
};

// A window while it is written. Its answers are labels of symbols, or symbols themselves.
struct TaskWindow {
  std::vector<std::int32_t> symbols;
  std::vector<std::int32_t> labels;   // of each symbol, or kUnscored
  std::vector<bool> answers;          // of each symbol: it has to be found
  std::vector<std::int32_t> sources;  // of each label or answer: where it is read from, or kNowhere

  std::int64_t size() const { return std::int64_t(symbols.size()); }  // and the place of the next symbol
  void give(std::int32_t symbol) { add(symbol, false, kNowhere); }
  void give(std::string_view all) {
    for (const char c : all) give(c);
  }
  void answer(std::int32_t symbol, std::int64_t source = kNowhere) { add(symbol, true, source); }
  // What has to be said at the last symbol.
  void label(std::int32_t symbol, std::int64_t source = kNowhere) {
    labels.back() = symbol, sources.back() = std::int32_t(source);
  }

 private:
  void add(std::int32_t symbol, bool is_answer, std::int64_t source) {
    symbols.push_back(symbol), labels.push_back(kUnscored), answers.push_back(is_answer);
    sources.push_back(std::int32_t(source));
  }
};

}  // namespace gnomon
