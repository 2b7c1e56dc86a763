// What each layer sees: full, or a window.
#include <algorithm>

#include "gnomon/families/rules/rule.h"

namespace gnomon {
namespace {

std::int64_t sliding(const std::vector<std::string>& types) {
  return std::count(types.begin(), types.end(), "sliding_attention");
}
bool is_qwen(const LintContext& file) { return file.type().starts_with("qwen"); }

Findings length(const LintContext& file) {
  const auto types = file.words("layer_types");
  const auto layers = file.layers();
  if (!types || !layers || std::int64_t(types->size()) == *layers) return {};
  return {finding(file, file.at("layer_types"), text("one word for each of ", *layers, " layers"),
                  text("there are ", types->size(), ": transformers 5.23 refuses the file"))};
}

Findings types_unread(const LintContext& file) {
  const auto types = file.words("layer_types");
  if (!types || file.type() != "mistral" || sliding(*types) == 0 ||
      sliding(*types) == std::int64_t(types->size()))
    return {};
  return {finding(
      file, file.at("layer_types"), "\"model_type\": \"ministral\"",
      text("Mistral's class gives every layer the window: ", std::int64_t(types->size()) - sliding(*types),
           " layers that should see everything do not"))};
}

Findings window_missing(const LintContext& file) {
  const auto types = file.words("layer_types");
  if (!types || sliding(*types) == 0) return {};
  const bool off = is_qwen(file) && !file.flag("use_sliding_window").value_or(false);
  if (file.kind("sliding_window") != Config::Kind::null && !off) return {};
  return {finding(file, file.at(off ? "use_sliding_window" : "sliding_window"),
                  off ? "true" : "the window in tokens",
                  text("layer_types has ", counted(std::size_t(sliding(*types)), "layer"),
                       " with a window, and there is no window"))};
}

Findings beyond_last(const LintContext& file) {
  const auto first = file.whole("max_window_layers"), layers = file.layers();
  if (!is_qwen(file) || !file.flag("use_sliding_window").value_or(false) || file.has("layer_types"))
    return {};
  if (!layers || first.value_or(28) < *layers) return {};
  return {finding(file, file.at("max_window_layers"),
                  text("below ", *layers, ": the first layer with a window"),
                  text("layers from ", first.value_or(28), " on have the window, and the last is ",
                       *layers - 1, ": none has"))};
}

Findings pattern_contradicts(const LintContext& file) {
  const auto types = file.words("layer_types");
  auto pattern = file.whole("sliding_window_pattern");
  if (!types || !pattern || *pattern <= 0) return {};
  for (std::size_t l = 0; l < types->size(); ++l)
    if ((types->at(l) == "sliding_attention") != ((std::int64_t(l) + 1) % *pattern != 0))
      return {finding(file, file.at("sliding_window_pattern"), "the same in both, or layer_types alone",
                      text("layer ", l, " is ", types->at(l),
                           " in layer_types and the other by the pattern; transformers 5 reads layer_types, "
                           "older readers the pattern"))};
  return {};
}

Findings chunk_and_window(const LintContext& file) {
  const auto window = file.number("sliding_window");
  if (file.kind("sliding_window") != Config::Kind::number || (window && *window >= 1)) return {};
  return {finding(file, file.at("sliding_window"), "null for no window, or a number of tokens",
                  "no query would see a key")};
}

const Rule kRules[] = {
    {.id = "layer-types-length",
     .severity = Severity::error,
     .title = "layer_types has another length than the layers.",
     .explains = "transformers 5.23 refuses the file; readers that index the list fail in the middle of the "
                 "model, or take the last word again.",
     .fix = "One word for each layer.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/configuration_utils.py",
     .fails =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "layer_types": ["full_attention", "full_attention", "full_attention"]})",
     .passes =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"]})",
     .find = length},
    {.id = "layer-types-unread",
     .severity = Severity::error,
     .title = "layer_types in Mistral's class, which gives every layer the window.",
     .explains = "transformers 5.23 warns once and goes on: layers that should see everything see "
                 "sliding_window tokens.",
     .fix = "Use the model type ministral.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/mistral/"
             "configuration_mistral.py",
     .fails =
         R"({"model_type": "mistral", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024, "layer_types": ["sliding_attention", "full_attention"]})",
     .passes =
         R"({"model_type": "mistral", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024})",
     .find = types_unread},
    {.id = "window-missing",
     .severity = Severity::error,
     .title = "Layers with a window, and no window.",
     .explains =
         "layer_types says sliding_attention, sliding_window is null or, for Qwen, use_sliding_window is not "
         "true. transformers 5.23 then fails when it runs; other readers give those layers full attention.",
     .fix = "Write the window, or full_attention.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/qwen2/"
             "configuration_qwen2.py",
     .fails =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024, "use_sliding_window": false, "layer_types": ["sliding_attention", "full_attention"]})",
     .passes =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024, "use_sliding_window": true, "layer_types": ["sliding_attention", "full_attention"]})",
     .find = window_missing},
    {.id = "window-beyond-last-layer",
     .severity = Severity::warning,
     .title = "The window is switched on for layers that there are not.",
     .explains =
         "Qwen's max_window_layers is the first layer with a window, not the last. At or above the number of "
         "layers, all see everything and the memory for long texts is that of full attention.",
     .fix = "Write the first layer that has the window.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/qwen2/"
             "configuration_qwen2.py",
     .fails =
         R"({"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024, "use_sliding_window": true, "max_window_layers": 28})",
     .passes =
         R"({"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024, "use_sliding_window": true, "max_window_layers": 2})",
     .find = beyond_last},
    {.id = "window-pattern-contradicts",
     .severity = Severity::warning,
     .title = "sliding_window_pattern and layer_types say different things.",
     .explains = "transformers 5 takes layer_types; transformers of before it, and many ports, take the "
                 "pattern: other layers then see everything, with the base of the other kind.",
     .fix = "Let both say the same.",
     .link = "https://github.com/antonellof/ferrox/pull/65",
     .fails =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6, "layer_types": ["sliding_attention", "full_attention"]})",
     .passes =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 2, "layer_types": ["sliding_attention", "full_attention"]})",
     .find = pattern_contradicts},
    {.id = "window-impossible",
     .severity = Severity::error,
     .title = "The window is below one token.",
     .explains =
         "No window is null. With 0 transformers 5.23 fails when it runs; other readers take it for none.",
     .fix = "null, or a number of tokens.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/masking_utils.py",
     .fails =
         R"({"model_type": "mistral", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 0})",
     .passes =
         R"({"model_type": "mistral", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": null})",
     .find = chunk_and_window},
};

}  // namespace

std::span<const Rule> layers_rules() { return kRules; }

}  // namespace gnomon
