// gnomon_explain() gives what `gnomon explain --json` prints.
#include "gnomon/pages/explain.h"
#include "tests/c/c_api.h"

namespace gnomon {
namespace {

const std::string kFile = GNOMON_ROOT "/docs/examples/llama-3.1.json";

TEST(CExplain, IsTheExplanationOfEachReader) {
  for (std::size_t n = 0; n < reader_names().size(); ++n) {
    const std::string reader(reader_names()[n]);
    char* json = nullptr;
    if (Reader(n) == Reader::llama_cpp) {
      refused_in_c("reads a .gguf file", gnomon_explain(kFile.c_str(), reader.c_str(), &json));
      continue;
    }
    ok(gnomon_explain(kFile.c_str(), reader.c_str(), &json));
    EXPECT_EQ(json, pages::explain_json(explain(Config::open(kFile), Reader(n)), -1));
    gnomon_text_free(json);
  }
  char *json = nullptr, *v5 = nullptr;
  ok(gnomon_explain(kFile.c_str(), nullptr, &json));
  ok(gnomon_explain(kFile.c_str(), "v5", &v5));
  EXPECT_STREQ(json, v5);
  gnomon_text_free(json), gnomon_text_free(v5);
}

TEST(CExplain, RefusesInWords) {
  char* json = nullptr;
  refused_in_c("unknown reader 'v6'", gnomon_explain(kFile.c_str(), "v6", &json));
  refused_in_c("no-such", gnomon_explain("/no-such/config.json", nullptr, &json), GNOMON_RESOURCE);
  refused_in_c("", gnomon_explain(GNOMON_ROOT "/README.md", nullptr, &json), GNOMON_INPUT);
  refused_in_c("path is null", gnomon_explain(nullptr, nullptr, &json));
  refused_in_c("json is null", gnomon_explain(kFile.c_str(), nullptr, nullptr));
  EXPECT_EQ(json, nullptr);
}

}  // namespace
}  // namespace gnomon
