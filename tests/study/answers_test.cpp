#include "gnomon/study/data/answers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/sample.h"
#include "gnomon/nn/train.h"

namespace gnomon {
namespace {

struct Pupil {
  const char *task, *spec;
  bool causal;
  std::int64_t layers;
  Lengths lengths;
  TrainConfig how;
  WindowShape windows() const { return {lengths, lengths.most, causal}; }
};
// A small Transformer that was trained on a task, as a study would.
Trainer taught(const Pupil& p) {
  const Task& task = find_task(p.task);
  Architecture a =
      make_block("gpt", {.layers = p.layers, .width = 64, .heads = 4, .length = task.tokens(p.lengths.most)},
                 Spec::parse(p.spec));
  a.causal = p.causal;
  Trainer trainer(a, p.how, 1);
  for (std::int64_t step = 0; step < p.how.steps; ++step) {
    const Examples batch = task_batch(task, p.windows(), p.how.batch, training_stream(1, step));
    trainer.train(batch.tokens(0, batch.count()));
  }
  return trainer;
}
const Pupil kCopier{"copy", "rope", true, 2, {1, 8}, {.steps = 1500, .batch = 32, .learning_rate = 2e-3}};
// Trained for so short a time that it copies some words and others not.
const Pupil kBeginner{"copy", "rope", true, 2, {1, 4}, {.steps = 200, .batch = 32, .learning_rate = 3e-3}};

Examples tests(const Pupil& p, std::int64_t L, std::int64_t windows) {
  WindowShape of = p.windows();
  of.lengths = {L, L};
  return task_batch(find_task(p.task), of, windows, testing_stream(1));
}

TEST(Answers, AreTheLargestLogits) {
  const Task& task = find_task("majority");  // a tie asks for nothing
  const Model model(
      make_block("gpt", {.layers = 1, .width = 16, .heads = 2, .length = 10}, Spec::parse("rope")));
  const Floats w = model.initial(3);
  const Examples s = task_batch(task, training_shape(task, true), 50, testing_stream(4));
  const Answers found = answers({model, w}, s);
  Session session(model);
  std::int64_t right = 0, asked = 0, pairs = 0, whole_pairs = 0;
  std::vector<int> of_window;  // 1 right, 0 wrong, -1 not asked
  for (std::int64_t n = 0; n < s.count(); ++n) {
    Floats logits(std::size_t(10 * kVocabulary));
    session.logits(s.tokens(n, 1), w, logits);
    const std::int32_t target = s.targets[std::size_t(n * 10 + 9)];
    of_window.push_back(-1);
    if (target == kUnscored) continue;
    bool largest = true;
    for (std::int32_t other = 0; other < kVocabulary; ++other)
      largest &= other == target ||
                 logits[std::size_t(9 * kVocabulary + other)] < logits[std::size_t(9 * kVocabulary + target)];
    of_window.back() = largest, right += largest, ++asked;
    EXPECT_EQ(found.right[std::size_t(n * 10 + 9)], largest);
  }
  for (std::size_t n = 0; n < of_window.size(); n += 2) {
    if (of_window[n] < 0 || of_window[n + 1] < 0) continue;
    ++pairs, whole_pairs += of_window[n] && of_window[n + 1];
  }
  EXPECT_LT(asked, 50);
  EXPECT_EQ(found.symbols.asked, asked);
  EXPECT_EQ(found.symbols.right, right);
  EXPECT_EQ(found.whole.asked, asked);
  EXPECT_EQ(found.whole.right, right);
  EXPECT_EQ(found.pairs.asked, pairs);
  EXPECT_EQ(found.pairs.right, whole_pairs);
  EXPECT_EQ(std::count(found.right.begin(), found.right.end(), 1), right);
}

// Exact match by teacher forcing is exact match by greedy decoding, window by window.
TEST(Answers, AreThoseOfGreedyDecoding) {
  const Trainer pupil = taught(kBeginner);
  Session session(pupil.model);
  const std::int64_t L = 4, question = L + 2, answer = L + 1;
  const Examples s = tests(kBeginner, L, 200);
  const Answers forced = answers({pupil.model, pupil.w}, s);
  std::vector<std::int32_t> prompts;
  for (std::int64_t n = 0; n < s.count(); ++n)
    prompts.insert(prompts.end(), s.inputs.begin() + n * s.T, s.inputs.begin() + n * s.T + question);
  const auto written = sample(session, pupil.w, {s.count(), question, prompts, {}}, {.count = answer});
  std::int64_t whole = 0;
  for (std::int64_t n = 0; n < s.count(); ++n) {
    const auto said = written.begin() + n * answer, asked = s.targets.begin() + n * s.T + question - 1;
    const auto met = forced.right.begin() + n * s.T + question - 1;
    const bool all = std::count(met, met + answer, 1) == answer;
    EXPECT_EQ(std::equal(said, said + answer, asked), all) << n;
    whole += all;
  }
  EXPECT_EQ(forced.whole.right, whole);
  EXPECT_TRUE(whole > 20 && whole < 180) << whole << ": the test needs windows of both kinds";
}

TEST(Answers, AreCountedByDepth) {
  const Task& task = find_task("needle");
  for (const bool causal : {true, false}) {
    const Examples s = task_batch(task, testing_shape(task, 60, causal), 500, testing_stream(1));
    Answers a;
    a.right.assign(s.targets.size(), 1);
    // Right where the key starts in the first half, and one digit is wrong elsewhere.
    const std::int64_t asks = causal ? 66 : 67;  // the place of the first answer
    std::int64_t early = 0;
    for (std::int64_t n = 0; n < s.count(); ++n) {
      const auto first = s.inputs.begin() + n * s.T;
      const std::int64_t key = std::find(first, first + s.T, '#') - first + 1;
      a.right[std::size_t(n * s.T + asks + 2)] = 2 * key < asks;
      early += 2 * key < asks;
    }
    const auto counts = by_depth(a, s, 2);
    EXPECT_EQ(counts[0].right, early);
    EXPECT_EQ(counts[0].asked, early);
    EXPECT_EQ(counts[1].right, 0);
    EXPECT_EQ(counts[1].asked, 500 - early);
    EXPECT_NEAR(double(early), 250, 60);
    const auto fine = by_depth(a, s, 10);
    EXPECT_EQ(fine[0].share(), 1);
    EXPECT_EQ(fine[9].share(), 0);
    a.right.pop_back();
    EXPECT_THROW(by_depth(a, s, 2), Error);
  }
  const Examples sums =
      task_batch(find_task("addition"), training_shape(find_task("addition"), true), 5, testing_stream(1));
  Answers a;
  a.right.resize(sums.targets.size());
  EXPECT_TRUE(std::isnan(by_depth(a, sums, 1)[0].share())) << "a sum is read from no one place";
  EXPECT_THROW(by_depth(a, sums, 0), Error);
}

TEST(Answers, AreCountedByDistance) {
  const Task& task = find_task("dyck");
  const Examples s = task_batch(task, testing_shape(task, 40, true), 50, testing_stream(1));
  Answers a;
  std::vector<Tally> expected(40);
  for (std::size_t n = 0; n < s.targets.size(); ++n) {
    a.right.push_back(n % 3 == 0);
    if (s.targets[n] == kUnscored) continue;
    // The distance again: brackets back to the one that was opened and not closed since.
    std::int64_t open = 0, back = 0;
    for (; open < 1; ++back) {
      const std::int32_t bracket = s.inputs[n - std::size_t(back)];
      open += bracket == '(' || bracket == '[' ? 1 : -1;
    }
    expected[std::size_t(back - 1)].add(n % 3 == 0);
  }
  const auto found = by_distance(a, s);
  ASSERT_EQ(found.size(), expected.size());
  std::int64_t far = 0;
  for (std::size_t r = 0; r < found.size(); ++r) {
    EXPECT_EQ(found[r].asked, expected[r].asked) << r;
    EXPECT_EQ(found[r].right, expected[r].right) << r;
    far += r > 8 ? found[r].asked : 0;
  }
  EXPECT_EQ(found[0].asked, 0);
  EXPECT_GT(far, 20);
  a.right.pop_back();
  EXPECT_THROW(by_distance(a, s), Error);
}

TEST(Answers, CopyingIsLearnt) {
  const Trainer pupil = taught(kCopier);
  for (const std::int64_t L : {1, 4, 8}) {
    const Answers a = answers({pupil.model, pupil.w}, tests(kCopier, L, 200));
    EXPECT_GT(a.share(Metric::whole), .95) << L;
  }
  const Model& untaught = pupil.model;
  EXPECT_LT(answers({untaught, untaught.initial(1)}, tests(kCopier, 4, 200)).share(Metric::whole), .05);
}

// Who does not see the order says the same to both windows of a pair: one half of the answers is right, and no pair.
TEST(Answers, OrderNeedsPositions) {
  const TrainConfig how{.steps = 300, .batch = 64, .learning_rate = 3e-3};
  const auto learnt = [&](const char* spec, bool causal, std::int64_t layers) {
    const Pupil p{"order", spec, causal, layers, {3, 3}, how};
    const Trainer pupil = taught(p);
    return answers({pupil.model, pupil.w}, tests(p, 3, 400));
  };
  for (const Answers& blind : {learnt("none", true, 1), learnt("none", false, 2)}) {
    EXPECT_EQ(blind.symbols.share(), .5);
    EXPECT_EQ(blind.share(Metric::pairs), 0);
  }
  for (const Answers& seeing : {learnt("rope", true, 1), learnt("rope", false, 2), learnt("none", true, 2)})
    EXPECT_GT(seeing.share(Metric::pairs), .95);
}

}  // namespace
}  // namespace gnomon
