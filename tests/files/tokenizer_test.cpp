// Tokenisers of strangers' models against Hugging Face's `tokenizers` (tests/golden/make_tokenizers.py).
#include "gnomon/files/tokenizer.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "gnomon/core/text.h"
#include "gnomon/files/gguf.h"
#include "gnomon/files/regex.h"
#include "gnomon/files/sha256.h"
#include "gnomon/files/unicode.h"
#include "gnomon/files/word_pieces.h"
#include "tests/support/door.h"

namespace gnomon {
namespace {

using Json = nlohmann::ordered_json;
using Ids = std::vector<std::int32_t>;

const Json& golden() {
  static const Json json = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "tokenizers.json"));
  return json;
}
const Json& golden_case(std::string_view name) {
  for (const Json& c : golden().at("cases")) {
    if (c.at("name") == name) return c;
  }
  throw std::logic_error("there is no such case");
}
Tokenizer tokenizer(const Json& json) { return Tokenizer::parse(json.dump(), "file"); }

std::size_t different_lines(const Tokenizer& t, const Json& ids) {
  std::size_t different = 0;
  for (std::size_t n = 0; n < ids.size(); ++n)
    different += t.encode(golden().at("lines")[n].get<std::string>()) != ids[n].get<Ids>();
  return different;
}

TEST(Tokenizer, GivesTheIdsOfHuggingFace) {
  for (const Json& c : golden().at("cases")) {
    const Tokenizer t = tokenizer(c.at("tokenizer"));
    for (std::size_t n = 0; n < c.at("ids").size(); ++n) {
      const std::string line = golden().at("lines")[n];
      EXPECT_EQ(t.encode(line), c.at("ids")[n].get<Ids>()) << c.at("name") << ", line " << n << ": " << line;
    }
    EXPECT_EQ(t.encode(golden().at("lines")[0].get<std::string>(), Tokenizer::Ends::bare),
              c.at("bare").get<Ids>());
  }
}

// What it would be to read another normaliser or another way of cutting than the file has.
TEST(Tokenizer, AnotherPipelineGivesOthers) {
  std::size_t controls = 0;
  for (const Json& c : golden().at("cases")) {
    for (const Json& wrong : c.at("wrong")) {
      Json changed = c.at("tokenizer");
      changed.merge_patch(wrong.at("patch"));
      EXPECT_EQ(different_lines(tokenizer(changed), c.at("ids")), wrong.at("lines").get<std::size_t>())
          << c.at("name") << wrong.at("patch");
      EXPECT_GT(wrong.at("lines"), 0);
      ++controls;
    }
  }
  EXPECT_GE(controls, 20u);
}

std::string without_invalid_bytes(std::string bytes) {
  for (auto at = first_invalid_utf8(bytes); at != bytes.npos; at = first_invalid_utf8(bytes))
    bytes.erase(at, 1);
  return bytes;
}

TEST(Tokenizer, DecodesAsHuggingFaceDoes) {
  int compared = 0;
  for (const Json& c : golden().at("cases")) {
    const Tokenizer t = tokenizer(c.at("tokenizer"));
    std::string all;
    for (const Json& ids : c.at("ids")) {
      std::string line = without_invalid_bytes(t.decode(ids.get<Ids>()));
      for (auto at = line.find("\uFFFD"); at != line.npos; at = line.find("\uFFFD")) line.erase(at, 3);
      all += line;
    }
    if (c.at("decoded").is_null()) continue;
    EXPECT_EQ(sha256(all), c.at("decoded").get<std::string>()) << c.at("name");
    ++compared;
  }
  EXPECT_GE(compared, 6);
  const Tokenizer bytes = tokenizer(golden_case("gpt-2").at("tokenizer"));
  for (const std::string line : golden().at("lines")) EXPECT_EQ(bytes.decode(bytes.encode(line)), line);
}

// The same vocabulary as GGUF files have it.
Gguf gguf_of(const Json& c, const std::map<std::string, Gguf::Value>& changes = {}) {
  const Json &model = c.at("tokenizer").at("model"), &added = c.at("tokenizer").at("added_tokens");
  std::map<std::int64_t, std::string> names;
  std::map<std::int64_t, std::int64_t> types;
  for (const auto& [name, id] : model.at("vocab").items()) names[id] = name, types[id] = 1;
  for (const Json& t : added)
    names[t.at("id")] = t.at("content"), types[t.at("id")] = t.at("special") ? 3 : 4;
  std::vector<std::string> tokens, merges;
  std::vector<std::int64_t> token_types;
  for (const auto& [id, name] : names) tokens.push_back(name), token_types.push_back(types.at(id));
  for (const Json& m : model.at("merges"))
    merges.push_back(m[0].get<std::string>() + " " + m[1].get<std::string>());
  std::map<std::string, Gguf::Value> entries{{"tokenizer.ggml.model", std::string("gpt2")},
                                             {"tokenizer.ggml.pre", c.at("gguf").get<std::string>()},
                                             {"tokenizer.ggml.tokens", tokens},
                                             {"tokenizer.ggml.token_type", token_types},
                                             {"tokenizer.ggml.merges", merges},
                                             {"tokenizer.ggml.bos_token_id", std::uint64_t{0}}};
  for (const auto& [key, value] : changes) entries[key] = value;
  std::vector<Gguf::Entry> all;
  for (const auto& [key, value] : entries) all.push_back({key, value});
  return Gguf(all, "file.gguf");
}

TEST(Tokenizer, OfGgufIsThatOfItsTokenizerJson) {
  int read = 0;
  for (const Json& c : golden().at("cases")) {
    if (c.at("gguf").is_null()) continue;
    EXPECT_EQ(different_lines(Tokenizer::from(gguf_of(c)), c.at("ids")), 0u) << c.at("name");
    const std::string other = c.at("gguf") == "gpt-2" ? "smollm" : "gpt-2";
    EXPECT_GT(different_lines(Tokenizer::from(gguf_of(c, {{"tokenizer.ggml.pre", other}})), c.at("ids")), 0u);
    ++read;
  }
  EXPECT_EQ(read, 4);
  const Json& c = golden_case("gpt-2");
  const Tokenizer t = Tokenizer::from(gguf_of(c, {{"tokenizer.ggml.add_bos_token", true},
                                                  {"tokenizer.ggml.add_eos_token", true},
                                                  {"tokenizer.ggml.eos_token_id", std::int64_t{5}}}));
  EXPECT_EQ(t.encode(""), (Ids{0, 5}));
  EXPECT_EQ(t.encode("", Tokenizer::Ends::bare), Ids());
}

template <class Call>
void malformed(std::string_view words, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "accepted, where the error has '" << words << "'";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::input) << e.what();
    EXPECT_NE(std::string_view(e.what()).find(words), std::string_view::npos)
        << e.what() << "\nlacks " << words;
    EXPECT_EQ(std::string_view(e.what()).rfind("file", 0), 0u) << e.what();
  }
}

TEST(Tokenizer, AGgufThatIsNotReadExactlyIsRefused) {
  const Json& c = golden_case("gpt-2");
  const auto bad = [&](std::string_view words, const std::string& key, const Gguf::Value& value) {
    malformed(words, [&] { Tokenizer::from(gguf_of(c, {{key, value}})); });
  };
  using Texts = std::vector<std::string>;
  bad("tokenizer.ggml.model: unsupported: \"bert\"; pass token ids", "tokenizer.ggml.model",
      std::string("bert"));
  bad("unsupported: \"default\"", "tokenizer.ggml.pre", std::string("default"));
  bad("add_space_prefix: unsupported", "tokenizer.ggml.add_space_prefix", true);
  bad("1 types for ", "tokenizer.ggml.token_type", std::vector<std::int64_t>{1});
  bad("found \"a b c\", allowed is two tokens", "tokenizer.ggml.merges", Texts{"a b", "a b c"});
  bad("that is not in the vocabulary", "tokenizer.ggml.merges", Texts{"a \xC4\xA0\xC4\xA0q"});
  EXPECT_NO_THROW(Tokenizer::from(gguf_of(c)));
  const auto with_bos = [&](const Gguf::Value& id) {
    Tokenizer::from(
        gguf_of(c, {{"tokenizer.ggml.add_bos_token", true}, {"tokenizer.ggml.bos_token_id", id}}));
  };
  malformed("no token has the id", [&] { with_bos(std::uint64_t{1} << 20); });
  malformed("no token has the id", [&] { with_bos(std::int64_t{-1}); });
}

TEST(Tokenizer, WhatIsNotInTheListIsRefused) {
  const auto bad = [&](std::string_view words, std::string_view name, const std::string& patch) {
    Json changed = golden_case(name).at("tokenizer");
    changed.merge_patch(Json::parse(patch));
    malformed(words, [&] { tokenizer(changed); });
  };
  bad("\"normalizer\": unsupported: the type \"NFKC\"; pass token ids", "gpt-2",
      R"({"normalizer":{"type":"NFKC"}})");
  bad("unsupported: a BPE with byte_fallback", "gpt-2", R"({"model":{"byte_fallback":true}})");
  bad("unsupported: a BPE with dropout", "gpt-2", R"({"model":{"dropout":0.5}})");
  bad("unsupported: a BPE with end_of_word_suffix", "gpt-2", R"({"model":{"end_of_word_suffix":"</w>"}})");
  bad("whose last pre_tokenizer is not ByteLevel", "gpt-2", R"({"pre_tokenizer":{"type":"Metaspace"}})");
  bad("unsupported: the type \"Fuse\"", "gpt-2", R"({"decoder":{"type":"Fuse"}})");
  bad("unsupported: the type \"Unigram\"", "gpt-2", R"({"model":{"type":"Unigram"}})");
  bad("allowed is a token of the vocabulary", "gpt-2", R"({"model":{"unk_token":"?!?"}})");
  bad("whose pre_tokenizer is not BertPreTokenizer", "bert cased",
      R"({"pre_tokenizer":{"type":"Whitespace"}})");
  bad("an added token that is a single word", "gpt-2",
      R"({"added_tokens":[{"id":0,"content":"<|end|>","single_word":true}]})");
  bad("the next number after the vocabulary", "gpt-2", R"({"added_tokens":[{"id":9999,"content":"<new>"}]})");
  bad("has the id 7 but 0 in the vocabulary", "gpt-2", R"({"added_tokens":[{"id":7,"content":"<|end|>"}]})");
  bad("which no token has", "bert cased", R"({"post_processor":{"sep":["[SEP]",99999]}})");
}

TEST(Tokenizer, KnowsItsTokens) {
  const Tokenizer bert = tokenizer(golden_case("bert uncased").at("tokenizer"));
  EXPECT_EQ(bert.size(),
            std::int64_t(golden_case("bert uncased").at("tokenizer").at("model").at("vocab").size()));
  EXPECT_EQ(bert.id("[CLS]"), 2);
  EXPECT_EQ(bert.id("no such token"), std::nullopt);
  EXPECT_EQ(bert.token(3), "[SEP]");
  EXPECT_EQ(bert.token(1 << 20), "");
  EXPECT_TRUE(bert.is_special(2));
  EXPECT_FALSE(bert.is_special(std::int32_t(bert.size()) - 1));
  refused("no token has the id -1", [&] { bert.decode(Ids{2, -1}); });
  const Tokenizer bytes = tokenizer(golden_case("gpt-2").at("tokenizer"));
  EXPECT_EQ(bytes.token(*bytes.id("\u0120the")), "\u0120the");
  EXPECT_EQ(bytes.decode(Ids{*bytes.id("\u0120the")}), " the");
  EXPECT_EQ(bytes.decode(Ids{*bytes.id("\u00C3")}), "\xC3");  // a byte alone is that byte
}

TEST(Tokenizer, ATextThatIsNotUtf8IsRefused) {
  const Tokenizer t = tokenizer(golden_case("gpt-2").at("tokenizer"));
  for (const std::string text : {"abc\xFF", "abc\xC3", "abc\xED\xA0\x80", "abc\xC0\x80"}) {
    try {
      t.encode(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input);
      EXPECT_STREQ(e.what(), "byte 3 of the text is not UTF-8");
    }
  }
}

// Anything quadratic would take many minutes here.
TEST(Tokenizer, AWordMayBeAsLongAsTheText) {
  constexpr std::size_t kLength = 300'000;
  std::string marks = "e";
  while (marks.size() < kLength) marks += "\u0301\u0327";
  for (const std::string_view name : {"gpt-2", "qwen2", "llama-bpe", "unusual", "bert uncased"}) {
    const Tokenizer t = tokenizer(golden_case(name).at("tokenizer"));
    std::string ends_in_x(kLength, ' ');
    ends_in_x += 'x';
    for (const std::string& text :
         {std::string(kLength, ' '), ends_in_x, std::string(kLength, 'a'), std::string(kLength, '\n'), marks})
      EXPECT_LT(t.encode(text).size(), 4 * kLength) << name;
  }
}

// Every character of Unicode 14 at once, and what becomes of it.
class Characters : public testing::Test {
 protected:
  void SetUp() override {
    const auto ranges = golden().at("characters").at("assigned").get<std::vector<std::uint32_t>>();
    for (std::size_t n = 0; n < ranges.size(); n += 2) {
      for (char32_t c = ranges[n]; c <= ranges[n + 1]; ++c) assigned_ += c;
    }
    ASSERT_GT(assigned_.size(), 140'000u);
  }
  // The digest of what `part` makes of each character.
  void expect(const char* name, const std::function<std::string(char32_t)>& part) const {
    std::string all;
    for (const char32_t c : assigned_) all += part(c);
    EXPECT_EQ(sha256(all), golden().at("characters").at(name).get<std::string>()) << name;
  }
  void expect_chosen(const char* name, const std::function<bool(char32_t)>& chooses) const {
    expect(name, [&](char32_t c) { return chooses(c) ? utf8({&c, 1}) : ""; });
  }
  std::u32string assigned_;
};

TEST_F(Characters, AreWhatHuggingFaceTakesThemFor) {
  expect_chosen("blank", is_blank);
  expect_chosen("punctuation", is_punctuation);
  expect_chosen("hidden", [](char32_t c) {  // U+FFFD goes too, and three controls are blanks
    return c == 0xFFFD || (is_hidden(c) && c != '\t' && c != '\n' && c != '\r');
  });
  expect_chosen("ideograph", is_ideograph);
  for (const char* pattern : {R"(\s)", R"(\p{L})", R"(\p{N})"}) {
    const Regex regex(pattern, "pattern");
    expect_chosen(pattern, [&](char32_t c) { return !regex.matches(utf8({&c, 1})).empty(); });
  }
  const Regex number(R"(\p{N})", "pattern");
  expect_chosen("number", [&](char32_t c) { return !number.matches(utf8({&c, 1})).empty(); });
}

TEST_F(Characters, BecomeWhatHuggingFaceMakesOfThem) {
  const BertNormalizer lower{false, false, false, true}, strip{false, false, true, false};
  const auto around = [](std::u32string_view before, char32_t c, std::u32string_view after) {
    return std::u32string(before) + c + std::u32string(after);
  };
  expect("lower", [&](char32_t c) { return lower(utf8({&c, 1})); });
  expect("stripped", [&](char32_t c) { return strip(utf8({&c, 1})); });
  expect("composed", [](char32_t c) { return utf8(composed({&c, 1})); });
  expect("composed with marks",
         [&](char32_t c) { return utf8(composed(around(U"a\u0327", c, U"\u0301\u0334"))); });
  expect("stripped after marks",
         [&](char32_t c) { return strip(utf8(around(U"\U0001D165", c, U"\u093E"))); });
}

TEST(Regex, WhatOnigurumaReadsOtherwiseIsRefused) {
  for (const std::string_view pattern :
       {"a*",       "a?",          "(?=a)",   "(a",         "a)",    "[a",  "[]a]", "a+?",
        "a++",      "a{2}?",       "a{1000}", "a{,2}",      "{2}",   "*a",  "a|*",  "[[a]b]",
        "[a&&b]",   "[[:alpha:]]", "[\\S]",   "\\d",        "\\w",   "\\b", "\\h",  "\\1",
        "\\p{Han}", "\\p{^L}",     "\\pL",    "a\\",        ".",     "^a",  "a$",   "(?<n>a)",
        "(?i:ss)",  "(?i)a",       "(?m:a)",  "(*ACCEPT)a", "(?>a)", "a{2", "a}",   "a]"})
    EXPECT_THROW(Regex(pattern, "file"), Error) << pattern;
  const std::string long_pattern(2001, 'a');
  EXPECT_THROW(Regex(long_pattern, "file"), Error);
}

TEST(Regex, EndlessTryingIsAnError) {
  const Regex regex("(?:(?:a|b)*(?:a|b)*)*(?:a|b)c", "file");
  EXPECT_EQ(regex.matches("abac").size(), 1u);
  malformed("byte 0 of the text", [&] { regex.matches(std::string(100, 'a') + "!c"); });
}

}  // namespace
}  // namespace gnomon
