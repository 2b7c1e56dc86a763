// GGUF: what it has no key for, and what stands in tensors instead of keys.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/gguf_architectures.h"

namespace gnomon {
namespace {

const GgufArchitecture* fixed_by_name(const LintContext& file) {
  return file.gguf() ? find_gguf_architecture(file.type()) : nullptr;
}
// By a base that may be in the file.
bool rotates(const LintContext& file) {
  const GgufArchitecture* fixed = fixed_by_name(file);
  const bool rotary = !file.family() || file.family()->method == Method::rotary;
  return fixed && rotary && fixed->pairs != GgufPairs::none;
}
bool has_tensor(const LintContext& file, std::string_view name) {
  return std::any_of(file.tensors().begin(), file.tensors().end(),
                     [&](const LintTensor& t) { return t.name == name; });
}

Findings pairing_unknown(const LintContext& file) {
  if (!file.gguf() || fixed_by_name(file)) return {};
  return {finding(file, "general.architecture",
                  "an architecture of llama.cpp's list, or a look at the weights (`gnomon inspect`)",
                  "GGUF has no key for the pairing, and this architecture is in no table of it")};
}

Findings permuted(const LintContext& file) {
  const GgufArchitecture* fixed = fixed_by_name(file);
  if (!fixed || !fixed->permuted) return {};
  return {finding(
      file, "general.architecture", "nothing; a reader of these weights turns adjacent channels",
      "the same model's safetensors turn halves: its q and k have their rows in another order there")};
}

Findings base_missing(const LintContext& file) {
  if (!rotates(file) || file.has("rope.freq_base")) return {};
  return {finding(file, file.at("rope.freq_base"), "the base that the model was trained with",
                  "llama.cpp takes 10000")};
}

Findings original_missing(const LintContext& file) {
  if (!file.gguf() || file.word("rope.scaling.type") != "yarn" ||
      file.has("rope.scaling.original_context_length"))
    return {};
  return {finding(file, file.at("rope.scaling.type"),
                  text("\"", file.type(), ".rope.scaling.original_context_length\": the tokens of training"),
                  text("llama.cpp takes context_length, ", file.config().printed(file.at("context_length")),
                       ", for the length before the extension"))};
}

Findings log_multiplier(const LintContext& file) {
  const GgufArchitecture* fixed = fixed_by_name(file);
  const bool tenth = fixed && fixed->log_multiplier == 0.1;  // Mistral's holds mscale_all_dim itself
  const auto x = tenth ? file.number("rope.scaling.yarn_log_multiplier") : std::nullopt;
  if (!x || *x < 0.5) return {};
  return {finding(file, file.at("rope.scaling.yarn_log_multiplier"), shortest(0.1 * *x),
                  text("it holds 0.1 * mscale_all_dim; ", shortest(*x), " means an mscale_all_dim of ",
                       shortest(10 * *x)))};
}

Findings divisors_missing(const LintContext& file) {
  if (!file.gguf() || file.type() != "llama" || file.tensors().empty() ||
      has_tensor(file, "rope_freqs.weight") || file.has("rope.scaling.type"))
    return {};
  if (file.number("rope.freq_base") != 500000 || file.whole("context_length").value_or(0) <= 8192) return {};
  return {finding(file, file.at("rope.freq_base"),
                  "a tensor rope_freqs.weight, from a converter after llama.cpp#8676",
                  text("Llama 3.1's base and ", file.config().printed(file.at("context_length")),
                       " tokens without the tensor of divisors: unscaled"))};
}

Findings lists_missing(const LintContext& file) {
  if (!file.gguf() || file.tensors().empty() || file.word("rope.scaling.type") != "longrope" ||
      has_tensor(file, "rope_factors_long.weight"))
    return {};
  return {finding(file, file.at("rope.scaling.type"),
                  "tensors rope_factors_long.weight and rope_factors_short.weight",
                  "the two lists are tensors in GGUF, and they are not there")};
}

Findings every_fourth(const LintContext& file) {
  if (!file.gguf() || (file.type() != "smollm3" && file.type() != "llama4")) return {};
  return {finding(file, "general.architecture",
                  "know it: compare with no_rope_layers of the model's config.json",
                  "layers without position have no key: llama.cpp takes every 4th")};
}

Findings old_linear(const LintContext& file) {
  if (!file.gguf() || !file.has("rope.scale_linear")) return {};
  return {finding(file, file.at("rope.scale_linear"), "rope.scaling.type linear and rope.scaling.factor",
                  "a key of 2023, which newer readers may not look at")};
}

Findings width(const LintContext& file) {
  const auto turns = file.gguf() ? file.whole("rope.dimension_count") : std::nullopt;
  auto head = file.whole("attention.key_length");
  const auto all = file.whole("embedding_length"), heads = file.whole("attention.head_count");
  if (!head && all && heads && *heads > 0) head = *all / *heads;
  if (!turns || !head || (*turns <= *head && *turns % 2 == 0)) return {};
  return {finding(file, file.at("rope.dimension_count"), text("an even number up to ", *head),
                  text("heads have ", *head, " channels"))};
}

const LintRule kRules[] = {
    {.id = "gguf-pairing-unknown",
     .severity = Severity::warning,
     .title = "Nothing says which channels turn together.",
     .explains = "GGUF has no key for the pairing; every reader has a table of architectures. Thirty-nine of "
                 "them with the wrong entry: perplexity 252.8 for 4.26.",
     .fix = "Look at the weights: the wrong pairing shows in q and k.",
     .link = "https://github.com/ikawrakow/ik_llama.cpp/pull/2290",
     .fails =
         R"({"general.architecture": "newmodel", "newmodel.block_count": 2, "newmodel.rope.freq_base": 10000})",
     .passes = R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.rope.freq_base": 10000})",
     .find = pairing_unknown},
    {.id = "gguf-rows-are-permuted",
     .severity = Severity::note,
     .title = "The weights of q and k have another order of rows than in safetensors.",
     .explains =
         "Files of transformers turn halves; the converter reorders the rows of q and k for these "
         "architectures so that adjacent channels turn. A repacking that left it out: perplexity 44 became "
         "4419.",
     .fix = "Undo the order before comparing with, or converting to, safetensors.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/22611",
     .fails = R"({"general.architecture": "llama", "llama.block_count": 2, "llama.rope.freq_base": 10000})",
     .passes = R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.rope.freq_base": 10000})",
     .find = permuted},
    {.id = "gguf-base-missing",
     .severity = Severity::warning,
     .title = "No rope.freq_base: the base is 10000 to llama.cpp.",
     .explains = "Converters leave the key out where they find no base in config.json; one that looks for "
                 "rope_theta alone finds none in the files of transformers 5.",
     .fix = "Convert again with a converter that reads rope_parameters, or set the key.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/18013",
     .fails = R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.context_length": 32768})",
     .passes =
         R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.context_length": 32768, "qwen2.rope.freq_base": 1000000})",
     .find = base_missing},
    {.id = "gguf-original-length-missing",
     .severity = Severity::warning,
     .title = "YaRN without rope.scaling.original_context_length.",
     .explains = "Its ramp is computed from the length of training. Without the key readers take "
                 "context_length, usually the extended one.",
     .fix = "Set the key.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/2402",
     .fails =
         R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.context_length": 131072, "qwen2.rope.freq_base": 1000000,
 "qwen2.rope.scaling.type": "yarn", "qwen2.rope.scaling.factor": 4.0})",
     .passes =
         R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.context_length": 131072, "qwen2.rope.freq_base": 1000000,
 "qwen2.rope.scaling.type": "yarn", "qwen2.rope.scaling.factor": 4.0, "qwen2.rope.scaling.original_context_length": 32768})",
     .find = original_missing},
    {.id = "gguf-log-multiplier-unscaled",
     .severity = Severity::error,
     .title = "yarn_log_multiplier holds mscale_all_dim itself, not a tenth of it.",
     .explains = "The converter multiplies by 0.1 and llama.cpp divides again. Written without the 0.1 by "
                 "another converter, the softmax's factor is ten times too far from 1.",
     .fix = "Write 0.1 * mscale_all_dim.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/17945",
     .fails =
         R"({"general.architecture": "deepseek2", "deepseek2.block_count": 2, "deepseek2.context_length": 163840, "deepseek2.rope.freq_base": 10000,
 "deepseek2.rope.scaling.type": "yarn", "deepseek2.rope.scaling.factor": 40.0, "deepseek2.rope.scaling.original_context_length": 4096,
 "deepseek2.rope.scaling.yarn_log_multiplier": 1.0})",
     .passes =
         R"({"general.architecture": "deepseek2", "deepseek2.block_count": 2, "deepseek2.context_length": 163840, "deepseek2.rope.freq_base": 10000,
 "deepseek2.rope.scaling.type": "yarn", "deepseek2.rope.scaling.factor": 40.0, "deepseek2.rope.scaling.original_context_length": 4096,
 "deepseek2.rope.scaling.yarn_log_multiplier": 0.1})",
     .find = log_multiplier},
    {.id = "gguf-divisors-missing",
     .severity = Severity::error,
     .title = "Llama 3.1's scaling is a tensor in GGUF, and it is not there.",
     .explains = "rope_freqs.weight holds a divisor for each pair; no key says that it should. Files "
                 "converted before llama.cpp#8676 lack it, and long texts fall apart.",
     .fix = "Convert again.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/8650",
     .fails =
         R"({"general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 131072, "llama.rope.freq_base": 500000})",
     .passes =
         R"({"general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 8192, "llama.rope.freq_base": 500000})",
     .find = divisors_missing},
    {.id = "gguf-longrope-lists-missing",
     .severity = Severity::error,
     .title = "LongRoPE's lists are tensors in GGUF, and they are not there.",
     .explains = "Without rope_factors_long.weight and rope_factors_short.weight nothing is divided.",
     .fix = "Convert again.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/8995",
     .fails =
         R"({"general.architecture": "phi3", "phi3.block_count": 2, "phi3.context_length": 131072, "phi3.rope.freq_base": 10000, "phi3.rope.scaling.type": "longrope"})",
     .passes =
         R"({"general.architecture": "phi3", "phi3.block_count": 2, "phi3.context_length": 4096, "phi3.rope.freq_base": 10000})",
     .find = lists_missing},
    {.id = "gguf-every-fourth-layer",
     .severity = Severity::note,
     .title = "Which layers carry no position is fixed in llama.cpp, not in the file.",
     .explains = "SmolLM3 and Llama 4 have every 4th layer without position; a model trained with another "
                 "list runs with that one, converted without a word.",
     .fix = "Compare with no_rope_layers in the config.json that it was made from.",
     .link = "https://github.com/huggingface/transformers/issues/43756",
     .fails =
         R"({"general.architecture": "smollm3", "smollm3.block_count": 4, "smollm3.rope.freq_base": 5000000})",
     .passes =
         R"({"general.architecture": "qwen2", "qwen2.block_count": 4, "qwen2.rope.freq_base": 5000000})",
     .find = every_fourth},
    {.id = "gguf-old-linear-key",
     .severity = Severity::warning,
     .title = "rope.scale_linear, a key of 2023.",
     .explains = "Linear scaling moved to rope.scaling.type and rope.scaling.factor. Readers that know only "
                 "those run such a file unscaled.",
     .fix = "Write the new keys.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/2402",
     .fails =
         R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.rope.freq_base": 10000, "qwen2.rope.scale_linear": 4.0})",
     .passes =
         R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.rope.freq_base": 10000, "qwen2.rope.scaling.type": "linear",
 "qwen2.rope.scaling.factor": 4.0})",
     .find = old_linear},
    {.id = "gguf-rotated-width",
     .severity = Severity::error,
     .title = "rope.dimension_count is odd, or larger than a head.",
     .explains = "Channels turn in pairs within a head; readers that do not check read past the table.",
     .fix = "Write the rotated width of one head.",
     .link = "https://github.com/vllm-project/vllm/issues/43676",
     .fails =
         R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.embedding_length": 512, "qwen2.attention.head_count": 8, "qwen2.rope.freq_base": 10000,
 "qwen2.rope.dimension_count": 128})",
     .passes =
         R"({"general.architecture": "qwen2", "qwen2.block_count": 2, "qwen2.embedding_length": 512, "qwen2.attention.head_count": 8, "qwen2.rope.freq_base": 10000,
 "qwen2.rope.dimension_count": 64})",
     .find = width},
};

}  // namespace

std::span<const LintRule> gguf_rules() { return kRules; }

}  // namespace gnomon
