// GGUF: what it has no key for, and what stands in tensors instead of keys.
#include <algorithm>

#include "gnomon/models/lint/rules/rule.h"
#include "gnomon/models/resolve/gguf_architectures.h"
#include "gnomon/models/resolve/gguf_rope.h"

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
  return fixed && rotary && fixed->position == GgufPosition::rotation && !fixed->keyless;
}
bool has_tensor(const LintContext& file, std::string_view name) {
  return std::any_of(file.tensors().begin(), file.tensors().end(),
                     [&](const LintTensor& t) { return t.name == name; });
}

Findings pairing_unknown(const LintContext& file) {
  if (!file.gguf() || fixed_by_name(file)) return {};
  return {finding(file, "general.architecture", kText.at("gguf-pairing-unknown", "expected"),
                  kText.at("gguf-pairing-unknown", "says"))};
}

Findings permuted(const LintContext& file) {
  const GgufArchitecture* fixed = fixed_by_name(file);
  if (!fixed || !fixed->permuted) return {};
  return {finding(file, "general.architecture", kText.at("gguf-rows-are-permuted", "expected"),
                  kText.at("gguf-rows-are-permuted", "says"))};
}

Findings base_missing(const LintContext& file) {
  if (!rotates(file) || file.has("rope.freq_base")) return {};
  return {finding(file, file.at("rope.freq_base"), kText.at("gguf-base-missing", "expected"),
                  kText.at("gguf-base-missing", "says"))};
}

Findings original_missing(const LintContext& file) {
  if (!file.gguf() || file.word("rope.scaling.type") != "yarn" ||
      file.has("rope.scaling.original_context_length"))
    return {};
  return {finding(file, file.at("rope.scaling.type"),
                  said<"type">(kText.at("gguf-original-length-missing", "expected"), file.type()),
                  said<"length">(kText.at("gguf-original-length-missing", "says"),
                                 file.config().printed(file.at("context_length"))))};
}

Findings log_multiplier(const LintContext& file) {
  const GgufArchitecture* fixed = fixed_by_name(file);
  const bool tenth = fixed && fixed->log_multiplier == 0.1;  // Mistral's holds mscale_all_dim itself
  const auto x = tenth ? file.number("rope.scaling.yarn_log_multiplier") : std::nullopt;
  if (!x || *x < 0.5) return {};
  return {finding(file, file.at("rope.scaling.yarn_log_multiplier"), shortest(0.1 * *x),
                  said<"found", "meant">(kText.at("gguf-log-multiplier-unscaled", "says"), shortest(*x),
                                         shortest(10 * *x)))};
}

Findings divisors_missing(const LintContext& file) {
  if (!file.gguf() || file.type() != "llama" || file.tensors().empty() ||
      has_tensor(file, "rope_freqs.weight") || file.has("rope.scaling.type"))
    return {};
  if (file.number("rope.freq_base") != 500000 || file.whole("context_length").value_or(0) <= 8192) return {};
  return {finding(file, file.at("rope.freq_base"), kText.at("gguf-divisors-missing", "expected"),
                  said<"length">(kText.at("gguf-divisors-missing", "says"),
                                 file.config().printed(file.at("context_length"))))};
}

Findings lists_missing(const LintContext& file) {
  if (!file.gguf() || file.tensors().empty() || file.word("rope.scaling.type") != "longrope" ||
      has_tensor(file, "rope_factors_long.weight"))
    return {};
  return {finding(file, file.at("rope.scaling.type"), kText.at("gguf-longrope-lists-missing", "expected"),
                  kText.at("gguf-longrope-lists-missing", "says"))};
}

Findings every_fourth(const LintContext& file) {
  if (!file.gguf() || (file.type() != "smollm3" && file.type() != "llama4")) return {};
  return {finding(file, "general.architecture", kText.at("gguf-every-fourth-layer", "expected"),
                  kText.at("gguf-every-fourth-layer", "says"))};
}

Findings window_unread(const LintContext& file) {
  if (!file.gguf()) return {};
  try {
    FileReading reading(file.config(), "");
    const std::string says = gguf_window_unread(reading, file.type());
    if (says.empty()) return {};
    return {
        finding(file, file.at("attention.sliding_window"), kText.at("gguf-window-unread", "expected"), says)};
  } catch (const Error&) {
    return {};  // a value of the wrong kind, which file-refused names
  }
}

Findings old_linear(const LintContext& file) {
  if (!file.gguf() || !file.has("rope.scale_linear")) return {};
  return {finding(file, file.at("rope.scale_linear"), kText.at("gguf-old-linear-key", "expected"),
                  kText.at("gguf-old-linear-key", "says"))};
}

// ggml, rope_yarn(): the ramp times this weight mixes both frequencies. Below 0 it is not set.
Findings ext_factor(const LintContext& file) {
  const auto weight = file.gguf() ? file.number("rope.scaling.yarn_ext_factor") : std::nullopt;
  if (!weight || *weight <= 1) return {};
  const double factor = std::max(1.0, file.number("rope.scaling.factor").value_or(1));
  return {finding(file, file.at("rope.scaling.yarn_ext_factor"),
                  kText.at("gguf-mixing-weight-above-one", "expected"),
                  said<"times">(kText.at("gguf-mixing-weight-above-one", "says"),
                                fixed(*weight - (*weight - 1) / factor, 1)))};
}

Findings no_shift(const LintContext& file) {
  const GgufArchitecture* fixed = fixed_by_name(file);
  if (!fixed) return {};
  const bool sections = fixed->pairs == GgufPairs::sections || fixed->pairs == GgufPairs::sections_in_turn ||
                        (fixed->sections_if_said && file.has("rope.dimension_sections"));
  if (!sections) return {};
  return {finding(file, "general.architecture", kText.at("gguf-no-context-shift", "expected"),
                  kText.at("gguf-no-context-shift", "says"))};
}

Findings width(const LintContext& file) {
  const auto turns = file.gguf() ? file.whole("rope.dimension_count") : std::nullopt;
  auto head = file.whole("attention.key_length");
  const auto all = file.whole("embedding_length"), heads = file.whole("attention.head_count");
  if (!head && file.known() && all && heads && *heads > 0) head = *all / *heads;
  if (!turns || !head || (*turns <= *head && *turns % 2 == 0)) return {};
  return {finding(file, file.at("rope.dimension_count"),
                  said<"channels">(kText.at("gguf-rotated-width", "expected"), text(*head)),
                  said<"channels">(kText.at("gguf-rotated-width", "says"), text(*head)))};
}

constexpr LintRow kRows[] = {
    {"gguf-pairing-unknown", Severity::warning, pairing_unknown},
    {"gguf-rows-are-permuted", Severity::note, permuted},
    {"gguf-base-missing", Severity::warning, base_missing},
    {"gguf-original-length-missing", Severity::warning, original_missing},
    {"gguf-log-multiplier-unscaled", Severity::error, log_multiplier},
    {"gguf-divisors-missing", Severity::error, divisors_missing},
    {"gguf-longrope-lists-missing", Severity::error, lists_missing},
    {"gguf-every-fourth-layer", Severity::note, every_fourth},
    {"gguf-window-unread", Severity::warning, window_unread},
    {"gguf-old-linear-key", Severity::warning, old_linear},
    {"gguf-mixing-weight-above-one", Severity::error, ext_factor},
    {"gguf-no-context-shift", Severity::note, no_shift},
    {"gguf-rotated-width", Severity::error, width, {.any_class = true}},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> gguf_rules() { return kRules; }

}  // namespace gnomon
