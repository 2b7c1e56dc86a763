// What a study may learn from beside the bytes of a text: byte-pair symbols, ids of a file, lines, tasks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/study/conduct.h"
#include "gnomon/study/data/corpus.h"
#include "gnomon/study/data/data.h"
#include "gnomon/study/data/symbol_text.h"
#include "gnomon/study/data/task_data.h"

namespace gnomon {
namespace {

class Source : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / text("gnomon-data-", getpid());
    std::filesystem::create_directories(folder_);
    const Random random(1, "words");
    for (std::uint64_t i = 0; words_.size() < 60000; ++i)
      words_ += random.below(i, 3) ? "the cat sat. " : "a dog ran far. ";
    write_file(folder_ / "text.txt", words_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  StudyConfig config(const std::string& data) const {
    StudyConfig c;
    c.text_path = (folder_ / "text.txt").string(), c.data = data;
    c.arms = {"none", "rope"}, c.seeds = 2, c.budgets = {1}, c.tuning.seeds = 0, c.workers = 1;
    c.model.layers = 1, c.model.width = 16, c.model.heads = 2, c.model.length = 16;
    c.train.steps = 40, c.train.batch = 4, c.score = 8, c.windows = 16, c.points = 2;
    return c;
  }
  // A study from its settings to what it found.
  StudySummary performed(StudyConfig c, const std::string& name) const {
    settle(c);
    const StudyFolder folder{folder_ / name};
    make_folders(folder.folder);
    write_file(folder.config(), print_toml(c));
    join(folder, {}, {[] { return false; }, [](const RunProgress&) {}, [](const std::string&) {}},
         [](const RunResult&) {});
    const Opened study = open_study(folder);
    return summarise(study.config, *study.data, study.found);
  }
  std::string why(const StudyConfig& given) const {
    try {
      StudyConfig c = given;
      settle(c);
      open_data(c);
    } catch (const Error& e) {
      return e.what();
    }
    return "fine";
  }
  Path folder_;
  std::string words_;
};

TEST_F(Source, SymbolsAreCutAsTheBytesAreAndLossesAreByTheByte) {
  const Corpus corpus(folder_ / "text.txt", 33);
  const SymbolText symbols(corpus, 270, 33);
  EXPECT_EQ(symbols.vocabulary(), 270);
  const Windows w{16, 8, Held::test, true, 0, 33};
  const Sample held = symbols.held_out(w);
  double bytes = 0;
  for (const std::int32_t target : held.targets) bytes += symbols.bytes(target);
  EXPECT_GT(bytes, 2.0 * double(held.targets.size()));  // symbols of two bytes and more
  EXPECT_EQ(SymbolText(corpus, 270, 33).print(), symbols.print());
  EXPECT_NE(SymbolText(corpus, 271, 33).print(), symbols.print());
  EXPECT_NE(symbols.print(), corpus.print());
  // A model that says all symbols alike loses ln(270) a symbol, and by the byte as much less as a symbol has bytes.
  StudyConfig c = config("symbols");
  c.model.vocabulary = 270, c.lengths = {1, 2}, c.train.steps = 1, c.train.learning_rate = 1e-9;
  const StudySummary s = performed(c, "untrained");
  EXPECT_NEAR(s.arms[0].largest().nats.mean, std::log(270.0) * double(held.targets.size()) / bytes, 0.25);
  EXPECT_EQ(s.unit, "nats per byte");
  ASSERT_TRUE(s.reference);
}

// Text decides what is known of it: pairs are more than letters, and counted by hand on a text of two letters.
TEST_F(Source, ReferenceLossesAreThoseOfCounting) {
  const Corpus corpus(folder_ / "text.txt", 65);
  const ReferenceLosses r = *corpus.reference();
  EXPECT_LT(r.pairs, r.letters);
  std::string alternating;
  while (alternating.size() < 40000) alternating += "ab";
  write_file(folder_ / "ab.txt", alternating);
  const ReferenceLosses ab = *Corpus(folder_ / "ab.txt", 65).reference();
  EXPECT_NEAR(ab.letters, std::log(2.0), 1e-2);
  EXPECT_NEAR(ab.pairs, 0, 1e-3);
}

TEST_F(Source, IdsOfAFileAreData) {
  std::string bytes;
  for (std::size_t i = 0; i < 30000; ++i) bytes += {char(i * i % 7), char(1)};  // 256 to 260
  write_file(folder_ / "ids.bin", bytes);
  StudyConfig c = config("ids16");
  c.text_path = (folder_ / "ids.bin").string(), c.model.vocabulary = 261;
  const StudySummary s = performed(c, "ids");
  EXPECT_EQ(s.unit, "nats per token");
  EXPECT_LT(s.arms[0].largest().nats.mean, std::log(261.0));
  c.model.vocabulary = 260;
  EXPECT_NE(why(c).find("260"), std::string::npos) << why(c);
  c.model.vocabulary = 261, c.model.causal = false;
  EXPECT_NE(why(c).find("masks with 0"), std::string::npos) << why(c);
  c = config("ids16"), c.text_path = (folder_ / "ids.bin").string(), c.model.vocabulary = 263,
  c.model.length = 4000;
  EXPECT_NE(why(c).find("the file has 30000 tokens; windows of"), std::string::npos) << why(c);
}

TEST_F(Source, LinesAreHeldToWholeAnswers) {
  std::string lines;
  for (int i = 0; i < 400; ++i) lines += text("say ", i, "\t", i % 2 ? "odd" : "even", "\n");
  write_file(folder_ / "lines.txt", lines);
  StudyConfig c = config("lines");
  c.text_path = (folder_ / "lines.txt").string();
  const StudySummary s = performed(c, "lines");
  ASSERT_TRUE(s.metric);
  EXPECT_EQ(*s.metric, Metric::whole);
  ASSERT_EQ(s.arms[0].by_length.size(), 1u);
  EXPECT_TRUE(s.arms[0].by_length[0].share);
  write_file(folder_ / "lines.txt", "no tab here\n" + lines);
  EXPECT_NE(why(c).find("line 1"), std::string::npos) << why(c);
}

TEST_F(Source, TasksMakeTheirWindowsAndAreHeldToAnswersByLength) {
  StudyConfig c = config("copy");
  c.text_path = "not looked at";
  const StudySummary s = performed(c, "copy");
  EXPECT_EQ(s.config.text_path, "");
  EXPECT_EQ(s.config.model.length, find_task("copy").tokens(find_task("copy").trained.most));
  const auto& tests = find_task("copy").tests;
  for (const ArmSummary& a : s.arms) {
    ASSERT_EQ(a.by_length.size(), tests.size());
    for (std::size_t l = 0; l < tests.size(); ++l) {
      EXPECT_EQ(a.by_length[l].factor, double(tests[l]));
      ASSERT_TRUE(a.by_length[l].share);
    }
  }
  EXPECT_NE(why(config("coppy")).find("did you mean 'copy'?"), std::string::npos);
}

TEST_F(Source, WhatChoosesRatesAndWhatTellsResultsAreOtherExamples) {
  const TaskData task(find_task("copy"), true);
  const auto windows = [&](Held held) {
    std::set<std::vector<std::int32_t>> all;
    const Sample s = task.held_out({43, 200, held, true, 0, 0});
    for (std::int64_t n = 0; n < s.count(); ++n)
      all.emplace(s.inputs.begin() + n * s.T, s.inputs.begin() + (n + 1) * s.T);
    return all;
  };
  const auto validation = windows(Held::validation), test = windows(Held::test);
  std::size_t shared = 0;
  for (const auto& w : test) shared += validation.count(w);
  EXPECT_LT(double(shared), 0.2 * double(test.size()));  // only the shortest can meet by chance
  EXPECT_EQ(windows(Held::test), test);
}

}  // namespace
}  // namespace gnomon
