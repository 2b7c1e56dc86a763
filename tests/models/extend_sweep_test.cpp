// Every configuration of tests/golden/resolver.json that turns: what `gnomon extend` says to write into it is put there by this test,
// and read again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/models/extend/extend.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<Json>& golden() {
  static const auto all =
      Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "resolver.json")).get<std::vector<Json>>();
  return all;
}

// The settings in the file, as somebody pastes them: members of the same name go.
Json pasted(const Json& config, const ExtensionSnippet& s) {
  Json out = config;
  const std::string part = s.where.find("text_config") != s.where.npos ? "text_config" : "";
  const Json members = Json::parse(s.text);
  for (const auto& [name, value] : members.items()) (part.empty() ? out : out[part])[name] = value;
  return out;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::abs(x - y) <= 1e-9 * std::abs(y); });
}
// The first difference, in words; empty: none.
std::string difference(const Numbers& found, const Numbers& want) {
  if (!same(found.inv_freq, want.inv_freq)) return "frequencies";
  if (!(std::abs(found.attention_factor - want.attention_factor) <= 1e-9)) return "the factor of cos and sin";
  if (!(std::abs(found.softmax_factor - want.softmax_factor) <= 1e-9)) return "the factor of the softmax";
  if (found.pairing != want.pairing || found.first != want.first) return "which channels turn";
  return {};
}

// Of the layers that the way is about, its numbers; of the others, those of the file as it is.
std::string difference(const Resolved& after, const ExtensionPlan& plan, const Extension& way) {
  for (std::size_t n = 0; n < plan.now.model.layers.size(); ++n) {
    const LayerPosition& before = plan.now.model.layers[n];
    Numbers want = numbers_of(before, double(plan.to));
    for (const ExtendedGroup& g : way.groups)
      if (g.component == before.component &&
          std::find(g.layers.begin(), g.layers.end(), before.number) != g.layers.end())
        want = g.numbers;
    const std::string wrong = difference(numbers_of(after.layers.at(n), double(plan.to)), want);
    if (!wrong.empty()) return text("layer ", n, ": ", wrong);
  }
  return {};
}

struct Seen {
  int configs = 0, compared = 0, wrong = 0;
};
// `changed` may spoil the settings on the way.
template <class Change>
Seen sweep(std::size_t step, const Change& changed) {
  Seen seen;
  for (std::size_t n = 0; n < golden().size(); n += step) {
    const Json& c = golden()[n];
    if (!c.contains("layers")) continue;
    const auto plan = plan_extension(Config::parse(c["config"].dump(), "config.json"), n % 2 ? 65536 : 40000);
    seen.configs += !plan.ways.empty();
    for (const Extension& way : plan.ways) {
      for (const ExtensionSnippet& s : way.snippets) {
        if (s.program != "transformers 5") continue;
        ++seen.compared;
        std::string wrong;
        try {
          const Json after = changed(pasted(c["config"], s));
          wrong = difference(resolve(Config::parse(after.dump(), "pasted"), Reader::v5), plan, way);
        } catch (const Error& error) {
          wrong = error.what();
        }
        if (wrong.empty()) continue;
        if (step == 1 && ++seen.wrong <= 5) ADD_FAILURE() << way.method->name << " " << c["config"] << wrong;
        if (step > 1) ++seen.wrong;
      }
    }
  }
  return seen;
}

TEST(ExtendSweep, SettingsOfTransformers5AreWhatTheyPromise) {
  const Seen seen = sweep(1, [](const Json& config) { return config; });
  EXPECT_EQ(seen.wrong, 0);
  EXPECT_GT(seen.configs, 1450);
  EXPECT_GT(seen.compared, 6500);
}
TEST(ExtendSweep, AWrongBaseIsSeen) {
  const Seen seen = sweep(29, [](Json config) {
    Json& own = config["rope_parameters"];
    for (Json* dict : {&own, own.contains("full_attention") ? &own["full_attention"] : &own})
      if (dict->contains("rope_theta")) (*dict)["rope_theta"] = 1.00001 * (*dict)["rope_theta"].get<double>();
    return config;
  });
  EXPECT_GT(seen.compared, 200);
  EXPECT_EQ(seen.wrong, seen.compared);
}

// Where the file scales nothing, transformers' own frequencies of it (golden) are the base of all: linear divides them by the
// factor, NTK by s^(2i/(d−2)).
TEST(ExtendSweep, PromisesFollowFromTransformersOwnFrequencies) {
  int compared = 0;
  for (const Json& c : golden()) {
    if (!c.contains("layers") || c["config"].dump().find("\"factor\"") != std::string::npos) continue;
    if (c["config"].dump().find("_factor\":[") != std::string::npos) continue;  // lists
    const std::string type = c["config"]["model_type"];
    if (type == "ministral3" || type == "gpt_oss") continue;  // their classes have a scaling of their own
    if (!c["config"].contains("max_position_embeddings")) continue;
    const double to = 65536, s = to / c["config"]["max_position_embeddings"].get<double>();
    const auto plan = plan_extension(Config::parse(c["config"].dump(), "config.json"), std::int64_t(to));
    for (const Extension& way : plan.ways) {
      const std::string name(way.method->name);
      if (!way.refused.empty() || (name != "linear" && name != "ntk")) continue;
      for (const Json& layer : c["layers"])
        for (const ExtendedGroup& g : way.groups) {
          if (std::find(g.layers.begin(), g.layers.end(), layer["layer"].get<std::int64_t>()) ==
              g.layers.end())
            continue;
          const Json& at = layer["at"].at(0);
          const double channels = 2 * at["pairs"].get<double>();
          for (std::size_t n = 0; n < at["at"].size(); ++n) {
            const std::size_t i = at["at"][n];
            if (at["f"][n] == 0.0) continue;
            const double by = name == "linear" ? s : std::pow(s, 2 * double(i) / (channels - 2));
            EXPECT_NEAR(g.numbers.inv_freq.at(i) * by / at["f"][n].get<double>(), 1, 2e-6)
                << name << " " << c["config"] << " pair " << i;
            ++compared;
          }
        }
    }
  }
  EXPECT_GT(compared, 1000);
}

// transformers 4 has no dictionary for each kind of layer (Gemma 4, ModernBERT), other bases (OLMo 3), no mscale of the softmax
// (DeepSeek V2) and no temperature (Ministral 3): there its settings say that they come to something else.
TEST(ExtendSweep, SettingsOfTransformers4AreWhatTheyPromise) {
  std::map<std::string, int> wrong;
  int compared = 0;
  for (std::size_t n = 0; n < golden().size(); n += 2) {
    const Json& c = golden()[n];
    if (!c.contains("layers")) continue;
    for (const Extension& way : plan_extension(Config::parse(c["config"].dump(), "config.json"), 65536).ways)
      for (const ExtensionSnippet& s : way.snippets)
        if (s.program == "transformers 4")
          ++compared, wrong[c["config"]["model_type"]] += !s.readings.at(0).differs.empty();
  }
  const std::set<std::string> unlike{"deepseek_v2", "gemma4_text", "ministral3", "modernbert", "olmo3"};
  for (const auto& [type, count] : wrong) EXPECT_EQ(count > 0, unlike.contains(type)) << type << " " << count;
  EXPECT_GT(compared, 2500);
}

}  // namespace
}  // namespace gnomon
