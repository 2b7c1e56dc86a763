// GGUF: what it has no key for, and what stands in tensors instead of keys.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/gguf_architectures.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/gguf.txt.inc"
    ;

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

constexpr auto kRules = written(kText, {
    {"gguf-pairing-unknown", Severity::warning, pairing_unknown},
    {"gguf-rows-are-permuted", Severity::note, permuted},
    {"gguf-base-missing", Severity::warning, base_missing},
    {"gguf-original-length-missing", Severity::warning, original_missing},
    {"gguf-log-multiplier-unscaled", Severity::error, log_multiplier},
    {"gguf-divisors-missing", Severity::error, divisors_missing},
    {"gguf-longrope-lists-missing", Severity::error, lists_missing},
    {"gguf-every-fourth-layer", Severity::note, every_fourth},
    {"gguf-old-linear-key", Severity::warning, old_linear},
    {"gguf-rotated-width", Severity::error, width},
});

}  // namespace

std::span<const LintRule> gguf_rules() { return kRules; }

}  // namespace gnomon
