// Two things of the same kind, and which of them is meant: the symbols alone do not say.
//
//   order     A verb B ?          who acts: A. "Tom bit a dog", with letters for the nouns
//   binding   3 o 4 b o           how many o: 3. Three oranges and four bananas
//
// Both orders of the same symbols follow each other, with different answers: whoever does not see the order says the same to
// both, and has one half of the answers right and none of the pairs.
#include "gnomon/study/data/tasks/window.h"

namespace gnomon {
namespace {

constexpr std::int64_t kNames = 16, kVerbs = 4, kNumbers = 8;

// Two different numbers below `limit`, the second shifted past the first.
std::pair<std::int32_t, std::int32_t> two(Draws& draws, std::int64_t limit) {
  const auto a = std::int32_t(draws.below(limit)), b = std::int32_t(draws.below(limit - 1));
  return {a, b + (b >= a)};
}

std::vector<TaskWindow> write_order(Draws& draws, std::int64_t) {
  const auto [a, b] = two(draws, kNames);
  const auto verb = std::int32_t('v' + draws.below(kVerbs));
  std::vector<TaskWindow> pair;
  for (const auto& [who, whom] : {std::pair(a, b), std::pair(b, a)}) {
    TaskWindow& w = pair.emplace_back();
    w.give('A' + who), w.give(verb), w.give('A' + whom), w.give(kAsk);
    w.label('A' + who, 0);
  }
  return pair;
}

std::vector<TaskWindow> write_binding(Draws& draws, std::int64_t) {
  const auto [a, b] = two(draws, kNumbers);
  const bool oranges = draws.coin();
  std::vector<TaskWindow> pair;
  for (const auto& [first, second] : {std::pair(a, b), std::pair(b, a)}) {
    TaskWindow& w = pair.emplace_back();
    w.give('1' + first), w.give('o'), w.give('1' + second), w.give('b'), w.give(oranges ? 'o' : 'b');
    w.label('1' + (oranges ? first : second), oranges ? 0 : 2);
  }
  return pair;
}

}  // namespace

std::span<const Task> order_tasks() {
  static const std::vector<Task> all{
      {.name = "order",
       .asks = "name the one who bites in \"A bites B\"",
       .isolates = "some knowledge of order",
       .format = "A verb B ?",
       .symbols = "16 names, A to P",
       .payload = "words",
       .seen = "all of them, because only 960 windows exist",
       .form = AnswerForm::labelled,
       .metric = Metric::pairs,
       .chance = .25,
       .allowed = {3, 3},
       .trained = {3, 3},
       .tests = {3},
       .per_symbol = 1,
       .others = 1,
       .draws = 4,
       .write = write_order},
      {.name = "binding",
       .asks = "name the number of bananas in \"3 oranges, 4 bananas\"",
       .isolates = "knowledge of which neighbour belongs to a word",
       .format = "3 o 4 b, then o or b",
       .symbols = "the numbers 1 to 8",
       .payload = "numbers and fruits",
       .seen = "all of them, because only 112 windows exist",
       .form = AnswerForm::labelled,
       .metric = Metric::pairs,
       .chance = .25,
       .allowed = {4, 4},
       .trained = {4, 4},
       .tests = {4},
       .per_symbol = 1,
       .others = 1,
       .draws = 4,
       .write = write_binding},
  };
  return all;
}

}  // namespace gnomon
