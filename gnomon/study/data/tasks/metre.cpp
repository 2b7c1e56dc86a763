// At every letter the one that came most often before on its beat, in a metre of eight: 8, 16, 24, ... places before. Each beat has a
// favourite, which stands there 37 times of 100. A tie has no answer, and three letters have to be there. A code with a period
// of eight gives all of them the same weight; buckets of distance that widen hold other beats, too. Who names the letter eight
// places before is right in half.
#include <algorithm>
#include <array>

#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

constexpr std::int64_t kBeats = 8, kLetters = 26, kFirst = 3 * kBeats;

std::vector<TaskWindow> write_metre(Draws& draws, std::int64_t L) {
  TaskWindow w;
  std::array<std::int64_t, kBeats> favourite{};
  for (auto& letter : favourite) letter = draws.below(kLetters);
  std::array<std::array<std::int64_t, kLetters>, kBeats> counts{}, last{};
  for (std::int64_t t = 0; t < L; ++t) {
    const auto beat = std::size_t(t % kBeats);
    auto& count = counts[beat];
    const auto letter = draws.below(100) < 35 ? favourite[beat] : draws.below(kLetters);
    w.give(std::int32_t('a' + letter));
    const auto most = std::max_element(count.begin(), count.end());
    const std::int64_t named = most - count.begin();
    if (t >= kFirst && std::count(count.begin(), count.end(), *most) == 1)
      w.label(std::int32_t('a' + named), last[beat][std::size_t(named)]);
    ++count[std::size_t(letter)], last[beat][std::size_t(letter)] = t;
  }
  return {w};
}

}  // namespace

std::span<const Task> metre_tasks() {
  static const std::vector<Task> all{{.name = "metre",
                                      .asks = "at each letter, name the most frequent one of its beat before",
                                      .isolates = "attention to all multiples of one distance",
                                      .format = "x1..xL in a metre of eight, with answers where one is ahead",
                                      .symbols = "a to z",
                                      .payload = "letters",
                                      .form = AnswerForm::labelled,
                                      .metric = Metric::symbols,
                                      .chance = 1. / 26,
                                      .allowed = {2 * kFirst, 4096},
                                      .trained = {64, 64},
                                      .tests = {64, 128},
                                      .per_symbol = 1,
                                      .others = 0,
                                      .draws = 16384,
                                      .write = write_metre}};
  return all;
}

}  // namespace gnomon
