// Of a class that gnomon does not know, every line that is no word of the file is marked as a guess: in text, in JSON, on the page and
// between two files. Of a known class nothing is. No error of lint rests on one.
#include "gnomon/models/explain/guesses.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/pages/explain.h"
#include "gnomon/pages/explain_words.h"
#include "tests/files/gguf_bytes.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::set<std::string>;

Explanation explained(const std::string& json) {
  const Config config = Config::parse(json, "config.json");
  return explain(config, reader_named("", config));
}
bool has_mark(const std::string& says) { return says.find("(guess)") != std::string::npos; }

// The names of lines with a mark, of the first group; those of sources begin with "=".
Names marked_lines(const Explanation& e) {
  Names found;
  for (const pages::Line& line : pages::group_lines(e, e.groups.at(0), false)) {
    const bool source = line.name.empty() || line.name == "from";
    if (has_mark(line.says))
      found.insert(source ? "=" + line.says.substr(0, line.says.find(' ')) : line.name);
  }
  return found;
}
Json json_of(const Explanation& e) { return Json::parse(pages::explain_json(e, -1)); }
Names guesses_of(const Json& object) {
  Names found;
  for (const Json& name : object.value("guesses", Json::array())) found.insert(name);
  return found;
}

constexpr const char* kBare =
    R"({"model_type": "novel", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_scaling": null,
        "max_position_embeddings": 512, "partial_rotary_factor": 0.5})";
constexpr const char* kSaid =
    R"({"model_type": "novel", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "num_hidden_layers": 2,
        "max_position_embeddings": 512, "sliding_window": 64, "layer_types": ["sliding_attention", "sliding_attention"],
        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 70000.0}})";

TEST(Guesses, WhatTheFileSaysIsNone) {
  const Explanation e = explained(kSaid);
  EXPECT_EQ(marked_lines(e), (Names{"spec", "pairs", "rotated", "frequencies", "wavelengths", "seen",
                                    "cos, sin", "softmax", "=pairing", "=scale"}));
  const Json j = json_of(e);
  EXPECT_EQ(j.at("guessed"), true);
  EXPECT_EQ(guesses_of(j), (Names{"causal", "input", "positions_end", "key_cache"}));
  const Json& layer = j.at("layers")[0];
  EXPECT_EQ(layer.at("guessed"), true);
  EXPECT_EQ(guesses_of(layer),
            (Names{"spec", "kind", "causal", "scale", "softmax_factor", "rotary_dim", "first_channel",
                   "pairing", "inv_freq", "attention_factor", "turns_trained", "turns_longest"}));
}

TEST(Guesses, WhatStandsForAnAbsentKeyIsOne) {
  const Explanation e = explained(kBare);
  EXPECT_EQ(marked_lines(e),
            (Names{"spec", "heads", "pairs", "rotated", "theta", "frequencies", "wavelengths", "seen",
                   "cos, sin", "softmax", "=encoding", "=theta", "=pairing", "=rotary_dim", "=scale"}));
  const Json j = json_of(e);
  const Names guesses = guesses_of(j.at("layers")[0]);
  for (const char* name : {"head_dim", "kv_heads", "theta", "window", "rotary_dim"})
    EXPECT_TRUE(guesses.contains(name)) << name;
  EXPECT_FALSE(guesses.contains("heads"));
  Names rows;
  for (const Json& row : j.at("sources"))
    if (row.contains("guessed")) rows.insert(row.at("what"));
  EXPECT_EQ(rows, (Names{"kv_heads", "head_dim"}));
}

TEST(Guesses, EverySentenceThatRestsOnOneIsMarked) {
  const Explanation e = explained(kSaid);
  const auto said = pages::explain_answers(e);
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0], "novel, as transformers 5.23 reads it: 2 causal (guess) layers, trained on 512 tokens.");
  EXPECT_TRUE(said[1].starts_with("gnomon does not know this family. ")) << said[1];
  EXPECT_TRUE(said[2].ends_with(" (guess).")) << said[2];
  EXPECT_TRUE(has_mark(pages::cache_text(e)));
  for (std::size_t n = 1; n < e.lengths.size(); ++n)
    for (const std::string& one : pages::at_length(e, n)) EXPECT_TRUE(has_mark(one)) << one;
  const Explanation table =
      explained(R"({"model_type": "novel", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128})");
  EXPECT_EQ(table.model.input.print(), "add(learned(length=128), scale=off)");
  EXPECT_TRUE(has_mark(pages::explain_answers(table).at(2)));
}

// A file without a key of position is answered all the same: no position, as a guess.
TEST(Guesses, NoKeyOfPositionIsNoPosition) {
  const Explanation e = explained(
      R"({"model_type": "novel", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2})");
  EXPECT_EQ(e.groups.at(0).kind, "none");
  EXPECT_TRUE(has_mark(pages::explain_answers(e).at(2)));
}

TEST(Guesses, ThePageMarksThem) {
  const std::string page = pages::explain_page(explained(kSaid));
  for (const char* says :
       {"<td>halves (guess)</td>", "32 channels of a head (guess)", "Every frequency (guess)"})
    EXPECT_NE(page.find(says), std::string::npos) << says;
  EXPECT_EQ(page.find("70000 (guess)"), std::string::npos);
}

TEST(Guesses, BetweenTwoFilesEachValueIsMarked) {
  const std::string llama =
      R"({"model_type": "llama", "hidden_size": 128, "num_attention_heads": 8, "num_hidden_layers": 2,
          "max_position_embeddings": 512})";
  const Explanation a = explained(llama), b = explained(kBare);
  const Differences found = differences_of_files(a, b);
  std::map<Quantity, const Difference*> of;
  for (const Difference& d : found.computed) {
    of[d.what] = &d;
    EXPECT_FALSE(d.a_guess) << quantity_name(d.what);
  }
  ASSERT_TRUE(of.contains(Quantity::heads) && of.contains(Quantity::head_dim));
  EXPECT_FALSE(of[Quantity::heads]->b_guess);
  EXPECT_TRUE(of[Quantity::head_dim]->b_guess);
  EXPECT_NE(found.notes.back().find("partly a guess"), std::string::npos);
  const Json j = Json::parse(pages::differences_json(a, b, found));
  for (const Json& d : j.at("differences"))
    EXPECT_EQ(guesses_of(d), d.at("what") == "heads" ? Names{} : Names{"b"}) << d;
  const Differences same = differences_of_files(b, b);
  EXPECT_TRUE(same.same());
  EXPECT_FALSE(same.notes.empty());
}

// What is not marked stands in the file under the key that is named.
void expect_said_by_file(const Config& config, const Explanation& e, const std::vector<Because>& rows) {
  for (const Because& b : rows) {
    if (is_guess(e, b) || b.what == "family" || b.what == "part") continue;
    const Config::Kind kind = config.kind(b.key);
    if (kind == Config::Kind::number)
      EXPECT_EQ(shortest(*config.number(b.key)), shortest(std::stod(b.value)))
          << config.where() << " " << b.key;
    else
      EXPECT_TRUE(kind == Config::Kind::list || kind == Config::Kind::text || kind == Config::Kind::flag)
          << config.where() << " " << b.key;
  }
}
const Json& classes() {
  static const Json all = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "classes.json"));
  return all.at("classes");
}
TEST(Guesses, WhatIsNotMarkedStandsInTheFile) {
  std::size_t answered = 0;
  for (Json file : classes()) {
    file = file.at("config"), file["model_type"] = "no_such_class";
    const Config config = Config::parse(file.dump(), file.dump());
    try {
      const Explanation e = explain(config, Reader::v5);
      EXPECT_FALSE(e.model.known);
      expect_said_by_file(config, e, e.model.because);
      for (const LayerGroup& g : e.groups) {
        expect_said_by_file(config, e, g.position.because);
        const bool listed = !g.position.mixer.empty();  // a layer without attention, as layer_types says it
        EXPECT_NE(has_mark(pages::group_lines(e, g, false).front().says), listed);
      }
      ++answered;
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::input) << error.what();
    }
  }
  EXPECT_GE(answered, 100u);
}

void expect_no_mark(const Explanation& e) {
  ASSERT_TRUE(e.model.known) << e.where;
  EXPECT_EQ(pages::explain_json(e, -1).find("guess"), std::string::npos) << e.where;
  EXPECT_FALSE(has_mark(pages::explain_page(e))) << e.where;
  for (const LayerGroup& g : e.groups)
    for (const pages::Line& line : pages::group_lines(e, g, false))
      EXPECT_FALSE(has_mark(line.says)) << e.where;
  const Differences found = differences_of_files(e, e);
  EXPECT_EQ(pages::differences_json(e, e, found).find("guess"), std::string::npos) << e.where;
}
TEST(Guesses, OfAKnownClassNothingIsMarked) {
  for (const auto& entry : std::filesystem::directory_iterator(Path(GNOMON_TESTS) / "golden" / "configs")) {
    const Config config = Config::open(entry.path());
    expect_no_mark(explain(config, reader_named("", config)));
  }
}

class GuessesOfGguf : public Files {
 protected:
  Config opened(const GgufBytes& g) {
    const Path path = folder_ / "model.gguf";
    const std::string bytes = g.bytes();
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    return Config::open(path);
  }
  Names errors(const GgufBytes& g) {
    Names ids;
    for (const LintResult& r : lint(LintContext(opened(g))))
      if (r.rule->severity == Severity::error) ids.insert(std::string(r.rule->id));
    return ids;
  }
};
GgufBytes model(const std::string& arch) {
  GgufBytes g(arch);
  g.whole("block_count", 2).whole("embedding_length", 512).whole("context_length", 4096);
  return g.whole("attention.head_count", 8).number("rope.freq_base", 5e5f);
}

TEST_F(GuessesOfGguf, ThoseOfAnUnknownArchitectureAreMarked) {
  const Explanation bare = explain(opened(model("novel")), Reader::llama_cpp);
  const Names lines = marked_lines(bare);
  for (const char* name : {"spec", "heads", "pairs", "rotated", "frequencies", "softmax", "=pairing"})
    EXPECT_TRUE(lines.contains(name)) << name;
  EXPECT_FALSE(lines.contains("theta"));
  const Explanation said =
      explain(opened(model("novel").whole("rope.dimension_count", 32).whole("attention.key_length", 64)),
              Reader::llama_cpp);
  EXPECT_FALSE(marked_lines(said).contains("rotated"));
  expect_no_mark(explain(opened(model("llama")), Reader::llama_cpp));
}

// The same numbers, of an architecture that llama.cpp has and of one that nobody knows.
TEST_F(GuessesOfGguf, NoErrorRestsOnThem) {
  const auto wide = [](const std::string& arch) { return model(arch).whole("rope.dimension_count", 128); };
  EXPECT_TRUE(errors(wide("qwen2")).contains("gguf-rotated-width"));
  EXPECT_EQ(errors(wide("novel")), Names{}) << "the head is a guess";
  EXPECT_EQ(errors(wide("novel").whole("attention.key_length", 64)), Names{"gguf-rotated-width"})
      << "the file contradicts itself";
  const auto scaled = [](const std::string& arch) { return model(arch).text("rope.scaling.type", "magic"); };
  EXPECT_TRUE(errors(scaled("qwen2")).contains("file-refused"));
  EXPECT_EQ(errors(scaled("novel")), Names{});
}

TEST(Guesses, NoErrorRestsOnADefaultOfTheType) {
  const auto errors = [](const std::string& type, const std::string& betas) {
    const std::string json =
        R"({"model_type": ")" + type +
        R"(", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 4096,
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 2.0, "original_max_position_embeddings": 2048, )" +
        betas + "}}";
    Names ids;
    for (const LintResult& r : lint(LintContext(Config::parse(json, "config.json"))))
      if (r.rule->severity == Severity::error) ids.insert(std::string(r.rule->id));
    return ids;
  };
  EXPECT_EQ(errors("llama", R"("beta_slow": 64)"), Names{"yarn-betas-exchanged"});
  EXPECT_EQ(errors("novel", R"("beta_slow": 64)"), Names{});
  EXPECT_EQ(errors("novel", R"("beta_fast": 1, "beta_slow": 64)"), Names{"yarn-betas-exchanged"});
}

}  // namespace
}  // namespace gnomon
