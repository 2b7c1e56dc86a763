// A known type beside code of the repository: keys about position that only that code may read are told, each once and as a note.
#include <gtest/gtest.h>

#include <map>

#include "gnomon/models/lint/context.h"

namespace gnomon {
namespace {

constexpr std::string_view kRule = "own-code-beside-class";

// Rule by key, of the findings about the keys of position that a class does not read.
std::map<std::string, std::string> unread_in(const std::string& json) {
  std::map<std::string, std::string> all;
  for (const LintResult& r : lint(LintContext(Config::parse(json, "config.json")))) {
    if (r.rule->id != kRule && r.rule->id != "position-key-unread") continue;
    EXPECT_TRUE(all.emplace(r.finding.key, r.rule->id).second) << r.finding.key;
  }
  return all;
}
std::string encoder(const std::string& type, const std::string& more) {
  return R"({"model_type": ")" + type +
         R"(", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 130)" +
         more + "}";
}
const std::string kCode = R"(, "auto_map": {"AutoModel": "modeling_own.OwnModel"})";
const std::string kRotary = R"(, "position_embedding_type": "rotary", "rotary_emb_base": 20000.0)";

TEST(LintOwnCode, SaysWhichKeysTheCodeOfTheRepositoryMayRead) {
  for (const char* type : {"bert", "roberta", "xlm-roberta", "camembert", "electra"}) {
    const auto found = unread_in(encoder(type, kCode + kRotary));
    EXPECT_EQ(found.size(), 2U) << type;
    for (const char* key : {"position_embedding_type", "rotary_emb_base"})
      EXPECT_EQ(found.count(key) ? found.at(key) : "", kRule) << type << key;
  }
  const auto window = unread_in(
      R"({"model_type": "llama", "auto_map": {"AutoConfig": "own.OwnConfig"}, "hidden_size": 64, "num_attention_heads": 4,
          "num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10000, "sliding_window": 64})");
  EXPECT_EQ(window, (std::map<std::string, std::string>{{"sliding_window", std::string(kRule)}}));
}

TEST(LintOwnCode, IsSilentWithoutCodeOrWithoutSuchKeys) {
  const std::map<std::string, std::string> by_nobody{{"position_embedding_type", "position-key-unread"},
                                                     {"rotary_emb_base", "position-key-unread"}};
  EXPECT_EQ(unread_in(encoder("xlm-roberta", kRotary)), by_nobody);
  for (const char* tokenizer : {R"(, "auto_map": {"AutoTokenizer": ["own.Tokenizer", null]})",
                                R"(, "auto_map": {})", R"(, "auto_map": null)"})
    EXPECT_EQ(unread_in(encoder("xlm-roberta", tokenizer + kRotary)), by_nobody) << tokenizer;
  EXPECT_TRUE(unread_in(encoder("xlm-roberta", kCode)).empty());
  EXPECT_TRUE(
      unread_in(encoder("xlm-roberta", kCode + R"(, "position_embedding_type": "absolute")")).empty());
  // a remark of its own, a class that reads the word, and one that rotates anyhow
  EXPECT_TRUE(unread_in(encoder("bert", kCode + R"(, "position_embedding_type": "relative_key")")).empty());
  for (const char* type : {"esm", "jina_embeddings_v3"})
    EXPECT_TRUE(unread_in(encoder(type, kCode + R"(, "position_embedding_type": "rotary")")).empty()) << type;
  EXPECT_EQ(unread_in(encoder("jina_embeddings_v3", kCode + R"(, "position_embedding_type": "alibi")")),
            (std::map<std::string, std::string>{{"position_embedding_type", std::string(kRule)}}));
  // shown is what the code computes: nothing more is to be said of it
  EXPECT_EQ(unread_in(encoder("bert", kCode + R"(, "position_embedding_type": "alibi", "rotary_dim": 8)")),
            (std::map<std::string, std::string>{{"rotary_dim", "position-key-unread"}}));
}

}  // namespace
}  // namespace gnomon
