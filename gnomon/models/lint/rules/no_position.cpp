// Layers that carry no position: five spellings, and a list whose name says the opposite of what it holds.
#include <algorithm>

#include "gnomon/core/readable.h"
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

bool reads_list(const LintContext& file) {
  return file.type() == "smollm3" || file.type() == "llama4_text" || file.type() == "llama4";
}
bool reads_bases(const LintContext& file) {
  return file.type().starts_with("granite_swa") || file.type().starts_with("granitemoe_swa") ||
         file.type().starts_with("muse_");
}

std::int64_t without(const std::vector<double>& list) { return std::count(list.begin(), list.end(), 0.0); }

Findings inverted(const LintContext& file) {
  const auto list = file.numbers("no_rope_layers");
  if (!list || list->empty() || 2 * without(*list) <= std::int64_t(list->size())) return {};
  std::string layers;
  for (std::size_t l = 0; l < list->size() && layers.size() < 40; ++l)
    if ((*list)[l] == 0) layers += text(layers.empty() ? "" : ", ", l);
  return {finding(file, file.at("no_rope_layers"), "1 for a layer that turns, 0 for one without position",
                  text(without(*list), " of ", list->size(), " layers carry no position (", layers,
                       " ...): more than half"))};
}

Findings list_length(const LintContext& file) {
  Findings all;
  const auto layers = file.layers();
  for (const std::string_view key : {"no_rope_layers", "layer_rope_theta"}) {
    const auto list = file.numbers(key);
    if (!list || !layers || std::int64_t(list->size()) == *layers) continue;
    if (list->empty() && file.type() != "smollm3") continue;  // Llama 4 takes it for none
    all.push_back(finding(file, file.at(key), text("one number for each of ", *layers, " layers"),
                          text("there are ", list->size())));
  }
  return all;
}

Findings interval_contradicts(const LintContext& file) {
  const auto list = file.numbers("no_rope_layers");
  const auto interval = file.whole("no_rope_layer_interval");
  if (!list || list->empty() || !interval || *interval <= 0) return {};
  for (std::size_t l = 0; l < list->size(); ++l)
    if ((list->at(l) != 0) != ((std::int64_t(l) + 1) % *interval != 0))
      return {finding(file, file.at("no_rope_layer_interval"), "the same in both, or one of them",
                      text("the list and every ", ordinal(*interval), " layer differ from layer ", l,
                           " on; the class reads the list, others the interval"))};
  return {};
}

Findings lost_in_gguf(const LintContext& file) {
  const auto list = file.numbers("no_rope_layers");
  if (!list || !reads_list(file)) return {};
  std::int64_t wrong = 0;
  for (std::size_t l = 0; l < list->size(); ++l) wrong += (list->at(l) != 0) != ((l + 1) % 4 != 0);
  if (!wrong) return {};
  return {finding(file, file.at("no_rope_layers"),
                  "every 4th layer without position, if the model is to run in llama.cpp",
                  text("GGUF has no key for the list; llama.cpp takes every 4th layer: ", wrong, " of ",
                       list->size(), " layers would be wrong"))};
}

Findings spelling(const LintContext& file) {
  Findings all;
  const auto bases = file.numbers("layer_rope_theta");
  if (bases && without(*bases) > 0 && reads_bases(file))
    all.push_back(finding(file, file.at("layer_rope_theta"),
                          "nothing; check that what serves it knows the list",
                          text(without(*bases), " layers have the base 0: they do not turn")));
  if (file.number("qk_rope_head_dim") == 0)
    all.push_back(finding(file, file.at("qk_rope_head_dim"), "nothing; check what serves it",
                          "MLA without a rotary slice: no layer knows position but by its mask"));
  for (const std::string_view object : {"rope_scaling", "rope_parameters"}) {
    if (file.kind(object) != Config::Kind::object) continue;
    for (const std::string& key : file.config().keys(file.at(object)))
      if (key.ends_with("_attention") &&
          file.config().kind(text(file.at(object), ".", key)) == Config::Kind::null)
        all.push_back(finding(file, text(file.at(object), ".", key),
                              "nothing; check that what serves it takes null for no rotation",
                              text("layers of the kind ", key, " do not turn")));
  }
  return all;
}

Findings bases_unread(const LintContext& file) {
  if (!file.has("layer_rope_theta") || reads_bases(file)) return {};
  return {finding(file, file.at("layer_rope_theta"), "rope_parameters, by kind of layer",
                  text("the class of ", file.type(), " does not read it: every layer has the same base"))};
}

Findings list_unread(const LintContext& file) {
  if (!file.has("no_rope_layers") || reads_list(file) || !file.family()) return {};
  const auto list = file.numbers("no_rope_layers");
  if (list && without(*list) == 0) return {};
  return {finding(file, file.at("no_rope_layers"), "a class that reads it: SmolLM3, Llama 4",
                  text("the class of ", file.type(), " does not read it: every layer turns"))};
}

const LintRule kRules[] = {
    {.id = "layers-without-position-inverted",
     .severity = Severity::warning,
     .title = "no_rope_layers leaves more than half the layers without position.",
     .explains = "The name is inverted: 1 is a layer that turns, 0 one without position. Read, or written, "
                 "the other way, 27 of SmolLM3's 36 layers lose their position."
                 "",
     .fix = "Exchange 0 and 1.",
     .link = "https://github.com/onnxruntime/mobius/issues/233",
     .fails =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536,
 "rope_theta": 5000000, "no_rope_layers": [0, 0, 0, 1]})",
     .passes =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536,
 "rope_theta": 5000000, "no_rope_layers": [1, 1, 1, 0]})",
     .find = inverted},
    {.id = "layer-list-length",
     .severity = Severity::error,
     .title = "A list of settings by layer has another length than the layers.",
     .explains = "transformers 5.23 fails with an index out of range if the list is short, and ignores what "
                 "is too much.",
     .fix = "One entry for each layer.",
     .link = "https://github.com/huggingface/transformers/issues/37359",
     .fails =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536,
 "rope_theta": 5000000, "no_rope_layers": [1, 1, 1, 0, 1]})",
     .passes =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536,
 "rope_theta": 5000000, "no_rope_layers": [1, 1, 1, 0]})",
     .find = list_length},
    {.id = "layer-interval-contradicts",
     .severity = Severity::warning,
     .title = "no_rope_layers and no_rope_layer_interval name different layers.",
     .explains = "The classes make the list from the interval only where there is no list; TensorRT-LLM and "
                 "others read the interval alone.",
     .fix = "Let both say the same.",
     .link = "https://github.com/NVIDIA/TensorRT-LLM/issues/3382",
     .fails =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536,
 "rope_theta": 5000000, "no_rope_layers": [1, 1, 1, 0], "no_rope_layer_interval": 2})",
     .passes =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536,
 "rope_theta": 5000000, "no_rope_layers": [1, 1, 1, 0], "no_rope_layer_interval": 4})",
     .find = interval_contradicts},
    {.id = "layers-without-position-lost-in-gguf",
     .severity = Severity::warning,
     .title = "Layers without position that are not every 4th cannot be told to llama.cpp.",
     .explains = "GGUF has no key for them. llama.cpp fixes a step of 4 for SmolLM3 and Llama 4, and "
                 "converts every other list without a word.",
     .fix = "Know it before converting.",
     .link = "https://github.com/huggingface/transformers/issues/43756",
     .fails =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536,
 "rope_theta": 5000000, "no_rope_layers": [1, 0, 1, 1]})",
     .passes =
         R"({"model_type": "smollm3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536,
 "rope_theta": 5000000, "no_rope_layers": [1, 1, 1, 0]})",
     .find = lost_in_gguf},
    {.id = "no-position-spelling",
     .severity = Severity::note,
     .title = "Layers without position, in a spelling that not every reader knows.",
     .explains =
         "There are five: no_rope_layers, a base of 0 in layer_rope_theta, null for a kind of layer, "
         "qk_rope_head_dim 0, and classes that fix it by the kind of layer. A reader that knows another "
         "turns these layers, or divides by the base 0.",
     .fix = "Check with `gnomon explain` and with what serves the model which layers turn.",
     .link = "https://github.com/huggingface/transformers/issues/37359",
     .fails =
         R"({"model_type": "granite_swa", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 4096,
 "rope_theta": 10000, "layer_rope_theta": [10000, 10000, 10000, 0]})",
     .passes =
         R"({"model_type": "granite_swa", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 4096,
 "rope_theta": 10000, "layer_rope_theta": [10000, 10000, 10000, 10000]})",
     .find = spelling},
    {.id = "layer-bases-unread",
     .severity = Severity::error,
     .title = "layer_rope_theta in a class that does not read it.",
     .explains = "Granite-SWA and Muse read it: the base of each layer, 0 for none. Every other class of "
                 "transformers 5.23 keeps it unread.",
     .fix = "Write rope_parameters by kind of layer.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/models/granite_swa/"
             "configuration_granite_swa.py",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 4096,
 "rope_theta": 10000, "layer_rope_theta": [10000, 10000, 10000, 0]})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 4096,
 "rope_theta": 10000})",
     .find = bases_unread},
    {.id = "layer-list-unread",
     .severity = Severity::error,
     .title = "no_rope_layers in a class that does not read it.",
     .explains = "SmolLM3 and Llama 4 read it. In any other class of transformers 5.23 it stays in the file "
                 "and every layer turns.",
     .fix = "Use a class that reads it.",
     .link = "https://github.com/huggingface/transformers/issues/37359",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 4096,
 "rope_theta": 10000, "no_rope_layers": [1, 1, 1, 0]})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 4096,
 "rope_theta": 10000})",
     .find = list_unread},
};

}  // namespace

std::span<const LintRule> no_position_rules() { return kRules; }

}  // namespace gnomon
