// What `gnomon extend` promises, against the papers' formulas written out here, and against what its own settings come to when this
// test puts them into the file.
#include "gnomon/models/extend/extend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <numbers>
#include <sstream>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/pages/extend.h"
#include "tests/files/gguf_bytes.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

using Doubles = std::vector<double>;

struct Model {
  std::string json;
  double theta, channels, trained;  // channels that turn
};
const Model kLlama{
    R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32,
                       "max_position_embeddings": 4096})",
    1e4, 128, 4096};
const Model kQwen2{
    R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 2, "num_attention_heads": 14,
                       "num_key_value_heads": 2, "max_position_embeddings": 32768, "rope_theta": 1000000.0})",
    1e6, 64, 32768};
const Model kPhi3{
    R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 2, "num_attention_heads": 32,
                      "max_position_embeddings": 4096, "original_max_position_embeddings": 4096})",
    1e4, 96, 4096};
const Model kNeox{
    R"({"model_type": "gpt_neox", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8,
                      "max_position_embeddings": 2048, "rotary_pct": 0.25, "rotary_emb_base": 10000})",
    1e4, 16, 2048};

ExtensionPlan planned(const std::string& json, double to) {
  return plan_extension(Config::parse(json, "config.json"), std::int64_t(to));
}
const Extension& way(const ExtensionPlan& plan, std::string_view name) {
  for (const Extension& e : plan.ways)
    if (e.method->name == name) return e;
  throw Error(Fault::bug, "no such way");
}
const ExtensionSnippet* snippet(const Extension& e, std::string_view program) {
  for (const ExtensionSnippet& s : e.snippets)
    if (s.program == program) return &s;
  return nullptr;
}

// θ_i = b^(−2i/d).
double turning(const Model& m, double i) { return std::pow(m.theta, -2 * i / m.channels); }

bool same(const Doubles& found, const Model& m, const std::function<double(double)>& want,
          double tolerance = 1e-12) {
  if (found.size() != std::size_t(m.channels / 2)) return false;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(found[i] / want(double(i)) - 1) <= tolerance)) return false;
  return true;
}
const Doubles& promised(const ExtensionPlan& plan, std::string_view name) {
  return way(plan, name).groups.at(0).numbers.inv_freq;
}

TEST(Extend, LinearDividesEveryPairByTheFactor) {
  for (const Model& m : {kLlama, kQwen2, kNeox}) {
    const auto plan = planned(m.json, 4 * m.trained);
    EXPECT_TRUE(same(promised(plan, "linear"), m, [&](double i) { return turning(m, i) / 4; })) << m.json;
    EXPECT_FALSE(same(promised(plan, "linear"), m, [&](double i) { return turning(m, i) / 4.001; }));
    EXPECT_EQ(way(plan, "linear").groups[0].numbers.attention_factor, 1);
    EXPECT_EQ(way(plan, "linear").groups[0].interpolated, std::int64_t(m.channels / 2));
  }
}

// b' = b·s^(d/(d−2)) (Peng et al. 2023, definition 3).
TEST(Extend, NtkChangesTheBase) {
  for (const Model& m : {kLlama, kQwen2, kPhi3, kNeox}) {
    const auto plan = planned(m.json, 4 * m.trained);
    const auto by = [&](double power) {
      return [&m, power](double i) { return std::pow(m.theta * std::pow(4, power), -2 * i / m.channels); };
    };
    EXPECT_TRUE(same(promised(plan, "ntk"), m, by(m.channels / (m.channels - 2)))) << m.json;
    EXPECT_FALSE(same(promised(plan, "ntk"), m, by(1)));
    const auto& pairs = way(plan, "ntk").groups[0].pairs;
    EXPECT_NEAR(pairs.front().factor, 1, 1e-12);
    EXPECT_NEAR(pairs.back().factor, 4, 1e-9) << "the slowest pair turns slower by the factor";
  }
}

// b' = b·(s·l/L − (s − 1))^(d/(d−2)) in a text of l tokens: emozilla's post, and transformers, _compute_dynamic_ntk_parameters.
TEST(Extend, DynamicNtkFollowsTheText) {
  for (const Model& m : {kLlama, kQwen2, kNeox}) {
    const auto plan = planned(m.json, 4 * m.trained);
    const auto grown = [&](double times) {
      return [&m, times](double i) {
        const double base = m.theta * std::pow(4 * times - 3, m.channels / (m.channels - 2));
        return std::pow(base, -2 * i / m.channels);
      };
    };
    EXPECT_TRUE(same(promised(plan, "dynamic"), m, grown(4))) << m.json;
    EXPECT_FALSE(same(promised(plan, "dynamic"), m, grown(3.99)));
    const LayerPosition& layer = way(plan, "dynamic").groups[0].position;
    EXPECT_TRUE(same(numbers_of(layer, m.trained).inv_freq, m, [&](double i) { return turning(m, i); }));
    EXPECT_TRUE(same(numbers_of(layer, 2 * m.trained).inv_freq, m, grown(2)));
  }
}

struct Ramp {
  double alpha = 1, beta = 32;
};
// Peng et al. 2023, equations 10 to 13, between the whole pairs about d(β) and d(α) as the authors' code has it.
double yarn(const Model& m, double s, double i, Ramp ramp = {}) {
  const auto pair = [&](double turns) {
    return m.channels * std::log(m.trained / (2 * std::numbers::pi * turns)) / (2 * std::log(m.theta));
  };
  const double first = std::max(std::floor(pair(ramp.beta)), 0.0);
  const double last = std::min(std::ceil(pair(ramp.alpha)), m.channels - 1);
  const double slow = std::clamp((i - first) / std::max(last - first, 0.001), 0.0, 1.0);
  return turning(m, i) * ((1 - slow) + slow / s);
}

TEST(Extend, YarnKeepsWhatTurnsOften) {
  for (const Model& m : {kLlama, kQwen2, kNeox}) {
    const auto plan = planned(m.json, 8 * m.trained);
    const ExtendedGroup& g = way(plan, "yarn").groups.at(0);
    EXPECT_TRUE(same(g.numbers.inv_freq, m, [&](double i) { return yarn(m, 8, i); })) << m.json;
    EXPECT_FALSE(same(g.numbers.inv_freq, m, [&](double i) { return yarn(m, 8, i, {1, 8}); }));
    EXPECT_FALSE(same(g.numbers.inv_freq, m, [&](double i) { return yarn(m, 8, i, {2, 32}); }));
    EXPECT_NEAR(g.numbers.attention_factor, 0.1 * std::log(8) + 1, 1e-12);  // equation 15
    std::int64_t kept = 0, whole = 0;
    for (double i = 0; i < m.channels / 2; ++i) {
      const double turns = m.trained * turning(m, i) / (2 * std::numbers::pi);  // r(d), equation 10
      kept += turns > 32, whole += turns < 1;
    }
    EXPECT_EQ(g.kept, kept) << "pairs with more than β turns";
    EXPECT_EQ(g.interpolated, whole) << "pairs with less than α turns";
    EXPECT_EQ(g.kept + g.blended + g.interpolated, std::int64_t(m.channels / 2));
  }
}

// λ_i are YaRN's division with five digits; cos and sin times √(1 + ln s/ln L) (Ding et al. 2024, their code; transformers).
TEST(Extend, LongRopeListsAreYarnsDivision) {
  for (const Model& m : {kLlama, kQwen2, kPhi3, kNeox}) {
    const auto plan = planned(m.json, 8 * m.trained);
    const ExtendedGroup& g = way(plan, "longrope").groups.at(0);
    EXPECT_TRUE(same(
        g.numbers.inv_freq, m, [&](double i) { return yarn(m, 8, i); }, 1e-5))
        << m.json;
    EXPECT_FALSE(same(
        g.numbers.inv_freq, m, [&](double i) { return yarn(m, 7.99, i); }, 1e-5));
    EXPECT_NEAR(g.numbers.attention_factor, std::sqrt(1 + std::log(8) / std::log(m.trained)), 1e-12);
    const Doubles near = numbers_of(g.position, m.trained).inv_freq;
    EXPECT_TRUE(same(near, m, [&](double i) { return turning(m, i); })) << "the short list changes nothing";
  }
}

TEST(Extend, LongRopeSaysThatItsListsAreNotSearched) {
  const auto plan = planned(kPhi3.json, 8192);
  const std::string json = pages::extend_json(plan, -1);
  for (const char* words : {"These lists do not come from a search", "short_factor and long_factor",
                            "rope_factors_long.weight", "no published number for these lists"})
    EXPECT_NE(json.find(words), json.npos) << words;
  EXPECT_EQ(std::string(way(plan, "yarn").method->does).find("search"), std::string::npos);
}

Fault fault_of(const std::string& json, double to) {
  try {
    planned(json, to);
  } catch (const Error& error) {
    return error.fault();
  }
  return Fault::bug;
}
TEST(Extend, TheLengthMustBeBeyondTheTrainedOne) {
  EXPECT_EQ(fault_of(kLlama.json, 4095), Fault::usage);
  EXPECT_EQ(fault_of(kLlama.json, 4096), Fault::usage);
  EXPECT_NO_THROW(planned(kLlama.json, 4097));
}

TEST(Extend, ModelsThatDoNotTurnHaveNoWay) {
  const char* const others[][2] = {
      {R"({"model_type": "bert", "max_position_embeddings": 512})", "512 rows"},
      {R"({"model_type": "bloom"})", "The bias of ALiBi is defined for every distance"},
      {R"({"model_type": "t5"})", "buckets cover every distance"}};
  for (const auto& [json, says] : others) {
    const auto plan = planned(json, 100000);
    EXPECT_TRUE(plan.ways.empty()) << json;
    std::string notes;
    for (const std::string& note : plan.notes) notes += note;
    EXPECT_NE(notes.find(says), notes.npos) << json << notes;
  }
  EXPECT_EQ(planned(kLlama.json, 100000).ways.size(), extension_methods().size());
}

// Llama 3.1: 8,192 tokens, then divided by 8. Other types begin again at 8,192; lists go on from what the file has.
// Each stack of T5Gemma has its settings in an object; a table in both stacks has no way, which is said as of any other.
TEST(Extend, TwoStacksThatTurnAreRefused) {
  EXPECT_THROW(planned(R"({"model_type": "t5gemma"})", 16384), Error);
  EXPECT_TRUE(planned(R"({"model_type": "bart"})", 2048).ways.empty());
  EXPECT_TRUE(planned(R"({"model_type": "encoder-decoder"})", 1024).ways.empty());
}

TEST(Extend, AFileThatIsScaledAlready) {
  std::string json = kLlama.json;
  json.pop_back();
  json +=
      R"(, "rope_theta": 500000.0, "max_position_embeddings": 131072, "rope_scaling": {"rope_type": "llama3",
               "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})";
  json.erase(json.find(R"("max_position_embeddings": 4096)"),
             std::string(R"("max_position_embeddings": 4096)").size());
  json.erase(json.rfind(',', json.find(R"(, "rope_theta")") - 1), 1);
  const Model m{json, 5e5, 128, 8192};
  const auto plan = planned(json, 262144);
  EXPECT_EQ(plan.factor, 32);
  EXPECT_TRUE(same(promised(plan, "linear"), m, [&](double i) { return turning(m, i) / 32; }));
  EXPECT_NE(plan.notes.at(0).find("already scales its rotation (llama3)"), std::string::npos);
  const ExtendedGroup& lists = way(plan, "longrope").groups.at(0);
  EXPECT_NEAR(lists.pairs.back().today, 8, 1e-9);
  EXPECT_NEAR(lists.pairs.back().factor, 16, 1e-4) << "8 of the file's, and 2 from 131,072 to 262,144";
  EXPECT_NEAR(lists.pairs.front().factor, 1, 1e-9);
  EXPECT_TRUE(planned(kLlama.json, 32768).notes.empty());
}

// A model that was trained with a linear factor turns by it: a longer context multiplies it, in every program's settings.
TEST(Extend, LinearFactorsMultiply) {
  for (const double before : {1.5, 4.0, 8.0}) {
    for (const std::int64_t times : {2, 8}) {
      const std::string scaled = text(R"({"rope_scaling": {"type": "linear", "factor": )", before, "}}");
      const Config file = Config::parse(kLlama.json, "config.json").with("", scaled);
      const Model m{file.json(), kLlama.theta, kLlama.channels, 4096};
      const auto plan = planned(m.json, 4096 * times);
      const Extension& linear = way(plan, "linear");
      const double after = before * double(times);
      EXPECT_TRUE(same(promised(plan, "linear"), m, [&](double i) { return turning(m, i) / after; }));
      EXPECT_FALSE(
          same(promised(plan, "linear"), m, [&](double i) { return turning(m, i) / double(times); }));
      for (const ExtensionSnippet& s : linear.snippets) {
        EXPECT_EQ(s.readings.empty() ? "" : s.readings.front().differs, "") << s.program;
      }
      const std::string& settings = snippet(linear, "transformers 4")->text;
      EXPECT_NE(settings.find(text(R"("factor":)", after, ".0")), settings.npos) << settings;
      EXPECT_EQ(plan.advice.way->name, "linear");
      EXPECT_NEAR(way(plan, "yarn").groups.at(0).pairs.back().factor, double(times), 1e-9)
          << "it starts again";
    }
  }
}

// transformers 5.23 and 4.57.6 raise ValueError for these (Phi3Config.validate_rope, _rope_scaling_validation), TypeError for
// Mistral's head_dim and KeyError for Llama 4's low_freq_factor.
TEST(Extend, TypesThatAClassRefuses) {
  const auto phi3 = planned(kPhi3.json, 8192);
  for (const char* name : {"linear", "dynamic", "yarn"}) EXPECT_NE(way(phi3, name).refused, "") << name;
  for (const char* name : {"ntk", "longrope"}) EXPECT_EQ(way(phi3, name).refused, "") << name;
  EXPECT_THROW(resolve(Config::parse(kPhi3.json, "c")
                           .with("", R"({"rope_parameters": {"rope_type": "linear", "factor": 2.0}})")),
               Error);
  const ExtensionSnippet& lists = *snippet(way(phi3, "longrope"), "transformers 4");
  EXPECT_NE(lists.text.find(R"("rope_scaling":{"type":"longrope","short_factor":[1.0,)"), lists.text.npos);
  EXPECT_EQ(lists.readings.at(0).differs, "");

  const auto olmo2 = planned(R"({"model_type": "olmo2"})", 8192);
  EXPECT_NE(snippet(way(olmo2, "linear"), "transformers 4")
                ->text.find(R"("rope_scaling":{"type":"linear","factor":4.0})"),
            std::string::npos);
  EXPECT_EQ(snippet(way(olmo2, "yarn"), "transformers 4"), nullptr);
  EXPECT_NE(way(olmo2, "yarn").missing.at(0).find("transformers 4"), std::string::npos);
  EXPECT_NE(snippet(way(olmo2, "yarn"), "transformers 5"), nullptr);

  const Config mistral = Config::parse(R"({"model_type": "mistral"})", "c");
  const std::string yarn = R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}})";
  EXPECT_THROW(resolve(mistral.with("", yarn), Reader::v4), Error);
  EXPECT_NO_THROW(resolve(mistral.with("", yarn).with("", R"({"head_dim": 128})"), Reader::v4));
  EXPECT_NO_THROW(resolve(mistral.with("", yarn), Reader::v5));
  const auto longer = planned(R"({"model_type": "mistral"})", 262144);
  EXPECT_EQ(snippet(way(longer, "yarn"), "transformers 4")->readings.at(0).differs, "");
  const auto llama4 = planned(R"({"model_type": "llama4_text"})", 262144);
  EXPECT_EQ(snippet(way(llama4, "linear"), "transformers 4"), nullptr);
}

// A GGUF file of these keys, and again with the options of llama.cpp in the keys that they go over (common/arg.cpp, llama_context_params).
class ExtendGguf : public Files {
 protected:
  struct Keys {
    std::string arch = "llama", type = {};
    double context = 4096, base = 1e4, factor = 0, original = 0;
    std::vector<float> divisors = {};
  };
  Path write(const Keys& k) {
    GgufBytes g(k.arch);
    g.whole("block_count", 2)
        .whole("embedding_length", 512)
        .whole("context_length", std::uint32_t(k.context));
    g.whole("attention.head_count", 8).whole("attention.head_count_kv", 4);
    g.number("rope.freq_base", float(k.base));
    if (!k.type.empty()) g.text("rope.scaling.type", k.type);
    if (k.factor != 0) g.number("rope.scaling.factor", float(k.factor));
    if (k.original != 0) g.whole("rope.scaling.original_context_length", std::uint32_t(k.original));
    if (!k.divisors.empty()) g.tensor("rope_freqs.weight", k.divisors);
    const Path path = folder_ / "model.gguf";
    const std::string bytes = g.bytes();
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    return path;
  }
  // The options as their names say.
  Keys with(Keys k, const std::string& options) {
    std::istringstream words(options);
    for (std::string name, value; words >> name >> value;) {
      if (name == "--rope-scaling") k.type = value;
      if (name == "--rope-scale") k.factor = std::stod(value);
      if (name == "--rope-freq-base") k.base = std::stod(value);
      if (name == "--yarn-orig-ctx") k.original = std::stod(value);
      const std::string context = k.arch + ".context_length=int:";
      if (name == "--override-kv" && value.find(context) == 0)
        k.context = std::stod(value.substr(context.size()));
    }
    return k;
  }
  Numbers numbers(const Keys& k, double length) {
    return numbers_of(resolve(Config::open(write(k))).layers.at(1), length);
  }
};

TEST_F(ExtendGguf, OptionsAreWhatTheyPromise) {
  for (const char* arch : {"llama", "qwen2", "phi3"}) {
    const Keys keys{.arch = arch};
    const Model m{"", 1e4, 64, 4096};
    const auto plan = plan_extension(Config::open(write(keys)), 16384);
    const std::pair<const char*, std::function<double(double)>> ways[] = {
        {"linear", [&](double i) { return turning(m, i) / 4; }},
        {"ntk", [&](double i) { return std::pow(1e4 * std::pow(4, 64 / 62.0), -2 * i / 64); }},
        {"yarn", [&](double i) { return yarn(m, 4, i); }}};
    for (const auto& [name, want] : ways) {
      const ExtensionSnippet* s = snippet(way(plan, name), "llama.cpp");
      ASSERT_TRUE(s) << arch << name;
      EXPECT_EQ(s->text.find("-c 16384 "), 0u) << s->text;
      const Numbers n = numbers(with(keys, s->text), 16384);
      EXPECT_TRUE(same(n.inv_freq, m, want, 1e-6)) << arch << ": " << s->text;  // float32 in the file
      EXPECT_FALSE(same(numbers(keys, 16384).inv_freq, m, want, 1e-6)) << "without the options";
      EXPECT_NEAR(n.attention_factor, std::string(name) == "yarn" ? 0.1 * std::log(4) + 1 : 1, 1e-6);
      EXPECT_TRUE(same(promised(plan, name), m, want));
      EXPECT_EQ(s->readings.at(0).differs, "");
    }
  }
}

// Its server allows context_length tokens, and more only with YaRN (ggml-org/llama.cpp#28030).
TEST_F(ExtendGguf, TheServerIsToldOfTheLength) {
  const auto plan = plan_extension(Config::open(write({})), 16384);
  for (const char* name : {"linear", "ntk"})
    EXPECT_EQ(with({}, snippet(way(plan, name), "llama.cpp")->text).context, 16384) << name;
  EXPECT_EQ(with({}, snippet(way(plan, "yarn"), "llama.cpp")->text).original, 4096);
}

TEST_F(ExtendGguf, WhatNoOptionCanSay) {
  const auto plan = plan_extension(Config::open(write({})), 16384);
  for (const char* name : {"dynamic", "longrope"}) {
    EXPECT_TRUE(way(plan, name).snippets.empty());
    EXPECT_EQ(way(plan, name).missing.at(0).find("llama.cpp: "), 0u);
  }
  EXPECT_TRUE(way(plan, "yarn").missing.empty());
  std::vector<float> divisors(32, 1);
  divisors[31] = 8;
  const auto scaled = plan_extension(Config::open(write({.divisors = divisors})), 16384);
  EXPECT_TRUE(way(scaled, "yarn").snippets.empty());
  EXPECT_NE(way(scaled, "yarn").missing.at(0).find("tensor"), std::string::npos);
}

// A file with YaRN of its own: NTK has to turn it off, a new factor of YaRN goes over the old one.
TEST_F(ExtendGguf, AFileThatIsScaledAlready) {
  const Keys keys{.type = "yarn", .context = 16384, .factor = 4, .original = 4096};
  const Model m{"", 1e4, 64, 4096};
  const auto plan = plan_extension(Config::open(write(keys)), 32768);
  const Numbers ntk = numbers(with(keys, snippet(way(plan, "ntk"), "llama.cpp")->text), 32768);
  const auto grown = [](double i) { return std::pow(1e4 * std::pow(8, 64 / 62.0), -2 * i / 64); };
  EXPECT_TRUE(same(ntk.inv_freq, m, grown, 1e-6));
  EXPECT_EQ(ntk.attention_factor, 1);
  const Numbers eight = numbers(with(keys, snippet(way(plan, "yarn"), "llama.cpp")->text), 32768);
  EXPECT_TRUE(same(
      eight.inv_freq, m, [&](double i) { return yarn(m, 8, i); }, 1e-6));
}

}  // namespace
}  // namespace gnomon
