// What gnomon makes of a model's configuration, against what transformers itself computes from it
// (tests/golden/make_resolver.py), and against answers written by hand for files of real models.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/models/resolve/numbers.h"
#include "gnomon/models/resolve/resolved.h"
#include "tests/models/resolver_support.h"

namespace gnomon {
namespace {

std::vector<Json> read_golden(const std::string& name) {
  return Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / name)).get<std::vector<Json>>();
}
const std::vector<Json>& golden() {
  static const auto all = [] {
    auto lines = read_golden("resolver.json");
    for (Json& line : read_golden("resolver_edges.json")) lines.push_back(std::move(line));
    return lines;
  }();
  return all;
}

Resolved resolve_text(const Json& config, Reader reader = Reader::v5) {
  return resolve(Config::parse(config.dump(), "config.json"), reader);
}

// Sections as a spec has them. In turns the class writes height and width into every third pair up to three times their
// number, as far as there are pairs, and time stays in all others (apply_interleaved_mrope).
std::string sections_of(const Json& stated, const LayerPosition& layer) {
  auto parts = stated.get<std::vector<std::size_t>>();
  const std::size_t pairs = numbers_of(layer, 1).inv_freq.size();
  const bool in_turns = layer.spec.print().find("mrope_interleaved") != std::string::npos;
  if (in_turns && std::accumulate(parts.begin(), parts.end(), std::size_t{0}) != pairs) {
    std::vector<std::size_t> count(3);
    for (std::size_t p = 0; p < pairs; ++p) ++count[p % 3 != 0 && p < 3 * parts[p % 3] ? p % 3 : 0];
    parts = count;
  }
  return text(parts[0], "/", parts[1], "/", parts[2]);
}

// ALiBi's slopes, the rows of a learned table, the streams of M-RoPE.
std::string other_than_rotary(const Resolved& answer, const LayerPosition& layer, const Json& want) {
  if (want.contains("slopes")) {
    const auto slopes = numbers_of(layer, 1).slopes;
    if (slopes.size() != want.at("slopes").size()) return text(slopes.size(), " slopes");
    for (std::size_t h = 0; h < slopes.size(); ++h)
      if (!(std::abs(slopes[h] - want.at("slopes")[h].get<double>()) <= 1e-6 * slopes[h]))
        return text("slope ", h, ": ", slopes[h], ", not ", want.at("slopes")[h].dump());
  }
  if (want.contains("rows")) {
    const std::string input = text("add(learned(length=", want.at("rows").dump(), "), scale=off)");
    if (answer.input.print() != Spec::parse(input).print()) return answer.input.print() + ", not " + input;
  }
  if (want.contains("sections")) {
    const std::string sections = sections_of(want.at("sections"), layer);
    if (layer.spec.print().find(sections) == std::string::npos) return "no sections " + sections;
  }
  return {};
}

std::string difference(const Resolved& answer, const Json& c) {
  for (const Json& want : c.at("layers")) {
    const LayerPosition& layer = answer.layers.at(want.at("layer").get<std::size_t>());
    if (const auto wrong = other_than_rotary(answer, layer, want); !wrong.empty()) return wrong;
    for (const Json& at : want.value("at", Json::array())) {
      const auto wrong = difference(numbers_of(layer, at.at("length")), at, tolerance(layer));
      if (!wrong.empty())
        return text("layer ", want.at("layer").dump(), ", length ", at.at("length").dump(), ": ", wrong);
    }
    if (want.value("at", Json()).is_array() && want.at("at").empty() &&
        !numbers_of(layer, 1).inv_freq.empty())
      return text("layer ", want.at("layer").dump(), " turns");
    if (!want.contains("scale")) continue;
    const double root = 1 / std::sqrt(double(layer.head_dim));
    const double scale = (layer.scale == 0 ? root : layer.scale) * numbers_of(layer, 1).softmax_factor;
    if (std::abs(scale - want.at("scale").get<double>()) > 1e-9)
      return text("factor of q·k ", scale, ", not ", want.at("scale").dump());
  }
  return {};
}

// Every configuration that the reader's own code has an answer for has the same one here.
void expect_same(const std::vector<Json>& cases, Reader reader, int at_least) {
  int wrong_ones = 0, compared = 0;
  for (const Json& c : cases) {
    if (!c.contains("layers") || c.contains("difference")) continue;
    ++compared;
    std::string wrong;
    try {
      wrong = difference(resolve_text(c.at("config"), reader), c);
    } catch (const Error& error) {
      wrong = error.what();
    }
    if (!wrong.empty() && ++wrong_ones <= 10) ADD_FAILURE() << c.at("config") << "\n" << wrong;
  }
  EXPECT_EQ(wrong_ones, 0);
  EXPECT_GE(compared, at_least);
}
TEST(Resolver, ComputesWhatTransformers5Computes) { expect_same(golden(), Reader::v5, 1740); }
TEST(Resolver, ComputesWhatTransformers4Computes) {
  expect_same(read_golden("resolver_v4.json"), Reader::v4, 700);
}

TEST(Resolver, RefusesWhatTransformersRefuses) {
  int refused = 0;
  for (const Json& c : golden()) {
    if (!c.contains("refused") || c.contains("difference")) continue;
    ++refused;
    try {
      resolve_text(c.at("config"));
      ADD_FAILURE() << c.at("config") << ": transformers raises " << c.at("refused");
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::input) << error.what();
    }
  }
  EXPECT_GT(refused, 0);
}

// The line without what its mark is about: streams, or the bits that bfloat16 has not. The rest is the same.
Json without_marked(const Json& c) {
  Json rest = c;
  if (!c.contains("layers")) return {{"layers", Json::array()}};
  for (Json& layer : rest["layers"]) {
    for (const char* part : {"sections", "slopes", "rows"}) layer.erase(part);
  }
  return rest;
}

// Marked with the rule of `gnomon lint` that tells it (lint_differences_test): another answer, none, or one where transformers has
// none. A mark that is no longer true is seen.
TEST(Resolver, DeliberateDifferences) {
  int marked = 0;
  for (const Json& c : golden()) {
    if (!c.contains("difference")) continue;
    ++marked;
    bool differs = true;
    try {
      const Resolved answer = resolve_text(c.at("config"));
      differs = c.contains("refused") || !difference(answer, c).empty();
      EXPECT_EQ(difference(answer, without_marked(c)), "") << c.at("config");
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::input) << error.what();
      differs = c.contains("layers");
    }
    EXPECT_TRUE(differs) << c.at("difference") << ": " << c.at("config");
  }
  EXPECT_GT(marked, 36);
}

// The comparison sees a base that is off by a hundred-thousandth, and a wrong factor of cos and sin.
TEST(Resolver, TheComparisonSeesSmallErrors) {
  int seen = 0;
  for (const Json& c : golden()) {
    if (!c.contains("layers") || ++seen > 200) continue;
    const auto& want = c.at("layers")[0];
    if (!want.contains("at") || want.at("at").empty()) continue;
    const LayerPosition layer = resolve_text(c.at("config")).layers.at(want.at("layer").get<std::size_t>());
    const Json& at = want.at("at").back();
    const Numbers right = numbers_of(layer, at.at("length"));
    Numbers wrong = right;
    for (double& f : wrong.inv_freq) f = std::pow(f, 1 + 1e-5);
    EXPECT_NE(difference(wrong, at, tolerance(layer)), "") << c.at("config");
    wrong = right, wrong.attention_factor *= 1 + 1e-6;
    EXPECT_NE(difference(wrong, at, tolerance(layer)), "") << c.at("config");
  }
}

}  // namespace
}  // namespace gnomon
