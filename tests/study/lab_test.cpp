// Corpus, configuration; runs that stop, resume to the same bits, and meet damage.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/safetensors.h"
#include "gnomon/nn/numerics.h"
#include "gnomon/study/data/corpus.h"
#include "gnomon/study/data/task_data.h"
#include "gnomon/study/plan/estimate.h"
#include "gnomon/study/results/results.h"
#include "gnomon/study/results/store.h"
#include "gnomon/study/results/summary.h"

namespace gnomon {
namespace {

class Lab : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / text("gnomon-lab-", getpid());
    std::filesystem::create_directories(folder_);
    std::string words;
    const Random random(1, "words");
    for (std::uint64_t i = 0; words.size() < 20000; ++i)
      words += random.below(i, 3) ? "the cat sat. " : "a dog ran far. ";
    write_file(text_path(), words);
    config_.text_path = text_path().string();
    config_.model.layers = 1, config_.model.width = 16, config_.model.heads = 2, config_.model.length = 16;
    config_.train.steps = 30, config_.train.batch = 2;
    config_.score = 8, config_.windows = 8, config_.points = 5, config_.seeds = 2;
    config_.arms = {"sinusoidal", "learned", "t5"}, config_.baseline = "sinusoidal";
    config_.budgets = {1}, config_.tuning.seeds = 0;
  }
  Trial trial(const char* arm) const { return {arm, 1, config_.train.steps, config_.train.learning_rate}; }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Path text_path() const { return folder_ / "text.txt"; }
  Corpus corpus() const { return Corpus(text_path(), config_.longest() + 1); }
  RunHooks quiet(std::function<bool()> stop = [] { return false; }) {
    return {std::move(stop), [](const RunProgress&) {},
            [this](const std::string& n) { notes_.push_back(n); }};
  }
  std::optional<RunResult> perform_run(const RunPlan& plan, const Corpus& c, const RunFolder& folder,
                                       const RunHooks& hooks) const {
    return perform(job_of(config_, c, plan), plan, folder, hooks);
  }
  // What is fixed to the bit: everything but the cost.
  static std::string bits(RunResult r) {
    r.cost = {};
    return result_json(r);
  }
  Path folder_;
  StudyConfig config_;
  std::vector<std::string> notes_;
};

TEST_F(Lab, TheCorpusKeepsHeldOutBytesOutOfTraining) {
  const Corpus c = corpus();
  const std::int64_t T = 16, longest = config_.longest();
  EXPECT_NEAR(double(c.parts().training_tokens()) / double(c.content().size()), 0.9, 0.01);
  std::set<std::int64_t> held;
  for (const auto end : c.parts().ends(longest, 50, Held::all)) {
    for (std::int64_t at = end - longest - 1; at < end; ++at) held.insert(at);
  }
  for (std::int64_t n = 0; n < c.parts().training_windows(T); n += 7) {
    const std::int64_t start = c.parts().training_start(T, n);
    for (std::int64_t at = start; at <= start + T; ++at) ASSERT_EQ(held.count(at), 0u);
  }
}

TEST_F(Lab, TextsThatCannotBeAreRefusedWithTheirPlace) {
  const auto why = [&](const std::string& content, std::int64_t longest = 64) {
    write_file(folder_ / "bad.txt", content);
    try {
      Corpus c(folder_ / "bad.txt", longest);
      return c.notes().empty() ? std::string("fine") : c.notes().front();
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input);
      return std::string(e.what());
    }
  };
  const auto letters = [](std::size_t n) {
    std::string s;
    for (std::size_t i = 0; i < n; ++i) s += "xyz"[i % 3];
    return s;
  };
  const std::string good = letters(2000);
  EXPECT_EQ(why(good), "fine");
  EXPECT_NE(why("").find("0 bytes; windows of 64 tokens need at least 1980"), std::string::npos);
  EXPECT_NE(why("x").find("1 bytes"), std::string::npos);
  EXPECT_NE(why(letters(1979)).find("need at least 1980"), std::string::npos);
  EXPECT_EQ(why(letters(1980)), "fine");
  EXPECT_NE(why("ab\ncd\xff" + good).find("byte 5 (line 2, byte 3 of it): found 0xFF"), std::string::npos);
  EXPECT_NE(why(std::string("a\0b", 3) + good).find("byte 1 (line 1, byte 2 of it): found a NUL"),
            std::string::npos);
  EXPECT_NE(why("a\r\nb\r\n" + good).find("2 Windows line ends"), std::string::npos);
  EXPECT_THROW(Corpus(folder_ / "none.txt", 64), Error);
}

TEST_F(Lab, TheSmallestTextTrains) {
  write_file(text_path(), std::string(std::size_t(Corpus::least_bytes(config_.longest() + 1)), 'y'));
  const Corpus c = corpus();
  const auto plan = plan_runs(config_, c, {});
  EXPECT_TRUE(perform_run(plan[0], c, {folder_ / "r"}, quiet()).has_value());
}

TEST_F(Lab, ConfigurationRoundTripsAndWrongKeysAreAnswered) {
  set(config_, "study.arms=none, concat(sinusoidal, width=8), rope");
  set(config_, "train.learning_rate=0.002");
  EXPECT_EQ(config_.arms.size(), 3u);
  EXPECT_EQ(config_.arms[1].written, "concat(sinusoidal, width=8)");
  write_file(folder_ / "s.toml", print_toml(config_));
  StudyConfig again;
  read_toml(again, folder_ / "s.toml");
  EXPECT_EQ(print_toml(again), print_toml(config_));

  const auto why = [&](const std::string& toml) {
    write_file(folder_ / "s.toml", toml);
    try {
      StudyConfig c;
      c.text_path = "text.txt";
      read_toml(c, folder_ / "s.toml");
      settle(c);
      return std::string("fine");
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::usage);
      return std::string(e.what());
    }
  };
  EXPECT_NE(why("[train]\nstep = 3\n").find("line 2: unknown key 'train.step': did you mean 'train.steps'?"),
            std::string::npos)
      << why("[train]\nstep = 3\n");
  EXPECT_NE(why("[trian]\nsteps = 3\n").find("did you mean 'train.steps'?"), std::string::npos);
  EXPECT_NE(why("[train]\nsteps = \"many\"\n").find("line 2: train.steps must be a whole number"),
            std::string::npos);
  EXPECT_NE(why("[train\n").find("line 1"), std::string::npos);
  EXPECT_NE(why("[study]\nseeds = 0\n").find("study.seeds: found 0"), std::string::npos);
  EXPECT_NE(why("[train]\nlearning_rate = nan\n").find("learning_rate: found nan"), std::string::npos);
  EXPECT_NE(why("[model]\nheads = -1\n").find("model.heads: found -1"), std::string::npos);
  EXPECT_NE(why("[model]\nwidth = 64\nheads = 3\n").find("not divisible"), std::string::npos);
  EXPECT_NE(why("[model]\nlength = 1\n").find("length"), std::string::npos);
  EXPECT_NE(why("[study]\nbaseline = \"cope\"\n").find("unknown"), std::string::npos);
  EXPECT_NE(why("[study]\narms = [\"rope\", \"rope(theta=10000)\"]\nbaseline=\"rope\"\n").find("there twice"),
            std::string::npos);
  EXPECT_NE(why("[study]\nbudgets = [1, 0.5]\n").find("0.5 after 1, the list must rise"), std::string::npos);
  EXPECT_NE(why("[study]\nbudgets = [0.5]\n").find("found 0.5 at the end, the last must be 1"),
            std::string::npos);
  EXPECT_NE(why("[tune]\nrates = [0.1]\n").find("tuning needs at least two"), std::string::npos);
  EXPECT_NE(why("[study]\narms = [\"rope | flop\"]\n").find("did you mean 'flops'?"), std::string::npos);
  EXPECT_NE(why("[study]\narms = [\"sinusoidal\", \"rope | parameters\"]\n")
                .find("it already has the parameters of 'sinusoidal'; remove '| parameters'"),
            std::string::npos);
  EXPECT_NE(why("[evaluate]\nlengths = [2, 4]\n").find("1, the training length"), std::string::npos);
}

TEST_F(Lab, TheKeyOfARunIsOfWhatItsResultDependsOn) {
  const Corpus c = corpus();
  const auto keys = [&](const StudyConfig& config) {
    std::vector<std::string> all;
    for (const auto& run : plan_runs(config, c, {})) all.push_back(run.key);
    return all;
  };
  const auto before = keys(config_);
  EXPECT_EQ(std::set<std::string>(before.begin(), before.end()).size(), 6u);
  StudyConfig other = config_;
  other.seeds = 1, other.workers = 7, other.baseline = "t5", other.checkpoint_seconds = 1;
  EXPECT_EQ(keys(other), std::vector<std::string>(before.begin(), before.begin() + 3));
  other.threads = 2;  // other sums in products
  EXPECT_NE(keys(other)[0], before[0]);
  other.threads = 1;
  other.train.learning_rate *= 2;
  EXPECT_NE(keys(other)[0], before[0]);
}

// Runs of before there was another precision keep their keys.
TEST_F(Lab, TheUsualPrecisionIsInNoKey) {
  const Corpus c = corpus();
  Job job = job_of(config_, c, trial("rope"));
  EXPECT_EQ(job.print().find("precision"), std::string::npos) << job.print();
  EXPECT_EQ(plan_of(job, 1).numerics, numerics(1));
  set(config_, "train.precision=bfloat16");
  job = job_of(config_, c, trial("rope"));
  EXPECT_NE(job.print().find("precision = \"bfloat16\""), std::string::npos) << job.print();
  EXPECT_EQ(plan_of(job, 1).numerics, numerics(1, Precision::bfloat16));
  EXPECT_NE(plan_of(job, 1).numerics, numerics(1));
  EXPECT_NE(print_toml(config_).find("precision = \"bfloat16\""), std::string::npos);
}

TEST_F(Lab, EveryPartOfAJobIsInItsKey) {
  const Corpus c = corpus();
  const Job job = job_of(config_, c, trial("rope"));
  std::set<std::string> prints{job.print()};
  const auto with = [&](const auto& change) {
    Job other = job;
    change(other);
    EXPECT_TRUE(prints.insert(other.print()).second) << other.print();
  };
  with([](Job& j) { j.held = Held::all; });
  with([](Job& j) { j.spec = Spec::parse("rope(theta=500)"); });
  with([](Job& j) { j.seed = 2; });
  with([](Job& j) { j.data = &claim_task("order"); });
  with([](Job& j) { j.data = &claim_task("binding"); });
  with([](Job& j) { j.fixed = Fixed::words; });
  with([](Job& j) { j.fixed = Fixed::feed_forward; });
  with([](Job& j) { j.model.layers = 2; });
  with([](Job& j) { j.train.steps = 31; });
  with([](Job& j) { j.train.precision = Precision::bfloat16; });
  with([](Job& j) { j.windows = 9; });
  with([](Job& j) { j.keep.windows = 9; });
  with([](Job& j) { j.keep.start = true; });
  with([](Job& j) { j.keep.snapshots = true; });
  with([](Job& j) { j.keep.reach = 40; });
  Job without = job;
  without.data = nullptr;
  EXPECT_THROW(without.print(), Error);
}

// Stopped in the middle of passes, of steps, points of the curve and evaluations alike, and continued, a run ends in the bits
// of one that never stopped. Each session may ask a little more often than the one before, so that an evaluation ends.
TEST_F(Lab, ResumedRunsEndInTheSameBits) {
  const Corpus c = corpus();
  for (const auto& plan : plan_runs(config_, c, {})) {
    const auto whole = perform_run(plan, c, {folder_ / "whole" / plan.key}, quiet());
    ASSERT_TRUE(whole && whole->failure.empty());
    std::optional<RunResult> pieces;
    int sessions = 0;
    for (; !pieces; ++sessions) {
      int asked = 5 + 9 * sessions;
      pieces = perform_run(plan, c, {folder_ / "pieces" / plan.key}, quiet([&] { return asked-- <= 0; }));
    }
    EXPECT_GT(sessions, 4);
    EXPECT_EQ(bits(*pieces), bits(*whole));
    EXPECT_EQ(bits(result_from_json(RunFolder{folder_ / "pieces" / plan.key}.result())), bits(*whole));
  }
  EXPECT_TRUE(notes_.empty());
}

TEST_F(Lab, ADamagedCheckpointFallsBackToTheOneBefore) {
  const Corpus c = corpus();
  const RunPlan plan = plan_runs(config_, c, {})[0];
  const RunFolder folder{folder_ / "run"};
  const auto stop_after = [&](int steps) {
    perform_run(plan, c, folder, quiet([steps]() mutable { return steps-- == 0; }));
  };
  stop_after(10);
  stop_after(10);
  ASSERT_TRUE(std::filesystem::exists(folder.previous()));
  std::string bytes = read_file(folder.checkpoint());
  bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
  write_file(folder.checkpoint(), bytes);
  const auto result = perform_run(plan, c, folder, quiet());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("does not match its checksum"), std::string::npos);
  EXPECT_EQ(bits(*result), bits(*perform_run(plan, c, {folder_ / "clean"}, quiet())));
}

// Decay times rate far above 2 multiplies the weights by a large negative number every step: they overflow.
TEST_F(Lab, ALossThatIsNotFiniteFailsTheRunAndIsKept) {
  const Corpus c = corpus();
  config_.train.learning_rate = 1000, config_.train.weight_decay = 100, config_.train.warmup = 0;
  const auto plan = plan_runs(config_, c, {});
  const RunFolder folder{folder_ / "nan"};
  const auto result = perform_run(plan[0], c, folder, quiet());
  ASSERT_TRUE(result);
  EXPECT_NE(result->failure.find("not finite at step"), std::string::npos);
  EXPECT_EQ(result_from_json(folder.result()).failure, result->failure);  // shown, not rolled again
  const auto summary = summarise(config_, c, {{plan[0].key, *result}});
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_NE(results_csv(summary).find("not finite at step"), std::string::npos);
}

// Sixteen numbers of a parameter in the checkpoint of a run, with either sign, so that their mean is 0.
void overwrite(const RunFolder& folder, const std::string& parameter, std::int64_t from, float value) {
  TensorFile file = read_safetensors(folder.checkpoint(), Digest::required);
  const Tensor& t = file.at("model." + parameter, folder.checkpoint());
  const std::int64_t offset = t.data.data() - file.numbers.data();
  for (std::int64_t n = 0; n < 16; ++n) file.numbers[offset + from + n] = n % 2 ? -value : value;
  file.metadata.erase("gnomon.sha256");
  write_safetensors(folder.checkpoint(), file.tensors, file.metadata);
}

// A model may be well in training and not where it is held to account: the run fails, says where, and is kept.
TEST_F(Lab, AHeldOutLossThatIsNotFiniteFailsTheRunAndIsKept) {
  struct Given {
    const char *arm, *parameter;
    std::int64_t from;
    float value;
    const char* failure;
    std::size_t points;
  };
  const Corpus plain = corpus();
  std::string words = read_file(text_path());
  const std::int64_t own = config_.model.length + 1;  // which the validation windows are of
  for (const auto& ends : {plain.parts().ends(own, config_.windows, Held::validation),
                           plain.parts().ends(config_.longest(), config_.windows, Held::test)}) {
    for (const auto end : ends) words[std::size_t(end) - 5] = 'Z';
  }
  write_file(text_path(), words);
  const Corpus c = corpus();
  for (const Given& given :
       {Given{"none", "embed.word", 'Z' * 16, 1e30f, "the held-out loss was not finite at step 12", 1},
        Given{"index", "position.input.direction", 0, 1e17f,
              "the held-out loss over windows of 64 tokens was not finite after step 30", 5},
        Given{"none", "embed.word", 'a' * 16, 1e30f, "the loss was not finite at step 11", 1},
        Given{"none", "embed.word", 'Q' * 16, NAN, "the parameter embed.word was not finite at step 11",
              1}}) {
    config_.arms = {given.arm}, config_.baseline = given.arm;
    const auto plan = plan_runs(config_, c, {});
    const RunFolder folder{folder_ / given.failure};
    int asked = 34;  // before the eleventh step: 3 times a step, 4 times for the point of the curve at step 6
    ASSERT_FALSE(perform_run(plan[0], c, folder, quiet([&] { return asked-- == 0; })));
    overwrite(folder, given.parameter, given.from, given.value);
    const auto result = perform_run(plan[0], c, folder, quiet());
    ASSERT_TRUE(result);
    EXPECT_EQ(result->failure, given.failure);
    EXPECT_EQ(result->curve.size(), given.points);
    EXPECT_FALSE(std::filesystem::exists(folder.model()));
    EXPECT_EQ(bits(result_from_json(folder.result())), bits(*result));
  }
}

TEST_F(Lab, ALearnedTableIsNotDefinedBeyondItsLength) {
  const Corpus c = corpus();
  const RunPlan plan = plan_runs(config_, c, {})[1];
  ASSERT_EQ(plan.arm, "learned");
  const auto result = perform_run(plan, c, {folder_ / "l"}, quiet());
  ASSERT_EQ(result->by_length.size(), 4u);
  EXPECT_TRUE(result->by_length[0].nats.has_value());
  for (int l = 1; l < 4; ++l) EXPECT_FALSE(result->by_length[std::size_t(l)].nats.has_value());
}

TEST_F(Lab, AnEncoderFillsInMaskedBytes) {
  config_.model.causal = false;
  config_.arms = {"none", "learned"};
  config_.baseline = "none";
  config_.check();
  const Corpus c = corpus();
  const Sample w = held_out(job_of(config_, c, trial("none")), 16, 2, Held::test);
  int masked = 0;
  for (std::size_t i = 0; i < w.inputs.size(); ++i) {
    EXPECT_EQ(w.inputs[i] == 0, w.targets[i] >= 0);
    masked += w.inputs[i] == 0;
  }
  EXPECT_GT(masked, 0);
  const auto result = perform_run(plan_runs(config_, c, {})[0], c, {folder_ / "e"}, quiet());
  EXPECT_TRUE(std::isfinite(result->nats));
  EXPECT_LT(result->nats, std::log(256.0));
}

TEST_F(Lab, ABlockIsAChoiceOfTheStudy) {
  set(config_, "model.block=llama"), set(config_, "model.kv_heads=1");
  config_.check();
  Architecture a = model_of(config_, Spec::parse("rope"));
  EXPECT_TRUE(a.norm.form == NormForm::rms && a.feed_forward.gated() && a.biases == kNoBiases && a.causal);
  EXPECT_EQ(a.attention.kv_heads, 1);
  EXPECT_EQ(a.feed_forward.hidden, 48);  // 2/3 of 64, rounded up to 8
  set(config_, "model.norm=layer");
  EXPECT_EQ(model_of(config_, Spec::parse("rope")).norm.form, NormForm::layer);
  write_file(folder_ / "s.toml", print_toml(config_));
  StudyConfig again;
  read_toml(again, folder_ / "s.toml");
  EXPECT_EQ(print_toml(again), print_toml(config_));
  EXPECT_FALSE(again.model.causal.has_value());

  const Corpus c = corpus();
  std::set<std::string> keys;
  for (const char* block : {"gpt", "llama", "bert"}) {
    StudyConfig one = config_;
    one.model.norm = "block", one.model.kv_heads = 0, one.model.block = block;
    one.check();
    EXPECT_EQ(one.model.is_causal(), std::string(block) != "bert");
    const RunPlan plan = plan_runs(one, c, {})[0];
    EXPECT_TRUE(keys.insert(plan.key).second) << block;
    const auto result = perform(job_of(one, c, plan), plan, {folder_ / block}, quiet());
    EXPECT_TRUE(std::isfinite(result->nats)) << block;
    EXPECT_LT(result->nats, std::log(256.0)) << block;
  }
  const auto why = [&](const char* assignment) {
    StudyConfig one = config_;
    try {
      set(one, assignment), one.check();
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::usage);
      return std::string(e.what());
    }
    return std::string("fine");
  };
  EXPECT_NE(why("model.block=lama").find("did you mean 'llama'? Allowed: gpt, llama, bert"),
            std::string::npos);
  EXPECT_EQ(why("train.precision=bf16"), "unknown train.precision 'bf16'. Allowed: float32, bfloat16");
  EXPECT_NE(why("model.norm=rmsnorm").find("block, layer, rms"), std::string::npos);
  EXPECT_NE(
      why("study.arms=sinusoidal, rope_learned").find("arm 'rope_learned': model: 'rope_learned' maps k in"),
      std::string::npos);
}

TEST_F(Lab, NothingThatHappensToTheStoreStopsAStudy) {
  const Corpus c = corpus();
  const RunResult result = *perform_run(plan_runs(config_, c, {})[0], c, {folder_ / "s"}, quiet());
  const Path path = folder_ / "study.sqlite";
  const auto rows = [&] { return std::filesystem::file_size(path); };
  EXPECT_EQ(put_in_store(path, result), std::nullopt);
  const auto size = rows();
  EXPECT_GT(size, 4096u);
  EXPECT_EQ(put_in_store(path, result), std::nullopt);  // again: replaced, not doubled
  EXPECT_EQ(rows(), size);
  write_file(path, "x");  // no database
  EXPECT_EQ(put_in_store(path, result), std::nullopt);
  std::string bytes = read_file(path);
  for (std::size_t at = 100; at < bytes.size(); at += 7) bytes[at] = char(bytes[at] ^ 0x55);
  write_file(path, bytes);
  EXPECT_EQ(write_store(path, std::span(&result, 1)), std::nullopt);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  const auto problem = put_in_store(path, result);
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("is not up to date"), std::string::npos) << *problem;
}

TEST_F(Lab, AResultOfAnotherRunIsRefused) {
  const Corpus c = corpus();
  const auto plan = plan_runs(config_, c, {});
  const RunFolder folder{folder_ / "r"};
  perform_run(plan[0], c, folder, quiet());
  EXPECT_EQ(result_of(plan[0], folder).plan.key, plan[0].key);
  RunPlan other = plan[0];
  other.seed = 7;
  EXPECT_THROW(result_of(other, folder), Error);
  other = plan[0], other.arm = "rope";
  EXPECT_THROW(result_of(other, folder), Error);
  EXPECT_THROW(result_of(plan[1], folder), Error);
}

TEST_F(Lab, WhatAnotherStudyLeftIsSeen) {
  const Corpus c = corpus();
  const auto plan = plan_runs(config_, c, {});
  const StudyFolder folder{folder_ / "study"};
  Found found;
  for (const auto& run : plan) found.emplace(run.key, *perform_run(run, c, folder.run(run), quiet()));
  write_file(folder.json(), results_json(summarise(config_, c, found)));
  const auto left = [&](const StudyConfig& config) { return leftovers(config, c, folder); };
  EXPECT_TRUE(left(config_).lost.empty());
  EXPECT_EQ(left(config_).other_numerics, 0u);
  StudyConfig more = config_, fewer = config_, elsewhere = config_;
  more.seeds = 3, more.arms.push_back("rope");
  EXPECT_TRUE(left(more).lost.empty());
  fewer.arms.pop_back();
  EXPECT_EQ(left(fewer).lost, (std::vector<std::string>{"t5, seed 1", "t5, seed 2"}));
  fewer = config_, fewer.seeds = 1;
  EXPECT_EQ(left(fewer).lost.size(), 3u);
  elsewhere.threads = 2;  // other numerics of the same study
  EXPECT_TRUE(left(elsewhere).lost.empty());
  EXPECT_EQ(left(elsewhere).other_numerics, plan.size());
  EXPECT_EQ(left(elsewhere).found, plan[0].numerics);
  elsewhere = config_, elsewhere.windows = 9;
  EXPECT_EQ(left(elsewhere).lost.size(), plan.size());
  EXPECT_EQ(left(elsewhere).other_numerics, 0u);
}

TEST_F(Lab, MoreMemoryThanThereIsIsRefusedBeforeAnythingIsTaken) {
  const Corpus c = corpus();
  config_.model.width = 16384, config_.model.heads = 128, config_.model.layers = 200;
  try {
    check_memory(config_, c);
    FAIL() << "a terabyte was accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::resource);
    EXPECT_NE(std::string(e.what()).find("TB"), std::string::npos) << e.what();
  }
}

TEST_F(Lab, DifferencesArePairedBySeed) {
  config_.arms = {"sinusoidal", "learned"};
  const Corpus c = corpus();
  Found found;
  for (const RunPlan& plan : plan_runs(config_, c, {})) {
    RunResult r;
    r.plan = plan;
    r.nats = double(plan.seed) + (plan.arm == "learned" ? 0.5 : 0);
    r.by_block = {r.nats - 0.25, r.nats + 0.25};
    for (const double factor : config_.lengths)
      r.by_length.push_back({factor, config_.tokens_at(factor), r.nats, r.by_block, {}, {}});
    found.emplace(plan.key, r);
  }
  const auto s = summarise(config_, c, found);
  EXPECT_EQ(s.arms[0].arm, "sinusoidal");
  EXPECT_EQ(s.arms[1].arm, "learned");
  EXPECT_NEAR(s.arms[1].largest().difference.mean, 0.5, 1e-12);
  EXPECT_NEAR(s.arms[1].largest().difference.half_width, 0, 1e-12);
  EXPECT_GT(s.arms[1].largest().nats.half_width, 1);
}

}  // namespace
}  // namespace gnomon
