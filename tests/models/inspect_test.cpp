// An inspection as one call: which parts are looked at, in which order, on which windows, and how it is stopped.
#include "gnomon/models/inspect/inspect.h"

#include <gtest/gtest.h>

#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/loss.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

OpenedModel opened(const std::string& name) { return open_model(Path(GNOMON_TESTS "/golden/opened") / name); }
ModelText some_text(std::int64_t tokens = 3000) {
  ModelText t;
  for (std::int64_t n = 0; n < tokens; ++n) t.ids.push_back(std::int32_t(4 + (n * n + n / 7) % 19));
  return t;
}
const InspectOptions kShort{.window = 16, .windows = 8, .longest = 64};

// The parts that were told, without the time that is left.
std::vector<std::string> parts_of(const OpenedModel& model, const InspectOptions& options) {
  std::vector<std::string> told;
  inspect(model, some_text(), options, {.tell = [&](const std::string& sentence) {
            EXPECT_EQ(told.empty(), sentence.find(" s left)") == std::string::npos) << sentence;
            told.push_back(sentence.substr(0, sentence.find(" (")));
          }});
  return told;
}
std::vector<std::string> left_out_of(const Inspected& in) {
  std::vector<std::string> names;
  for (const auto& left : in.found.left_out) names.push_back(left.part);
  return names;
}

using Names = std::vector<std::string>;

TEST(Inspect, PartsAreLookedAtInOrder) {
  EXPECT_EQ(parts_of(opened("llama"), kShort),
            (Names{"heads", "streams and probes", "rotary pairs", "positions shifted", "positions removed",
                   "loss by place"}));
  EXPECT_EQ(parts_of(opened("gpt2"), kShort),
            (Names{"position table against word table", "four terms of the first layer's logits", "heads",
                   "streams and probes", "rotary pairs", "positions shifted", "positions removed",
                   "loss by place"}));
  InspectOptions more = kShort;
  more.each_head = true, more.beyond = 2;
  EXPECT_EQ(
      parts_of(opened("llama"), more),
      (Names{"heads", "streams and probes", "rotary pairs", "positions shifted", "positions removed",
             "position removed from each of 4 heads", "loss by place", "windows of 128 tokens, as trained",
             "windows of 128 tokens, linear", "windows of 128 tokens, ntk", "windows of 128 tokens, yarn",
             "windows of 128 tokens, rerope", "windows of 128 tokens, self_extend"}));
}

TEST(Inspect, WhatIsLeftOutHasAReason) {
  const auto llama = inspect(opened("llama"), some_text(), kShort);
  EXPECT_EQ(left_out_of(llama),
            (Names{"position table", "position removed from single heads", "longer windows"}));
  // Without a tokeniser and a mask token nothing says how an encoder is scored.
  const auto bert = inspect(opened("bert"), some_text(), kShort);
  EXPECT_EQ(left_out_of(bert), (Names{"longer windows", "rotary pairs", "positions shifted",
                                      "positions removed", "loss by place"}));
  EXPECT_FALSE(bert.found.masking);
  EXPECT_EQ(left_out_of(inspect(opened("bert_bare"), some_text(), kShort)).at(0), "losses");
  for (const auto& left : bert.found.left_out) EXPECT_FALSE(left.why.empty());
}

TEST(Inspect, PartsAreShownTheWindowsThatTheirNumbersSay) {
  const OpenedModel model = opened("llama");
  const ModelText words = some_text();
  const Inspected in = inspect(model, words, kShort);
  EXPECT_EQ(in.family, "llama");
  EXPECT_TRUE(in.model.empty() && in.text.empty());
  EXPECT_EQ(in.layers, 2);
  EXPECT_EQ(in.found.window, 16);
  EXPECT_EQ(in.found.loss_window, 64);  // of 128 in 8,192 tokens as many as the text has
  EXPECT_EQ(in.found.loss_windows, (3000 - 1) / 64);
  EXPECT_EQ(in.found.changed_windows, 4);
  EXPECT_EQ(in.found.probed, 128);
  EXPECT_EQ(inspect(opened("gpt2"), words, kShort).found.probed, 16);  // the model has no more positions
  EXPECT_EQ(in.found.pair_layers, (std::vector<std::int64_t>{0, 1}));
  const auto heads = watch_heads(model.trained(), windows_of_text(words, true, 16, 8));
  ASSERT_EQ(in.found.heads.size(), heads.size());
  for (std::size_t l = 0; l < heads.size(); ++l)
    for (std::size_t h = 0; h < heads[l].size(); ++h)
      EXPECT_EQ(in.found.heads[l][h].habits.distance, heads[l][h].habits.distance);
}

// A decoder beside an encoder: its windows follow what the encoder has read, and the loss is that of its own logits.
TEST(Inspect, ADecoderReadsWhatFollowsTheTextOfItsEncoder) {
  const OpenedModel whole = opened("t5_other_head");
  const ModelText words = some_text();
  const Inspected in = inspect(whole, words, kShort);
  EXPECT_EQ(in.component, "decoder");
  EXPECT_TRUE(in.causal);
  EXPECT_EQ(left_out_of(in), (Names{"position table", "position removed from single heads", "longer windows",
                                    "rotary pairs"}));
  EXPECT_EQ(in.found.heads.size(), std::size_t(whole.model.architecture().layers));
  EXPECT_EQ(in.found.loss_windows, 3000 / 128);  // 64 tokens for each
  double sum = 0;
  for (std::int64_t w = 0; w < in.found.loss_windows; ++w) {
    const auto begin = words.ids.begin() + w * 128;
    const std::vector<std::int32_t> source(begin, begin + 64), targets(begin + 64, begin + 128);
    std::vector<std::int32_t> inputs(1, whole.encoder->start);
    inputs.insert(inputs.end(), targets.begin(), targets.end() - 1);
    Floats rows(64 * 8), losses(64);
    Session(whole.encoder->model).hidden({1, 64, source, {}}, whole.encoder->w, rows);
    Tokens tokens{1, 64, inputs, targets};
    tokens.encoder = {64, rows};
    sum += Session(whole.model).loss(tokens, whole.w, losses);
  }
  EXPECT_NEAR(in.found.loss->mean, sum / double(in.found.loss_windows), 1e-5);
  EXPECT_GT(std::abs(in.found.removals.front().value), 1e-4);  // no positions
  EXPECT_LT(std::abs(in.found.shifts.back().value), 1e-5);     // they count by distance
  const Path folder = Path(GNOMON_TESTS "/golden/opened") / "t5_other_head";
  const Inspected encoder = inspect(open_model(folder, {}, Component::encoder), words, kShort);
  EXPECT_EQ(encoder.component, "encoder");
  EXPECT_EQ(encoder.found.measure, Measure::rows);
  EXPECT_EQ(inspect(opened("t5"), words, kShort).component, "encoder");
  EXPECT_EQ(inspect(opened("llama"), words, kShort).component, "");
}

// Before each part, and in the middle of a pass.
TEST(Inspect, IsStopped) {
  const OpenedModel model = opened("llama");
  std::int64_t asked = 0, told = 0;
  const InspectHooks hooks{.tell = [&](const std::string&) { ++told; },
                           .stop = [&] { return ++asked && false; }};
  inspect(model, some_text(), kShort, hooks);
  EXPECT_EQ(told, 6);
  EXPECT_GT(asked, 50);  // far more often than there are parts
  const std::int64_t all = asked;
  for (const std::int64_t at : {std::int64_t{1}, std::int64_t{2}, std::int64_t{5}, all / 2, all}) {
    asked = told = 0;
    const InspectHooks stopping{.tell = hooks.tell, .stop = [&] { return ++asked == at; }};
    EXPECT_THROW(inspect(model, some_text(), kShort, stopping), Stopped) << at;
    EXPECT_EQ(asked, at);
    EXPECT_EQ(told > 0, at > 1) << at;
  }
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage);
    return e.what();
  }
  return "no error";
}

TEST(Inspect, WhatCannotBeIsRefusedBeforeAnythingIsLookedAt) {
  const OpenedModel model = opened("llama");
  const InspectHooks none{.tell = [](const std::string& part) { ADD_FAILURE() << part; }};
  const auto refuses = [&](const InspectOptions& options, const std::string& why) {
    const std::string told = refusal([&] { inspect(model, some_text(), options, none); });
    EXPECT_NE(told.find(why), std::string::npos) << told;
  };
  refuses({.window = 15}, "window");
  refuses({.window = 4097}, "window");
  refuses({.windows = 0}, "windows");
  refuses({.windows = 1001}, "windows");
  refuses({.longest = 63}, "longest");
  refuses({.longest = (1 << 20) + 1}, "longest");
  refuses({.beyond = std::numeric_limits<double>::quiet_NaN()}, "a factor of nan");
  refuses({.beyond = std::numeric_limits<double>::infinity()}, "beyond is inf");
  EXPECT_NE(refusal([&] { inspect(model, some_text(16), kShort, none); }).find("one window needs 17"),
            std::string::npos);
  // Longer windows are other rotations.
  InspectOptions longer = kShort;
  longer.beyond = 2;
  EXPECT_NE(refusal([&] { inspect(opened("gpt2"), some_text(), longer, none); }).find("uses rope"),
            std::string::npos);
}

class InspectedFiles : public Files {};

TEST_F(InspectedFiles, AreNamedAsTheyWereTyped) {
  std::string ids;
  for (const std::int32_t id : some_text().ids) ids += text(id, " ");
  const std::string file = (folder_ / "ids.txt").string(),
                    model = std::string(GNOMON_TESTS) + "/golden/opened/llama";
  write_file(file, ids);
  const Inspected in = inspect({model, file, true}, kShort);
  EXPECT_EQ(in.model, model);
  EXPECT_EQ(in.text, file);
  const Inspected same = inspect(opened("llama"), some_text(), kShort);
  EXPECT_EQ(in.found.loss->mean, same.found.loss->mean);
  for (const char* wrong : {"1 2 three", "1 -2 3", "1 99999999999 3"}) {
    write_file(file, wrong);
    EXPECT_THROW(inspect({model, file, true}, kShort), Error) << wrong;
  }
}

TEST(ModelText, WindowsOfAnEncoderHaveWhatTheModelHasAroundAText) {
  ModelText t{.ids = {5, 6, 7, 8, 9}, .before = {1}, .after = {2}};
  const Sample s = windows_of_text(t, false, 4, 10);
  EXPECT_EQ(s.inputs, (std::vector<std::int32_t>{1, 5, 6, 2, 1, 7, 8, 2}));
  EXPECT_EQ(s.targets, (std::vector<std::int32_t>{kUnscored, 5, 6, kUnscored, kUnscored, 7, 8, kUnscored}));
  EXPECT_EQ(windows_of_text(t, false, 4, 1).count(), 1);
  const Sample next = windows_of_text(t, true, 4, 10);  // a decoder reads the text alone
  EXPECT_EQ(next.inputs, (std::vector<std::int32_t>{5, 6, 7, 8}));
  EXPECT_EQ(next.targets, (std::vector<std::int32_t>{6, 7, 8, 9}));
  EXPECT_NE(refusal([&] { paired_windows_of_text(t, 0, 4, 10); }).find("one window needs 6"),
            std::string::npos);
  t.ids.push_back(10);
  const PairedWindows pairs = paired_windows_of_text(t, 0, 4, 10);
  EXPECT_EQ(pairs.encoder, (std::vector<std::int32_t>{1, 5, 6, 2}));
  EXPECT_EQ(pairs.decoder.inputs, (std::vector<std::int32_t>{0, 7, 8, 9}));
  EXPECT_EQ(pairs.decoder.targets, (std::vector<std::int32_t>{7, 8, 9, 10}));
  t.ids.pop_back();
  EXPECT_NE(refusal([&] { windows_of_text(t, false, 2, 10); }).find("no room"), std::string::npos);
  EXPECT_NE(refusal([&] { windows_of_text(t, false, 8, 10); }).find("one window needs 6"), std::string::npos);
}

}  // namespace
}  // namespace gnomon
