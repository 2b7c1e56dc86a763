// What each layer sees: full, or a window.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"

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

Findings types_of_mistral(const LintContext& file) {
  const auto types = file.words("layer_types");
  if (!types || file.type() != "mistral" || sliding(*types) == std::int64_t(types->size())) return {};
  const bool part = file.family() && file.family()->name == "mistral";  // of another model: nothing turns it
  return {
      finding(file, file.at("layer_types"), part ? "no such key" : "\"model_type\": \"ministral\"",
              part ? "Mistral's class does not read it and gives every layer the window"
                   : text("transformers reads the file as Ministral, in which ",
                          std::int64_t(types->size()) - sliding(*types), " of ", types->size(),
                          " layers see everything; MistralConfig by itself gives every layer the window"))};
}

// What layers of a kind cannot do without: its key, and whether the class has a number of its own.
struct Limit {
  std::string_view kind, key;
  bool of_class;
  std::string_view what;
};
Findings limit_missing(const LintContext& file, const Limit& limit, std::int64_t layers) {
  const Config::Kind kind = file.kind(limit.key);
  if (layers == 0 || (kind != Config::Kind::null && (kind != Config::Kind::absent || limit.of_class)))
    return {};
  return {finding(file, file.at(limit.key), text("the ", limit.what, " in tokens"),
                  text(counted(std::size_t(layers), "layer"), " of the kind ", limit.kind,
                       ", and there is no ", limit.what, ": transformers 5.23 fails when it runs"))};
}
// Classes that make the mask of a window, or of a chunk, whatever their layers are.
bool makes_every_mask(const Family& family) {
  constexpr std::string_view kNames[] = {"gemma2", "gemma3", "gpt_oss",   "granite_swa", "granitemoe_swa",
                                         "olmo3",  "llama4", "ministral", "gemma4"};
  return std::find(std::begin(kNames), std::end(kNames), family.name) != std::end(kNames);
}
Findings window_missing(const LintContext& file) {
  const Family* family = file.family();
  if (!family || file.gguf() || (family->method != Method::rotary && family->method != Method::profile))
    return {};
  const WindowRule& windows = family->windows;
  const bool of_encoder = !family->causal && windows.which == WindowRule::Which::none;
  if (of_encoder) return {};  // one that makes no mask from layer_types
  const Limit window{"sliding_attention", windows.key, windows.standard != 0, "window"},
      chunk{"chunked_attention", "attention_chunk_size", windows.chunk != 0, "length of a chunk"};
  const Limit& made = windows.chunk ? chunk : window;
  if (makes_every_mask(*family) && file.kind(made.key) == Config::Kind::null)
    return {finding(file, file.at(made.key), text("the ", made.what, " in tokens"),
                    text("there is none, and the class makes its mask whatever the layers are: transformers "
                         "5.23 fails when it runs"))};
  // ModernBERT's class has the window under this name, too: a null in the file takes its place.
  if (windows.key == "local_attention" && file.kind("sliding_window") == Config::Kind::null)
    return limit_missing(file, {"sliding_attention", "sliding_window", true, "window"}, 1);
  const auto types = file.words("layer_types");
  if (!types) {  // the class's own rule, of which a part of the layers has the window
    const bool some = windows.which == WindowRule::Which::all_but;
    return some && file.kind(windows.key) == Config::Kind::null
               ? limit_missing(file, window, std::max<std::int64_t>(1, file.layers().value_or(1) / 2))
               : Findings{};
  }
  const std::int64_t slide = sliding(*types),
                     chunks = std::count(types->begin(), types->end(), "chunked_attention");
  if (slide && windows.chunk)
    return {finding(
        file, file.at("layer_types"), "chunked_attention or full_attention",
        text("the class of ", file.type(),
             " has layers with chunks and none with a window: transformers 5.23 fails when it runs"))};
  if (slide && is_qwen(file) && switches_window(file) && !file.flag("use_sliding_window").value_or(false))
    return {finding(file, file.at("use_sliding_window"), "true",
                    text("layer_types has ", counted(std::size_t(slide), "layer"),
                         " with a window, and there is no window"))};
  Findings all = limit_missing(file, window, slide);
  for (LintFinding& found : limit_missing(file, chunk, chunks)) all.push_back(std::move(found));
  return all;
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

// A class that does not look at the key runs, whatever it says.
Findings window_impossible(const LintContext& file) {
  if (!file.family() || file.gguf()) return {};
  const WindowRule& windows = file.family()->windows;
  const bool read = windows.which != WindowRule::Which::none || switches_window(file);
  const bool off = switches_window(file) && !file.flag("use_sliding_window").value_or(false);
  const bool by_types =
      file.family()->name == "smollm3" && file.has("layer_types");  // whatever is switched off
  if (!read || (off && !by_types)) return {};
  const auto window = file.number(windows.key);
  if (file.kind(windows.key) != Config::Kind::number || (window && *window >= 1)) return {};
  return {finding(file, file.at(windows.key), "null for no window, or a number of tokens",
                  "no query would see a key")};
}

Findings by_kernel(const LintContext& file) {
  return remarked(file, "mask-depends-on-kernel", "no such difference: the same for every implementation");
}
Findings by_layer(const LintContext& file) {
  return remarked(file, "layer-override-refused", "one value for the whole model");
}

const LintRule kRules[] = {
    {.id = "layer-types-length",
     .severity = Severity::error,
     .title = "layer_types has another length than the layers.",
     .explains = "transformers 5.23 refuses the file; readers that index the list fail in the middle of the "
                 "model, or take the last word again.",
     .fix = "One word for each layer.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/configuration_utils.py",
     .fails =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 4, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "layer_types": ["full_attention", "full_attention", "full_attention"]})",
     .passes =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 4, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "layer_types": ["full_attention", "full_attention", "full_attention", "full_attention"]})",
     .find = length},
    {.id = "layer-types-of-mistral",
     .severity = Severity::warning,
     .title = "layer_types in a file of the type mistral.",
     .explains =
         "AutoConfig of transformers 4.57 and 5.23 reads such a file as Ministral, whose layers see what "
         "layer_types says. MistralConfig by itself does not read the key and gives every layer the "
         "window, as it does inside another model.",
     .fix = "Use the model type ministral.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/auto/"
             "configuration_auto.py",
     .fails =
         R"({"model_type": "mistral", "hidden_size": 512, "num_attention_heads": 8, "head_dim": 64, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024, "layer_types": ["sliding_attention", "full_attention"]})",
     .passes =
         R"({"model_type": "mistral", "hidden_size": 512, "num_attention_heads": 8, "head_dim": 64, "num_hidden_layers": 2, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024})",
     .find = types_of_mistral},
    {.id = "window-missing",
     .severity = Severity::error,
     .title = "Layers with a window, and no window.",
     .explains = "layer_types or the class says sliding_attention, and the window is null, absent where the "
                 "class has "
                 "none of its own or, for Qwen, switched off by use_sliding_window. transformers 5.23 then "
                 "fails when "
                 "it runs, with chunked_attention and no attention_chunk_size as well. Other readers give "
                 "those layers "
                 "full attention.",
     .fix = "Write the window, or full_attention.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/qwen2/"
             "configuration_qwen2.py",
     .fails =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024, "use_sliding_window": false, "layer_types": ["sliding_attention", "full_attention"]})",
     .passes =
         R"({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
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
         R"({"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 8192,
 "rope_theta": 1000000, "sliding_window": 1024, "use_sliding_window": true, "max_window_layers": 28})",
     .passes =
         R"({"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 8192,
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
     .find = window_impossible},
    {.id = "mask-depends-on-kernel",
     .severity = Severity::warning,
     .title = "What a query sees depends on the implementation of attention.",
     .explains = "Eager attention obeys the mask that the model makes. A flash kernel gets no such mask and "
                 "obeys arguments of the layer, and this file gives the two different words: Gemma 2's "
                 "use_bidirectional_attention reaches is_causal alone; SmolLM3's layer_types reach the mask "
                 "alone where use_sliding_window is not true.",
     .fix = "Take the key out, or say the same in both.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/gemma2/"
             "modeling_gemma2.py",
     .fails =
         R"({"model_type": "gemma2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 10000, "sliding_window": 512, "use_bidirectional_attention": true})",
     .passes =
         R"({"model_type": "gemma2", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "head_dim": 64, "max_position_embeddings": 8192,
 "rope_theta": 10000, "sliding_window": 512})",
     .find = by_kernel},
    {.id = "layer-override-refused",
     .severity = Severity::error,
     .title = "per_layer_config gives a layer what its class does not read by layer.",
     .explains =
         "transformers 5.23 raises an error when it builds such a model. Of the families that gnomon "
         "knows, Gemma 4 alone reads per_layer_config: head_dim and num_key_value_heads, which all "
         "layers of one kind must share. A window or a number of heads of one layer is not among them.",
     .fix = "Write the value for the whole model.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/integrations/"
             "heterogeneity/configuration_utils.py",
     .fails =
         R"({"model_type": "gemma4_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "per_layer_config": {"5": {"head_dim": 128, "sliding_window": 256}}})",
     .passes =
         R"({"model_type": "gemma4_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "per_layer_config": {"5": {"head_dim": 128}}})",
     .find = by_layer,
     .departs = true},
};

}  // namespace

std::span<const LintRule> layers_rules() { return kRules; }

}  // namespace gnomon
