// gnomon_explain() gives what `gnomon explain --json` prints, and a gnomon_model the same as numbers.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gnomon/core/text.h"
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

struct FreeModel {
  void operator()(gnomon_model* m) const { gnomon_model_free(m); }
};
using CModel = std::unique_ptr<gnomon_model, FreeModel>;
CModel model_in_c(const std::string& file) {
  gnomon_model* made = nullptr;
  EXPECT_EQ(gnomon_model_open(file.c_str(), nullptr, &made), GNOMON_OK) << gnomon_last_error();
  return CModel(made);
}

// Every layer of every configuration of the examples: its attention is the one that its spec and sizes make in C++.
TEST(CModel, LayersAreThoseOfTheExplanation) {
  std::int64_t windows = 0;
  for (const char* name : {"llama-2", "llama-3.1", "gemma-3", "broken-yarn"}) {
    const std::string file = text(GNOMON_ROOT "/docs/examples/", name, ".json");
    const Explanation said = explain(Config::open(file), Reader::v5);
    const CModel model = model_in_c(file);
    gnomon_model_info info = GNOMON_MODEL_INFO_INIT;
    ok(gnomon_model_describe(model.get(), &info));
    EXPECT_EQ(info.family, said.model.family);
    EXPECT_STREQ(info.input, "add(none, scale=off)");
    EXPECT_EQ(info.known, 1);
    EXPECT_EQ(info.width, said.model.width);
    EXPECT_EQ(info.trained_length, said.model.trained_length);
    EXPECT_EQ(info.longest, said.model.longest);
    ASSERT_EQ(info.layers, std::int64_t(said.model.layers.size()));
    for (std::int64_t n = 0; n < info.layers; ++n) {
      const LayerPosition& expected = said.model.layers[std::size_t(n)];
      gnomon_layer_info layer = GNOMON_LAYER_INFO_INIT;
      ok(gnomon_model_layer(model.get(), n, &layer));
      EXPECT_EQ(text("add(none, scale=off)+", layer.spec), expected.spec.print());
      EXPECT_STREQ(layer.mixer, "");
      EXPECT_STREQ(layer.component, "");
      EXPECT_EQ(layer.number, n);
      EXPECT_EQ(layer.window > 0, std::string_view(layer.spec).find("window(") != std::string_view::npos);
      windows += layer.window == 512;
      gnomon_attention_config sizes = GNOMON_ATTENTION_CONFIG_INIT;
      sizes.soft_cap = 30;
      ok(gnomon_model_attention(model.get(), n, &sizes));
      EXPECT_EQ(sizes.heads, expected.heads);
      EXPECT_EQ(sizes.kv_heads, expected.kv_heads);
      EXPECT_EQ(sizes.head_dim, expected.head_dim);
      EXPECT_EQ(sizes.value_dim, expected.value_dim);
      EXPECT_EQ(sizes.width, said.model.width);
      EXPECT_EQ(sizes.length, said.trained());
      EXPECT_EQ(sizes.scale, expected.scale);
      EXPECT_EQ(sizes.soft_cap, 30);
      gnomon_attention* attention = nullptr;
      ok(gnomon_attention_create(layer.spec, &sizes, &attention));
      gnomon_attention_free(attention);
    }
  }
  EXPECT_EQ(windows, 22) << "Gemma 3 1B has 22 layers with a window of 512";
}

TEST(CModel, ALayerWithoutAttentionIsNamed) {
  const auto file = std::filesystem::temp_directory_path() / text("gnomon-c-model-", getpid(), ".json");
  std::ofstream(file)
      << R"({"model_type": "lfm2", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128, "layer_types": ["conv", "conv", "full_attention", "conv"]})";
  const CModel model = model_in_c(file);
  std::filesystem::remove(file);
  gnomon_model_info info = GNOMON_MODEL_INFO_INIT;
  ok(gnomon_model_describe(model.get(), &info));
  std::int64_t without = 0;
  for (std::int64_t n = 0; n < info.layers; ++n) {
    gnomon_layer_info layer = GNOMON_LAYER_INFO_INIT;
    ok(gnomon_model_layer(model.get(), n, &layer));
    gnomon_attention_config sizes = GNOMON_ATTENTION_CONFIG_INIT;
    if (std::string_view(layer.mixer).empty()) {
      ok(gnomon_model_attention(model.get(), n, &sizes));
      continue;
    }
    ++without;
    refused_in_c(layer.mixer, gnomon_model_attention(model.get(), n, &sizes));
    EXPECT_EQ(sizes.heads, 0);
  }
  EXPECT_EQ(without, 3);
  EXPECT_EQ(info.layers, 4);
}

TEST(CModel, RefusesInWords) {
  gnomon_model* none = nullptr;
  refused_in_c("unknown reader 'v6'", gnomon_model_open(kFile.c_str(), "v6", &none));
  refused_in_c("no-such", gnomon_model_open("/no-such/config.json", nullptr, &none), GNOMON_RESOURCE);
  refused_in_c("path is null", gnomon_model_open(nullptr, nullptr, &none));
  refused_in_c("model is null", gnomon_model_open(kFile.c_str(), nullptr, nullptr));
  EXPECT_EQ(none, nullptr);
  gnomon_model_free(nullptr);
  const CModel model = model_in_c(kFile);
  gnomon_model_info info = GNOMON_MODEL_INFO_INIT;
  gnomon_layer_info layer = GNOMON_LAYER_INFO_INIT;
  gnomon_attention_config sizes = GNOMON_ATTENTION_CONFIG_INIT;
  refused_in_c("index is 32; allowed are 0 to 31", gnomon_model_layer(model.get(), 32, &layer));
  refused_in_c("index is -1", gnomon_model_attention(model.get(), -1, &sizes));
  refused_in_c("model is null", gnomon_model_layer(nullptr, 0, &layer));
  refused_in_c("info is null", gnomon_model_layer(model.get(), 0, nullptr));
  info.size -= 8;
  refused_in_c("size", gnomon_model_describe(model.get(), &info));
  EXPECT_EQ(info.family, nullptr);
}

}  // namespace
}  // namespace gnomon
