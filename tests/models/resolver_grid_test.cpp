// A drawn grid of configurations (tests/golden/make_resolver_grid.py): what gnomon explains, against what transformers' models did with
// position when they ran. GNOMON_RESOLVER_GRID names one more file of that script, for a larger grid than the recorded one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/models/explain/explain.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/spec/scheme.h"
#include "tests/models/resolver_support.h"

namespace gnomon {
namespace {

struct Grid {
  std::int64_t tokens;
  std::vector<std::int64_t> distances;
  Json masks;  // for each query a number, whose bits are the keys that it sees
  std::vector<Json> cases;
};
Grid read_grid(const Path& path) {
  const Json all = Json::parse(read_file(path));
  return {all.at("tokens"), all.at("distances").get<std::vector<std::int64_t>>(), all.at("masks"),
          all.at("cases").get<std::vector<Json>>()};
}
const Grid& recorded() {
  static const Grid grid = read_grid(Path(GNOMON_TESTS) / "golden" / "resolver_grid.json");
  return grid;
}

Shape one_head(const LayerPosition& layer) { return {layer.head_dim, 1, layer.head_dim, 1, layer.causal}; }
std::vector<std::uint64_t> keys_seen(const LayerPosition& layer, std::int64_t tokens) {
  std::vector<double> places;
  for (std::int64_t t = 0; t < tokens; ++t) places.push_back(double(t));
  std::vector<std::uint64_t> rows(std::size_t(tokens), 0);
  for (std::int64_t i = 0; i < tokens; ++i)
    for (std::int64_t j = 0; j < (layer.causal ? i + 1 : tokens); ++j) {
      bool sees = true;
      for (const Named& named : layer.spec.attention)
        if (const auto encoding = make_encoding(named, one_head(layer));
            const auto* mask = part<MaskPart>(*encoding))
          sees = sees && mask->sees(Scene{places, {}, {}, {}}, i, j);
      if (sees) rows[std::size_t(i)] |= std::uint64_t(1) << j;
    }
  return rows;
}

const Named* named(const LayerPosition& layer, std::string_view name) {
  for (const Named& n : layer.spec.attention)
    if (n.name == name) return &n;
  return nullptr;
}
std::string option(const Named& encoding, std::string_view key) {
  const auto value = encoding.option(key);
  return value ? value->print() : std::string();
}

// T5: a table that holds its own row numbers tells the bucket of a distance.
std::string wrong_buckets(const LayerPosition& layer, const Json& want,
                          const std::vector<std::int64_t>& distances) {
  const Named* t5 = named(layer, "t5");
  if (!t5) return "no buckets";
  const auto encoding = make_encoding(*t5, one_head(layer));
  std::vector<double> table(std::size_t(encoding->param_count()));
  for (std::size_t n = 0; n < table.size(); ++n) table[n] = double(n);
  for (const char* side : {"before", "after"})
    for (std::size_t n = 0; want.contains(side) && n < distances.size(); ++n) {
      const double places[] = {0, double(distances[n])};
      const bool before = std::string_view(side) == "before";
      const double found = part<BiasPart>(*encoding)->bias(Scene{places, {}, {}, table}, 0, before, !before);
      if (found != want.at(side)[n].get<double>())
        return text("bucket ", found, ", not ", want.at(side)[n].dump(), ", ", distances[n], " tokens ",
                    side);
    }
  return {};
}
std::string wrong_relative(const LayerPosition& layer, const Json& want) {
  const Named* first = named(layer, "deberta");
  const Named* second = named(layer, "deberta_v2");
  if (want.is_null()) return first || second ? "a relative part" : "";
  const bool bucketed = want.at("buckets") > 0;
  if (bucketed ? !second : !first) return "another relative part";
  std::string terms;
  for (const Json& term : want.at("terms")) terms += (terms.empty() ? "" : "_") + term.get<std::string>();
  const Named& own = bucketed ? *second : *first;
  if (option(own, "terms") != terms) return text("terms ", option(own, "terms"), ", not ", terms);
  if (option(own, bucketed ? "distance" : "span") != text(want.at("span").dump()))
    return text("span, not ", want.at("span").dump());
  return !bucketed || option(own, "buckets") == text(want.at("buckets").dump()) ? "" : "other buckets";
}
std::string wrong_slopes(const Numbers& found, const Json& want) {
  if (found.slopes.size() != want.size()) return text(found.slopes.size(), " slopes");
  for (std::size_t h = 0; h < want.size(); ++h)
    if (!(std::abs(found.slopes[h] - want[h].get<double>()) <= 1e-6 * found.slopes[h]))
      return text("slope ", h, ": ", found.slopes[h], ", not ", want[h].dump());
  return {};
}
std::string wrong_turns(const Numbers& found, const Json& turned) {
  if (turned.is_null()) return found.inv_freq.empty() ? "" : "it turns";
  const bool halves = found.pairing == Pairing::halves || found.rotary_dim == 2;  // one pair is both
  const std::string pairs = halves ? "halves" : "adjacent";
  const Json own = Json::array({found.first, found.rotary_dim, pairs});
  return own == turned ? "" : text("channels ", own.dump(), ", not ", turned.dump());
}

std::string difference(const LayerPosition& layer, const Json& want, const Grid& grid) {
  const Numbers now = numbers_of(layer, double(grid.tokens));
  if (want.contains("heads")) {
    const Json own = Json::array({layer.heads, layer.kv_heads, layer.head_dim});
    if (own != want.at("heads")) return text("heads ", own.dump(), ", not ", want.at("heads").dump());
  }
  if (want.contains("sees")) {
    const Json own = keys_seen(layer, grid.tokens), mask = grid.masks.at(want.at("sees").get<std::size_t>());
    if (own != mask) return text("sees ", own.dump(), ", not ", mask.dump());
  }
  if (want.contains("scale")) {
    const double scale =
        (layer.scale == 0 ? 1 / std::sqrt(double(layer.head_dim)) : layer.scale) * now.softmax_factor;
    if (!(std::abs(scale / want.at("scale").get<double>() - 1) <= 2e-7))
      return text("scale ", scale, ", not ", want.at("scale").dump());
  }
  if (want.contains("turned"))
    if (const auto wrong = wrong_turns(now, want.at("turned")); !wrong.empty()) return wrong;
  for (const Json& at : want.value("at", Json::array()))
    if (const auto wrong = difference(numbers_of(layer, at.at("length")), at, tolerance(layer));
        !wrong.empty())
      return text("length ", at.at("length").dump(), ": ", wrong);
  const double growth = temperature_at(layer, grid.tokens) / temperature_at(layer, 1);
  if (want.contains("heads") && !(std::abs(growth / want.value("growth", 1.0) - 1) <= 1e-4))
    return text("q grows by ", growth, ", not ", want.value("growth", 1.0));
  if (want.contains("extent")) {
    const Named* profile = named(layer, "content_profile");
    if (!profile || option(*profile, "extent") != text(want.at("extent").dump()))
      return text("extent, not ", want.at("extent").dump());
  }
  if (want.contains("slopes")) return wrong_slopes(now, want.at("slopes"));
  if (want.contains("buckets")) return wrong_buckets(layer, want.at("buckets"), grid.distances);
  return want.contains("relative") ? wrong_relative(layer, want.at("relative")) : "";
}

// The first difference, in words; empty: none.
std::string difference(const Resolved& answer, const Json& c, const Grid& grid) {
  std::vector<const LayerPosition*> layers;
  for (const LayerPosition& layer : answer.layers)
    if (layer.component != "indexer") layers.push_back(&layer);
  if (c.contains("rows")) {
    const std::int64_t rows = c.at("rows");
    const std::string input =
        rows ? text("add(learned(length=", rows, "), scale=off)") : "add(none, scale=off)";
    if (answer.input.print() != Spec::parse(input).print()) return answer.input.print() + ", not " + input;
  }
  if (c.contains("kept")) {
    Resolved there = answer;
    there.trained_length = there.longest = grid.tokens;
    const std::int64_t bytes = explain(std::move(there), "grid").cache->at.front();
    if (bytes != 2 * c.at("kept").get<std::int64_t>())
      return text("keeps ", bytes, " bytes, not twice ", c.at("kept").dump());
  }
  std::size_t told = 0;
  for (const Json& want : c.at("layers"))
    for (const std::size_t l : want.at("layers")) {
      if (l >= layers.size()) return text("there is no layer ", l);
      const auto wrong = difference(*layers[l], want, grid);
      if (!wrong.empty()) return text("layer ", l, ": ", wrong);
      ++told;
    }
  return told == layers.size() ? "" : text(layers.size(), " layers, not ", told);
}

struct Outcome {
  std::string kind, wrong;      // "agreed", "refused by both", "refused by us", "answered by us", "differs"
  std::set<std::string> rules;  // of lint, that say so
};
Outcome outcome_of(const Json& c, const Grid& grid) {
  const LintContext file(Config::parse(c.at("config").dump(), "config.json"));
  const Resolved* answer = file.read_by(Reader::v5);
  Outcome out;
  if (c.contains("refused")) {
    out = {answer ? "answered by us" : "refused by both", c.at("refused").get<std::string>(), {}};
    if (!answer) return out;
  } else if (!answer) {
    out = {"refused by us", file.refusal(Reader::v5), {}};
  } else {
    out.wrong = difference(*answer, c, grid);
    out.kind = out.wrong.empty() ? "agreed" : "differs";
    if (out.wrong.empty()) return out;
  }
  for (const LintResult& found : lint(file)) {
    // Two answers: gnomon's own must be told. One answer: that the other has none.
    const bool tells =
        found.rule->traits.departs || (found.rule->severity == Severity::error && out.kind != "differs");
    if (tells && found.rule->id != "file-refused") out.rules.emplace(found.rule->id);
  }
  return out;
}

std::map<std::string, int> compare(const Grid& grid) {
  std::map<std::string, int> counts;
  for (const Json& c : grid.cases) {
    const Outcome out = outcome_of(c, grid);
    ++counts[out.kind];
    if (out.kind == "agreed" || out.kind == "refused by both") continue;
    for (const std::string& rule : out.rules) ++counts[out.kind + ", told by " + rule];
    if (out.rules.empty())
      ADD_FAILURE() << out.kind << ", and no rule of lint says so: " << out.wrong << " "
                    << c.value("error", "") << "\n"
                    << c.at("config");
  }
  return counts;
}

TEST(Grid, EveryDifferenceIsARuleOfLint) {
  const auto counts = compare(recorded());
  EXPECT_GE(counts.at("agreed"), 380);
}

TEST(Grid, ALargerOneThatIsNamed) {
  const char* path = std::getenv("GNOMON_RESOLVER_GRID");
  if (!path) GTEST_SKIP() << "GNOMON_RESOLVER_GRID names no file";
  for (const auto& [kind, count] : compare(read_grid(path))) std::cout << count << " " << kind << "\n";
}

// Types that make_classes.py and make_towers.py ran, and those around them.
// The types that objects within a file name, too.
void add_types(const Json& file, std::set<std::string>& types) {
  if (!file.is_object()) return;
  if (file.contains("model_type")) types.insert(file.at("model_type"));
  for (const auto& [key, value] : file.items()) add_types(value, types);
}
std::set<std::string> types_that_ran() {
  const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "classes.json"));
  std::set<std::string> types;
  for (const Json& c : all.at("classes")) types.insert(c.at("type")), add_types(c.at("config"), types);
  for (const auto& [outer, inner] : all.at("wrappers").items()) types.insert(outer);
  const Json towers = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "towers.json"));
  for (const Json& c : towers.at("towers")) types.insert(c.at("type"));
  return types;
}

// Every type that transformers has a class for is in it, most of them many times, saved and by hand, or its class ran.
TEST(Grid, HoldsEveryFamily) {
  std::set<std::string> seen = types_that_ran();
  int saved = 0;
  for (const Json& c : recorded().cases)
    seen.insert(c.at("config").at("model_type")), saved += c.contains("saved");
  EXPECT_GE(saved, 100);
  for (const Family& family : families())
    for (const std::string_view type : family.types) {
      const bool own =
          std::find(family.own_code.begin(), family.own_code.end(), type) != family.own_code.end();
      EXPECT_EQ(seen.contains(std::string(type)), !own) << type;
    }
}

// The comparison sees another window, another head, pairs of the other kind, a share less.
TEST(Grid, TheComparisonSeesOtherAnswers) {
  int windows = 0, pairs = 0;
  for (const Json& c : recorded().cases) {
    const LintContext file(Config::parse(c.at("config").dump(), "config.json"));
    const Resolved* answer = file.read_by(Reader::v5);
    if (!answer || !c.contains("layers") || !difference(*answer, c, recorded()).empty()) continue;
    for (std::size_t l = 0; l < answer->layers.size(); ++l) {
      Resolved wrong = *answer;
      LayerPosition& layer = wrong.layers[l];
      if (layer.component == "indexer") continue;  // no call of attention is its own
      layer.heads += 1;
      if (c.at("layers")[0].contains("heads")) {
        EXPECT_NE(difference(wrong, c, recorded()), "") << c.at("config");
      }
      layer = answer->layers[l];
      for (Named& part : layer.spec.attention)
        for (auto& [name, value] : part.options) {
          if (part.name != "window" || name != "size" || value.number() > 8) continue;
          value = value.number() + 1;
          EXPECT_NE(difference(wrong, c, recorded()), "") << c.at("config");
          ++windows;
        }
      layer = answer->layers[l];
      for (Named& part : layer.spec.attention) {
        if (part.name != "rope") continue;
        const std::string other = option(part, "pairing") == "halves" ? "adjacent" : "halves";
        std::erase_if(part.options, [](const auto& o) { return o.first == "pairing"; });
        part.options.emplace_back("pairing", other);
        if (numbers_of(layer, 1).rotary_dim < 4 || !c.at("layers")[0].contains("turned")) continue;
        EXPECT_NE(difference(wrong, c, recorded()), "") << c.at("config");
        ++pairs;
      }
    }
  }
  EXPECT_GE(windows, 100);
  EXPECT_GE(pairs, 100);
}

}  // namespace
}  // namespace gnomon
