// The base of the rotation: lost, doubled, or read from where it is not.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/numbers.h"

namespace gnomon {
namespace {

// Linear and dynamic scaling of 2023 were written for models whose base was 10000, and leave it out.
bool of_2023(const LintContext& file, const RopeDictionary& dict) {
  const std::string type = file.type_of(dict);
  return (type == "linear" || type == "dynamic") && file.longest().value_or(1 << 20) <= 8192;
}

Findings scaling_without_theta(const LintContext& file) {
  Findings all;
  if (theta_outside(file) || class_theta(file) != 10000) return all;  // theta-of-class says it
  for (const RopeDictionary& dict : file.ropes())
    if (!dict.live && file.has(dict, "rope_theta")) return all;  // scaling-drops-theta says it
  for (const RopeDictionary& dict : file.ropes()) {
    if (!dict.live || !scales(file, dict) || file.has(dict, "rope_theta") || of_2023(file, dict)) continue;
    all.push_back(finding(file, dict.key,
                          text("\"rope_theta\": the base that the model was trained with, in ", dict.key),
                          text("no key says the base: transformers 5 and 4 both take that of the class, ",
                               shortest(class_theta(file)))));
  }
  return all;
}

Findings scaling_drops_theta(const LintContext& file) {
  Findings all;
  if (theta_outside(file)) return all;
  const RopeDictionary* scaling = nullptr;
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && dict.label.empty() && !file.has(dict, "rope_theta")) scaling = &dict;
  if (!scaling || file.reads_by_kind()) return all;
  for (const RopeDictionary& dict : file.ropes()) {
    const auto theta = file.number(dict, "rope_theta");
    if (dict.live || !theta || *theta == class_theta(file)) continue;
    all.push_back(
        finding(file, scaling->key, text("\"rope_theta\": ", shortest(*theta), " in ", scaling->key),
                text("transformers 5 replaces ", dict.key, " by ", scaling->key, " as a whole: theta ",
                     shortest(*theta), " becomes ", shortest(class_theta(file)))));
  }
  return all;
}

Findings theta_twice(const LintContext& file) {
  Findings all;
  const auto outside = file.number("rope_theta");
  if (!outside) return all;
  for (const RopeDictionary& dict : file.ropes()) {
    const auto theta = file.number(dict, "rope_theta");
    if (!dict.live || !dict.label.empty() || !theta || *theta == *outside) continue;
    all.push_back(finding(file, file.at("rope_theta"),
                          text("the same in both places: ", shortest(*theta), " or ", shortest(*outside)),
                          text("transformers 5 takes ", shortest(*theta), " from ", dict.key,
                               "; transformers 4 and readers of the "
                               "old key take ",
                               shortest(*outside))));
  }
  return all;
}

Findings theta_null(const LintContext& file) {
  Findings all;
  if (!file.family() || file.family()->method != Method::rotary) return all;
  const bool inside = std::any_of(file.ropes().begin(), file.ropes().end(), [&](const RopeDictionary& dict) {
    return dict.live && file.has(dict, "rope_theta");
  });
  if (file.kind("rope_theta") == Config::Kind::null && !inside)
    all.push_back(finding(
        file, file.at("rope_theta"), "a number, or no such key",
        "null is not an absent key: transformers 5.23 keeps it, and the model fails when it is built"));
  for (const RopeDictionary& dict : file.ropes())
    if (file.config().kind(dict.key + ".rope_theta") == Config::Kind::null)
      all.push_back(finding(file, dict.key + ".rope_theta", "a number, or no such key",
                            "null hides the class's own base"));
  return all;
}

Findings theta_impossible(const LintContext& file) {
  Findings all;
  const auto look = [&](const std::string& key) {
    const Config::Kind kind = file.config().kind(key);
    const bool number = kind == Config::Kind::number;
    if (kind == Config::Kind::absent || kind == Config::Kind::null || kind == Config::Kind::list) return;
    if (number && *file.config().number(key) > 1) return;
    all.push_back(finding(file, key, "a number above 1, such as 10000",
                          number ? "theta^(-2i/R) is then no falling row of frequencies: 1 turns every pair "
                                   "alike, 0 divides by zero"
                                 : "not a number"));
  };
  for (const std::string_view key : kThetaKeys) look(file.at(key));
  for (const RopeDictionary& dict : file.ropes()) look(dict.key + ".rope_theta");
  return all;
}

// Tokens of the slowest pair's full turn; 0 where nothing turns, or a pair of the rotation stands still.
double longest_wavelength(const LayerPosition& layer, double length) {
  double slowest = 0;
  for (const double f : numbers_of(layer, length).inv_freq) {
    if (f <= 0) return 0;
    if (slowest == 0 || f < slowest) slowest = f;
  }
  return slowest > 0 ? 2 * std::numbers::pi / slowest : 0;
}
bool windowed(const LayerPosition& layer) {
  for (const Named& named : layer.spec.attention)
    if (named.name == "window" || named.name == "chunk") return true;
  return false;
}

Findings theta_short(const LintContext& file) {
  const Resolved* read = file.read_by(Reader::v5);
  if (!read || !read->longest) return {};
  for (const LayerPosition* one : different_layers(read->layers, read->layers.size())) {
    const LayerPosition& layer = *one;
    if (windowed(layer)) continue;
    const double wave = longest_wavelength(layer, double(read->longest));
    if (wave == 0 || wave >= double(read->longest)) continue;
    std::string key = file.at("rope_theta");
    for (const Because& because : layer.because)
      if (because.what == "theta" && !because.key.empty()) key = because.key;
    return {finding(
        file, key, "the base that the model was trained with",
        text("the slowest pair turns once in ", shortest(std::round(wave)), " tokens, and the file promises ",
             read->longest, ": positions further apart look alike"))};
  }
  return {};
}

Findings theta_of_class(const LintContext& file) {
  const double theta = class_theta(file);
  if (file.gguf() || !file.family() || file.family()->method != Method::rotary || theta == 10000 ||
      theta_outside(file))
    return {};
  for (const RopeDictionary& dict : file.ropes())
    if (file.has(dict, "rope_theta")) return {};
  return {finding(file, file.at("rope_theta"), text("\"rope_theta\": ", shortest(theta)),
                  text("transformers 5 takes the class's ", shortest(theta),
                       "; a reader of getattr(config, \"rope_theta\", 10000) takes 10000"))};
}

Findings theta_for_new_readers(const LintContext& file) {
  if (file.has("rope_theta")) return {};
  for (const RopeDictionary& dict : file.ropes()) {
    const auto theta = file.number(dict, "rope_theta");
    if (!dict.live || !dict.label.empty() || !theta || *theta == 10000) continue;
    return {finding(
        file, dict.key + ".rope_theta",
        text("beside it, for older readers, \"rope_theta\": ", shortest(*theta)),
        text("transformers 4 and every reader of getattr(config, \"rope_theta\", 10000) take 10000, not ",
             shortest(*theta)))};
  }
  return {};
}

Findings theta_of_half_the_layers(const LintContext& file) {
  if (!file.reads_by_kind() || !file.family()->rope.sliding_theta_key.empty() ||
      file.has("rope_parameters.sliding_attention.rope_theta"))
    return {};
  const auto theta = file.number("rope_theta");
  if (!theta || *theta == class_theta(file)) return {};
  return {finding(file, file.at("rope_theta"),
                  text("\"rope_parameters\": {\"full_attention\": {\"rope_theta\": ", shortest(*theta),
                       "}, \"sliding_attention\": {\"rope_theta\": ", shortest(*theta), "}}"),
                  text("transformers 5.23 gives ", shortest(*theta), " to the full layers and the class's ",
                       shortest(class_theta(file)), " to the sliding ones"))};
}

Findings theta_by_kind(const LintContext& file) {
  const Resolved* read = file.read_by(Reader::v5);
  if (!read || file.gguf()) return {};
  std::map<std::string, std::size_t> layers;
  for (const LayerPosition& layer : read->layers)
    for (const Because& because : layer.because)
      if (because.what == "theta") ++layers[because.value];
  if (layers.size() < 2) return {};
  std::string list;
  for (const auto& [theta, count] : layers)
    list += text(list.empty() ? "" : ", ", theta, " in ", counted(count, "layer"));
  return {finding(file, file.at(file.has("rope_parameters") ? "rope_parameters" : "rope_theta"),
                  "a reader that has a base for each layer", text("bases differ by layer: ", list))};
}

const LintRule kRules[] = {
    {.id = "scaling-without-theta",
     .severity = Severity::error,
     .title = "A scaling is set and the base of the rotation is nowhere in the file.",
     .explains = "Every reader then falls back to a default, nearly always 10000, whatever the model was "
                 "trained with. Llama 3.1 (base 500000) with a "
                 "linear scaling that a loader had written without its base: perplexity 10.2 under "
                 "transformers 4, 11316 under 5, at position 7800.",
     .fix = "Write rope_theta into the dictionary.",
     .link = "https://github.com/unslothai/unsloth/pull/7028",
     .fails = R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2,
 "max_position_embeddings": 262144, "rope_scaling": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 131072}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2,
 "max_position_embeddings": 262144, "rope_theta": 500000, "rope_scaling": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 131072}})",
     .find = scaling_without_theta},
    {.id = "scaling-drops-theta",
     .severity = Severity::error,
     .title = "A rope_scaling without a base replaces the rope_parameters that has one.",
     .explains = "transformers 5 keeps the base inside rope_parameters, and a rope_scaling that is not empty "
                 "takes the place of the whole dictionary: "
                 "Qwen3 with base 1000000 and an added YaRN turns with 10000. Seen with 5.23; llama.cpp "
                 "prefers the other dictionary (ggml-org/llama.cpp#18013).",
     .fix = "Put the scaling into rope_parameters, or repeat rope_theta in rope_scaling.",
     .link = "https://github.com/sgl-project/sglang/issues/22739",
     .fails =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "head_dim": 64,
 "max_position_embeddings": 40960, "rope_parameters": {"rope_type": "default", "rope_theta": 1000000},
 "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}})",
     .passes =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "head_dim": 64,
 "max_position_embeddings": 40960, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000, "factor": 4.0,
 "original_max_position_embeddings": 32768}})",
     .find = scaling_drops_theta},
    {.id = "theta-twice",
     .severity = Severity::warning,
     .title = "The file names two different bases for the same layers.",
     .explains = "transformers 5 takes the dictionary's, transformers 4, and whatever reads the key of old, "
                 "the top level's. Each is right by its own rules.",
     .fix = "Write the same number in both places, or remove the one at the top level.",
     .link = "https://github.com/sgl-project/sglang/pull/26187",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 10000, "rope_parameters": {"rope_type": "default", "rope_theta": 500000}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 500000, "rope_parameters": {"rope_type": "default", "rope_theta": 500000}})",
     .find = theta_twice},
    {.id = "theta-null",
     .severity = Severity::error,
     .title = "The base of the rotation is null.",
     .explains = "A key with null is not an absent key: transformers 5.23 takes the null for the base and "
                 "fails only when frequencies are computed; "
                 "readers with `or 10000` go on with 10000.",
     .fix = "Write the number, or take the key out.",
     .link = "https://github.com/deepspeedai/DeepSpeed/issues/8345",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096,
 "rope_theta": null})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096})",
     .find = theta_null},
    {.id = "theta-impossible",
     .severity = Severity::error,
     .title = "The base of the rotation is no number above 1.",
     .explains = "Frequencies are theta^(-2i/R): a base of 1 gives all pairs the same, one below 1 turns "
                 "later pairs faster, 0 divides by zero. No reader checks it; "
                 "0 means a layer without position only in the list layer_rope_theta.",
     .fix = "Write the base that the model was trained with. A layer without position has no dictionary "
            "(null), not the base 0.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_rope_utils.py",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096,
 "rope_theta": 0})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096,
 "rope_theta": 10000})",
     .find = theta_impossible},
    {.id = "theta-short-for-context",
     .severity = Severity::warning,
     .title = "The slowest pair turns more than once within the context.",
     .explains = "With every pair past a full turn no channel tells far from near. Instructions that said "
                 "rope_theta 1000 for Qwen3-235B (trained with 1000000) made it "
                 "write numbers mixed with words; a base lost from an override does the same.",
     .fix = "Use the base that the model was trained with, or a scaling for the longer context.",
     .link = "https://github.com/vllm-project/vllm-ascend/issues/5201",
     .fails =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "head_dim": 128,
 "max_position_embeddings": 131072, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000, "factor": 4,
 "original_max_position_embeddings": 32768}})",
     .passes =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "head_dim": 128,
 "max_position_embeddings": 131072, "rope_theta": 1000000})",
     .find = theta_short},
    {.id = "theta-of-class",
     .severity = Severity::warning,
     .title = "No key says the base, and the class's own is not 10000.",
     .explains = "Classes have defaults of their own (SmolLM3 2000000, gpt-oss 150000, MiniMax-M2 5000000). "
                 "Whoever reads the file without the class computes with 10000: "
                 "a different rotation from the second pair on.",
     .fix = "Write rope_theta into the file.",
     .link = "https://github.com/vllm-project/tpu-inference/issues/2838",
     .fails =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536})",
     .passes =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536,
 "rope_theta": 2000000})",
     .find = theta_of_class},
    {.id = "theta-for-new-readers-only",
     .severity = Severity::note,
     .title = "The base stands in rope_parameters alone, where readers of the old keys do not look.",
     .explains =
         "transformers 5 writes it there. transformers 4, and the many programs with getattr(config, "
         "\"rope_theta\", 10000), get 10000 without a word: "
         "SGLang's LFM2, the TPU backend of vLLM, DeepSpeed, LMDeploy and Liger all had to be repaired.",
     .fix = "If older readers matter, write rope_theta at the top level as well.",
     .link = "https://github.com/sgl-project/sglang/pull/26187",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_parameters": {"rope_type": "default", "rope_theta": 500000}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 500000, "rope_parameters": {"rope_type": "default", "rope_theta": 500000}})",
     .find = theta_for_new_readers},
    {.id = "theta-for-half-the-layers",
     .severity = Severity::error,
     .title = "A base at the top level reaches the full layers only.",
     .explains = "OLMo 3's configuration takes rope_theta out of the file twice, for the full and for the "
                 "sliding layers; the second time it is gone. With 1000000 in the "
                 "file, transformers 5.23 turns full layers with 1000000 and sliding ones with 500000.",
     .fix = "Write rope_parameters with a dictionary for each kind of layer.",
     .link = "https://github.com/huggingface/transformers/pull/45945",
     .fails =
         R"({"model_type": "olmo3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 8192,
 "rope_theta": 1000000})",
     .passes =
         R"({"model_type": "olmo3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 8192,
 "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1000000},
  "sliding_attention": {"rope_type": "default", "rope_theta": 1000000}}})",
     .find = theta_of_half_the_layers},
    {.id = "theta-by-kind-of-layer",
     .severity = Severity::note,
     .title = "Layers of different kinds have different bases.",
     .explains =
         "Gemma 3 turns sliding layers with 10000 and full ones with 1000000, ModernBERT with 10000 and "
         "160000. A reader with one base for all is wrong in most layers, "
         "and still writes fluently: ModernBERT files of transformers 5 opened by 4.56 lost the 160000.",
     .fix = "Nothing in the file; check that what serves it has a base for each layer (`gnomon explain`).",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/gemma3/"
             "configuration_gemma3.py",
     .fails =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64,
 "max_position_embeddings": 8192, "rope_theta": 1000000, "rope_local_base_freq": 10000, "sliding_window": 512, "sliding_window_pattern": 6})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64,
 "max_position_embeddings": 8192, "rope_theta": 1000000})",
     .find = theta_by_kind},
};

}  // namespace

std::span<const LintRule> theta_rules() { return kRules; }

}  // namespace gnomon
