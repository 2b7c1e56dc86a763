// The claims: complete, consistent, and those that need no training measured in full.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "gnomon/claims/measures/family.h"
#include "gnomon/claims/measures/measures.h"
#include "gnomon/claims/page/page.h"
#include "gnomon/claims/page/words.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/study/data/task.h"

namespace gnomon::claims {
namespace {

TEST(Claims, EveryStatementOfTheTextsHasARecord) {
  std::set<std::string> ids, keys;
  for (const Question* q : questions()) EXPECT_TRUE(keys.insert(std::string(q->key)).second) << q->key;
  for (const Claim* c : all_claims()) {
    EXPECT_TRUE(ids.insert(std::string(c->id)).second) << c->id;
    EXPECT_TRUE(keys.contains(std::string(c->question->key))) << c->id;
    for (const auto text : {c->text.says, c->text.method, c->text.expects, c->text.advice})
      EXPECT_FALSE(text.empty()) << c->id;
    EXPECT_NE(c->measure, nullptr) << c->id;
    EXPECT_NE(c->recorded, Verdict::differs);
    EXPECT_NE(c->recorded, Verdict::no_inference);
    EXPECT_TRUE(!needs_seeds(c->verdicts) || c->recipes) << c->id;
  }
  // Of each text the claims are numbered without a gap.
  std::map<std::string, int> of_text;
  for (const std::string& id : ids) {
    const int n = ++of_text[id.substr(0, 3)];
    EXPECT_EQ(id.substr(3), text(n < 10 ? "-0" : "-", n)) << id;
  }
  EXPECT_EQ(of_text.size(), pages::texts().size());
  for (const auto source : pages::texts())
    EXPECT_TRUE(of_text.contains(std::string(source.substr(0, 3)))) << source;
  for (const Question* q : questions()) {
    const auto leads = [&](const Claim& c) { return c.id == q->text.lead; };
    EXPECT_TRUE(std::any_of(q->claims.begin(), q->claims.end(), leads)) << q->key;
    EXPECT_EQ(q->text.records, q->claims.size() + 1) << q->key << ": a record of its text is no claim's";
  }
#define QUESTION(name) \
  EXPECT_TRUE(keys.contains(#name)) << "the key of a question is the name of its file: " #name;
#include "gnomon/claims/questions/list.def"
#undef QUESTION
}

TEST(Claims, AreChosenByIdTextOrAll) {
  const auto count = [](std::vector<std::string> names) { return select_claims(names).size(); };
  const auto of_text = [](std::string_view text) {
    return std::size_t(std::count_if(all_claims().begin(), all_claims().end(),
                                     [&](const Claim* c) { return c->id.substr(0, 3) == text; }));
  };
  EXPECT_EQ(count({"all"}), all_claims().size());
  EXPECT_EQ(count({"000"}), of_text("000"));
  EXPECT_EQ(count({"000-05", "000", "000-05"}), of_text("000"));
  EXPECT_EQ(select_claims(std::vector<std::string>{"004-16"}).front()->id, "004-16");
  for (const char* wrong : {"", "00", "005", "000-14", "000-1"}) EXPECT_THROW(count({wrong}), Error) << wrong;
}

TEST(Claims, ACurveIsReadBetweenItsPoints) {
  Outcome o;
  o.curve = {{0, 5}, {100, 3}, {200, 3.5}, {400, 2}}, o.nats = 2.1;
  EXPECT_DOUBLE_EQ(loss_after(o, 0), 5);
  EXPECT_DOUBLE_EQ(loss_after(o, .125), 4);
  EXPECT_DOUBLE_EQ(loss_after(o, .75), 2.75);
  EXPECT_DOUBLE_EQ(loss_after(o, 1), 2.1) << "the end is measured on all windows";
  EXPECT_DOUBLE_EQ(tokens_to(o, 4), 50);
  EXPECT_DOUBLE_EQ(tokens_to(o, 3.2), 90) << "the first time";
  EXPECT_DOUBLE_EQ(tokens_to(o, 6), 0);
  EXPECT_TRUE(std::isinf(tokens_to(o, 1.9)));
  o.curve.erase(o.curve.begin());
  EXPECT_THROW(loss_after(o, .1), Error);
  EXPECT_THROW(loss_after(o, 1.1), Error);
  EXPECT_THROW(loss_after(Outcome{}, .5), Error);
}

class Deterministic : public testing::TestWithParam<const Claim*> {};
TEST_P(Deterministic, ComesOutAsRecorded) {
  Experiment experiment(nullptr, false, std::filesystem::temp_directory_path() / "gnomon-claims-test");
  const Finding f = GetParam()->measure(experiment);
  for (const FoundNumber& n : f.numbers)
    EXPECT_TRUE(n.fits()) << n.name << ": " << n.value << " is not in " << n.low << " to " << n.high;
  EXPECT_EQ(name(judge(*GetParam(), f, false)), name(GetParam()->recorded)) << answer_of(*GetParam(), f);
  EXPECT_FALSE(answer_of(*GetParam(), f).empty());
  EXPECT_GE(f.numbers.size(), 1u);
}
std::vector<const Claim*> without_models() {
  std::vector<const Claim*> out;
  for (const Claim* c : all_claims()) {
    if (!c->recipes) out.push_back(c);
  }
  return out;
}
std::string id_of(const testing::TestParamInfo<const Claim*>& claim) {
  std::string id(claim.param->id);
  id[3] = '_';
  return id;
}
INSTANTIATE_TEST_SUITE_P(Claims, Deterministic, testing::ValuesIn(without_models()), id_of);

TEST(Claims, ANumberThatDoesNotFitIsTold) {
  Claim argued{}, measured{};
  argued.recorded = Verdict::wrong, argued.rests_on = Basis::argument, argued.text.because = "so it is";
  measured.recorded = Verdict::holds, measured.verdicts = {{Verdict::holds, {asked("two")}}};
  Finding f;
  f.near("two", "two", 2, 2, 1e-9);
  f.number("free", "free", std::nan(""));
  EXPECT_EQ(judge(measured, f, false), Verdict::holds);
  EXPECT_EQ(judge(argued, f, false), Verdict::wrong);
  f.near("three", "three", 3.1, 3, .05);
  EXPECT_EQ(judge(measured, f, false), Verdict::differs);
  EXPECT_EQ(judge(argued, f, false), Verdict::differs) << "an argument does not outlive its numbers";
  f.numbers.back().value = std::nan("");
  EXPECT_FALSE(f.fits());
  EXPECT_THROW(f.number("two", "again", 2), Error);
}

// What a norm passes unchanged is counted by hand: RMS norms pass scaled rotations, d(d − 1)/2 + 1 dimensions of the d² of a
// matrix; LayerNorm sees d − 1 channels of it, and passes those of them. What is left of a projection adds to its reach.
TEST(Claims, AProjectionReachesWhatNormsDoNotPass) {
  for (const std::int64_t d : {4, 6}) {
    for (const std::uint64_t seed : {1, 7}) {
      const auto more = [&](std::optional<Norm> norm) {
        const FamilySize with = family_size({norm, Joined::projection, d, 8}, seed),
                         without = family_size({norm, Joined::sum, d, 8}, seed);
        for (const FamilySize& size : {with, without}) EXPECT_GT(size.kept, 100 * size.dropped) << d;
        return with.dimension - without.dimension;
      };
      EXPECT_EQ(more(std::nullopt), 0) << d;
      EXPECT_EQ(more(Norm::rms), d * d - d * (d - 1) / 2 - 1) << d;
      EXPECT_EQ(more(Norm::layer), d * (d - 1) - (d - 1) * (d - 2) / 2 - 1) << d;
    }
  }
}

TEST(Claims, TasksAskWhatTheySay) {
  for (const char* task : {"order", "binding"}) {
    const Sample s = make_task(task, 0, 200, Random(1, "t"));
    for (std::int64_t n = 0; n < s.count();
         n += 2) {  // two windows of the same symbols in another order, other answers
      const auto window = [&](std::int64_t k) {
        return std::multiset<std::int32_t>(s.inputs.begin() + k * s.T, s.inputs.begin() + (k + 1) * s.T);
      };
      EXPECT_EQ(window(n), window(n + 1)) << task;
      EXPECT_NE(s.targets[std::size_t((n + 1) * s.T - 1)], s.targets[std::size_t((n + 2) * s.T - 1)]) << task;
      EXPECT_EQ(window(n).count(s.targets[std::size_t((n + 1) * s.T - 1)]), 1u) << task;
    }
  }
  const Sample before = make_task("previous", 9, 5, Random(1, "t")),
               eight = make_task("offset8", 20, 5, Random(1, "t"));
  for (std::size_t n = 0; n < before.inputs.size(); ++n)
    EXPECT_EQ(before.targets[n], n % 9 ? before.inputs[n - 1] : kUnscored);
  for (std::size_t n = 0; n < eight.inputs.size(); ++n)
    EXPECT_EQ(eight.targets[n], n % 20 < 8 ? kUnscored : eight.inputs[n - 8]);
  const Sample most = make_task("majority", 0, 50, Random(1, "t"));
  int asked = 0;
  for (std::int64_t n = 0; n < most.count(); ++n) {
    const auto answer = most.targets[std::size_t(n * 10 + 9)];
    if (answer == kUnscored) continue;
    ++asked;
    const auto of = [&](std::int32_t letter) {
      return std::count(most.inputs.begin() + n * 10, most.inputs.begin() + n * 10 + 9, letter);
    };
    for (const std::int32_t other : {'a', 'b', 'c'}) EXPECT_TRUE(other == answer || of(other) < of(answer));
  }
  EXPECT_GT(asked, 30);
  EXPECT_THROW(make_task("nonsense", 4, 1, Random(1, "t")), Error);
}

TEST(Claims, AModelIsTrainedOnceAndReadBack) {
  const auto folder = std::filesystem::temp_directory_path() / text("gnomon-claims-models-", getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  Recipe r{.data = "order",
           .spec = "sinusoidal",
           .layers = 1,
           .width = 16,
           .heads = 2,
           .length = 4,
           .steps = 20,
           .batch = 4,
           .snapshots = true};
  const Outcome first = train_or_load(r, 3, nullptr, folder, {}),
                again = train_or_load(r, 3, nullptr, folder, {});
  EXPECT_EQ(first.w, again.w);
  EXPECT_EQ(first.snapshots.size(), again.snapshots.size());
  EXPECT_EQ(first.snapshots.back().second, first.w);
  EXPECT_EQ(again.snapshots.front().second, again.model->initial(3));
  EXPECT_EQ(first.curve, again.curve);
  EXPECT_EQ(first.nats, again.nats);
  EXPECT_TRUE(again.found && !first.found);
  EXPECT_NE(train_or_load(r, 4, nullptr, folder, {}).w, first.w);
  r.fixed = Fixed::words;
  const Outcome frozen = train_or_load(r, 3, nullptr, folder, {});
  const Param& words = frozen.model->param("embed.word");
  const Floats start = frozen.model->initial(3);
  for (std::int64_t n = 0; n < words.spec.size(); ++n)
    ASSERT_EQ(frozen.w[std::size_t(words.offset + n)], start[std::size_t(words.offset + n)]);
  EXPECT_NE(frozen.w, start);
  r.fixed = Fixed::feed_forward;
  const Outcome silent = train_or_load(r, 3, nullptr, folder, {});
  std::int64_t last_maps = 0;
  for (const Param& p : silent.model->params()) {
    if (p.spec.name.find("feed_forward.down") == std::string::npos) continue;
    ++last_maps;
    for (std::int64_t n = 0; n < p.spec.size(); ++n) ASSERT_EQ(silent.w[std::size_t(p.offset + n)], 0);
  }
  EXPECT_EQ(last_maps, 2 * r.layers) << "a weight and a bias each";
  r.seeds = 2;
  EXPECT_EQ(train_or_load(r, 5, nullptr, folder, {.stop = [] { return true; }, .progress = {}}).model,
            nullptr)
      << "stopped";
  r.data = "text";
  EXPECT_THROW(train_or_load(r, 1, nullptr, folder, {}), Error);
}

TEST(Claims, AModelTrainedBesideOthersIsTheSame) {
  const auto folder = std::filesystem::temp_directory_path() / text("gnomon-claims-beside-", getpid());
  std::filesystem::remove_all(folder);
  std::vector<Recipe> recipes;
  for (const char* spec : {"sinusoidal", "rope", "none", "project(sinusoidal)"})
    recipes.push_back(
        {.data = "previous", .spec = spec, .width = 48, .heads = 2, .length = 32, .steps = 40, .seeds = 2});
  const int threads = thread_count();
  set_thread_count(4);  // more at once than a small machine has
  Experiment experiment(nullptr, false, folder);
  EXPECT_TRUE(experiment.train(recipes, {[] { return false; }, [](auto, auto, const auto&) {}}));
  set_thread_count(1);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const Recipe& r : recipes) {
    ASSERT_EQ(experiment.models(r).size(), 2u);
    for (const Outcome& o : experiment.models(r))
      EXPECT_EQ(train_or_load(r, o.seed, nullptr, folder, {}).w, o.w) << r.print();
  }
  set_thread_count(threads);
}

TEST(Claims, ARateIsTheBestOfAGridThatIsWidened) {
  const auto folder = std::filesystem::temp_directory_path() / text("gnomon-claims-rates-", getpid());
  std::filesystem::remove_all(folder);
  Experiment experiment(nullptr, false, folder);
  Recipe r = experiment.task("previous", "sinusoidal");
  r.width = 16, r.heads = 2, r.steps = 20, r.batch = 4, r.seeds = 1;
  ASSERT_TRUE(experiment.tune({r}, {[] { return false; }, [](auto, auto, const auto&) {}}));
  ASSERT_EQ(experiment.rates().size(), 1u);
  const auto& [name, best] = *experiment.rates().begin();
  EXPECT_EQ(name, "sinusoidal on previous, 2 layers");
  EXPECT_EQ(experiment.task("previous", "sinusoidal").learning_rate, best);
  EXPECT_NE(experiment.task("previous", "sinusoidal", 1).learning_rate, best) << "another depth";
  EXPECT_EQ(r.job(1, nullptr).seed, 1);
  EXPECT_EQ(r.job(1, nullptr).held, Held::test);
  r.trial = true;
  EXPECT_GT(r.job(1, nullptr).seed, experiment.seeds());
  EXPECT_EQ(r.job(1, nullptr).held, Held::validation);
  std::map<double, double> tried;
  for (double rate = Experiment::kTaskRates[0] / 8; rate < 0.1; rate *= 2) {
    r.learning_rate = rate;
    const Outcome o = train_or_load(r, 1, nullptr, folder, {.stop = [] { return true; }, .progress = {}});
    if (o.model) tried[rate] = o.nats;
  }
  for (const double rate : Experiment::kTaskRates) EXPECT_TRUE(tried.count(rate)) << rate;
  for (const auto& [rate, loss] : tried) EXPECT_GE(loss, tried.at(best)) << rate;
  const bool at_edge = best == tried.begin()->first || best == tried.rbegin()->first;
  if (at_edge) {
    EXPECT_EQ(tried.size(), std::size(Experiment::kTaskRates) + Experiment::kWidenings);
  }
  EXPECT_GT(tried.size(), std::size(Experiment::kTaskRates)) << "so short a training is best at a high rate";
  std::filesystem::remove_all(folder);
}

TEST(Claims, ATextOfTooFewBytePairsSaysSo) {
  const auto folder = std::filesystem::temp_directory_path() / text("gnomon-claims-pieces-", getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::string little;
  for (int n = 0; n < 400; ++n) little += text("verse ", n, " of a small book\n");
  write_file(folder / "text", little);
  const Corpus corpus(folder / "text", 256, Cut::whole);
  Experiment experiment(&corpus, true, folder / "models");
  const Recipe r = experiment.pieces("none");
  EXPECT_TRUE(experiment.train({r}, {[] { return false; }, [](auto, auto, const auto&) {}}));
  EXPECT_EQ(experiment.trained(), 0);
  EXPECT_THROW(experiment.models(r), NotMeasurable);
  std::filesystem::remove_all(folder);
}

TEST(Claims, AFolderKeepsThePageThatItHas) {
  const Path out = std::filesystem::temp_directory_path() / text("gnomon-claims-folder-", getpid());
  std::filesystem::remove_all(out);
  const auto config_of = [](std::vector<std::string> ids) { return ClaimsConfig{select_claims(ids), ""}; };
  const ClaimsConfig two = config_of({"004-15", "004-16"}), one = config_of({"004-16"});
  const MeasureHooks silent{{[] { return false; }, {}}, [] {}, [](const Answered&) {}};
  EXPECT_EQ(ClaimsConduct(two, nullptr, "", false).folder(), nullptr) << "nothing is trained";
  {
    ClaimsConduct conduct(two, nullptr, out, false);
    EXPECT_THROW(ClaimsConduct(two, nullptr, out, false), Error) << "in use";
    const ClaimsSummary summary = *conduct.perform(silent);
    EXPECT_EQ(summary.answers.size(), 2u);
    EXPECT_EQ(summary.differing, 0u);
    write_file(conduct.folder()->json(), pages::claims_json(summary, {"command", "machine"}));
  }
  EXPECT_THROW(ClaimsConduct(one, nullptr, out, false), Error) << "004-15 would be lost";
  EXPECT_NO_THROW(ClaimsConduct(one, nullptr, out, true));
  ClaimsConfig quick = two;
  quick.quick = true;
  EXPECT_THROW(ClaimsConduct(quick, nullptr, out, false), Error) << "of a full run";
  EXPECT_NO_THROW(ClaimsConduct(two, nullptr, out, false));
  EXPECT_EQ(ClaimsConduct(two, nullptr, out, false).folder()->models(), out / "models");
  std::filesystem::remove_all(out);
}

TEST(Claims, SentencesTakeTheirNumbersFromFindingsAndRecords) {
  Finding f;
  f.number("x", "the number x", 1.25, 2);
  f.estimate("e", "an estimate", {-.5, .25, 5}, 2);
  Claim c = *all_claims().front(), lacking = c;
  c.id = "009-01", lacking.id = "009-02";
  const std::vector<Answered> answers{{&c, f, Verdict::holds, 0}, {&lacking, {}, Verdict::unmeasurable, 0}};
  const std::vector<NumberSource> sources{
      {"minilm", "a model", "a command", {{"norm", "a norm", 1234.5, .5, 9, 1}}}};
  const auto told = [&](std::string_view sentence) {
    return pages::interpolated(sentence, answers, sources);
  };
  EXPECT_EQ(told("It is {009-01|x}, and {009-01|e}."), "It is 1.25, and −0.50 ± 0.25.");
  EXPECT_EQ(told("{minilm|norm}"), "1,234.5 ± 0.5");
  EXPECT_EQ(told("{004-16|any} and {009-02|any} and {009-01|x}"), "Not measured in this run: 004-16, 009-02.")
      << "was not; could not be";
  EXPECT_EQ(told("no number, and } alone"), "no number, and } alone");
  for (const char* wrong :
       {"{009-01|y}", "{minilm|y}", "{maxilm|norm}", "{009-03|x}", "{009-01|x", "{009-01}", "{"})
    EXPECT_THROW(told(wrong), Error) << wrong;
}

TEST(Claims, WhatAQuestionTakesIsAClaimsOrStandsInARecord) {
  std::size_t taken = 0;
  for (const Question* q : questions()) {
    for (const auto sentence :
         {q->text.answer, q->text.algebra, q->text.models, q->text.real, q->text.change_our_mind}) {
      for (const std::string& number : taken_by(sentence)) {
        const std::string from = number.substr(0, number.find('|')), key = number.substr(from.size() + 1);
        const auto is_claim = [&](const Claim* c) { return c->id == from; };
        const auto has = [&](const NumberSource& s) {
          return s.key == from && std::any_of(s.numbers.begin(), s.numbers.end(),
                                              [&](const FoundNumber& n) { return n.key == key; });
        };
        EXPECT_TRUE(std::any_of(all_claims().begin(), all_claims().end(), is_claim) ||
                    std::any_of(recorded().begin(), recorded().end(), has))
            << q->key << ": " << number;
        ++taken;
      }
    }
  }
  EXPECT_GT(taken, 5u);
}

}  // namespace
}  // namespace gnomon::claims
