// Known faults of single versions, as data: which files they are about, which versions of a program have them.
#include <algorithm>
#include <utility>

#include "gnomon/models/lint/release.h"
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/versions.txt.inc"
    ;

enum class Program { transformers, vllm };
constexpr std::string_view kNames[] = {"transformers", "vLLM"};

// A fault, the versions [from, before) that have it, and the files that it is about: the model_type is one of `types`, and a key is
// there, or is not. Empty `before`: no version without it is known.
struct KnownFault {
  std::string_view id;
  Program program;
  std::string_view from, before;
  std::array<std::string_view, 2> types;  // none: any
  std::string_view has = {}, lacks = {};
};
// Versions of transformers were compared by their packages on PyPI: the first that has the fault, and the first without it. Those
// of vLLM are of the threads.
constexpr KnownFault kFaults[] = {
    {"minimax-m2-turns-whole-heads",
     Program::transformers,
     "5.0.0",
     "5.18.0",
     {"minimax_m2"},
     "rotary_dim",
     "partial_rotary_factor"},
    {"minimax-m3-vision-without-time", Program::transformers, "5.17.0", "5.18.0", {"minimax_m3_vl"}},
    {"qwen-vl-images-as-videos", Program::transformers, "5.3.0", "5.5.4", {"qwen2_5_vl"}},
    {"olmo3-windows-scaled", Program::transformers, "5.0.0", "5.13.0", {"olmo3"}, "rope_scaling"},
    {"ernie-base-too-late", Program::transformers, "5.0.0", "", {"ernie4_5_moe_vl"}, "auto_map"},
    {"heads-by-layer-refused", Program::vllm, "0.0.0", "0.28.0", {}, "per_layer_config"},
    {"bailing-turns-whole-heads",
     Program::vllm,
     "0.0.0",
     "0.23.0",
     {"bailing_moe", "bailing_moe_v2"},
     "partial_rotary_factor",
     "rotary_dim"},
    {"bailing-base-lost",
     Program::vllm,
     "0.0.0",
     "",
     {"bailing_moe", "bailing_moe_v2"},
     "rope_theta",
     "rope_parameters"}};

bool about(const LintContext& file, const KnownFault& fault) {
  if (file.gguf()) return false;
  const auto here = [&](std::string_view key) { return file.has(key) || file.config().has(key); };
  const std::string outer = file.config().kind("model_type") == Config::Kind::text
                                ? *file.config().text("model_type")
                                : std::string();
  const auto named = [&](std::string_view type) {
    return !type.empty() && (file.type() == type || outer == type);
  };
  const bool of_type = fault.types[0].empty() || std::any_of(fault.types.begin(), fault.types.end(), named);
  return of_type && (fault.has.empty() || here(fault.has)) && (fault.lacks.empty() || !here(fault.lacks));
}

// The version that counts, and the key that says it; empty: not known.
std::pair<std::string, std::string> version_of(const LintContext& file, Program program) {
  const LintPrograms& programs = file.programs();
  if (program == Program::vllm) return {programs.vllm, ""};
  if (!programs.transformers.empty()) return {programs.transformers, ""};
  for (const std::string& key : {std::string("transformers_version"), file.at("transformers_version")})
    if (file.config().kind(key) == Config::Kind::text) return {*file.config().text(key), key};
  return {};
}
// A fault of a vLLM that nobody named may be there; of a transformers that nobody named, nothing is said.
bool has_fault(const KnownFault& fault, const std::string& version) {
  const auto found = release_of(version);
  if (!found) return fault.program == Program::vllm && version.empty();
  return *found >= *release_of(fault.from) && (fault.before.empty() || *found < *release_of(fault.before));
}

std::string interval(const KnownFault& fault, const std::string& version, const std::string& key) {
  const std::string_view program = kNames[std::size_t(fault.program)];
  const std::string range =
      fault.before.empty() ? text("No version of ", program, " without the fault is known")
      : fault.from == "0.0.0"
          ? text(program, " before ", fault.before, " has the fault")
          : text(program, " from ", fault.from, " on has the fault, until ", fault.before);
  if (version.empty()) return range;
  return text(range, key.empty() ? "; you named " : "; the file was written by ", version);
}

template <std::size_t F>
Findings known_fault(const LintContext& file) {
  constexpr const KnownFault& fault = kFaults[F];
  if (!about(file, fault)) return {};
  const auto [version, key] = version_of(file, fault.program);
  if (!has_fault(fault, version)) return {};
  const std::string at = fault.has.empty()     ? file.at("model_type")
                         : file.has(fault.has) ? file.at(fault.has)
                                               : std::string(fault.has);
  return {finding(file, at, kText.at(fault.id, "expected"),
                  text(kText.at(fault.id, "says"), ". ", interval(fault, version, key)))};
}
template <std::size_t F>
constexpr LintRow row() {
  return {kFaults[F].id, kFaults[F].program == Program::vllm ? Severity::note : Severity::warning,
          known_fault<F>};
}

constexpr LintRow kRows[] = {row<0>(), row<1>(), row<2>(), row<3>(), row<4>(), row<5>(), row<6>(), row<7>()};
static_assert(std::size(kRows) == std::size(kFaults));
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> versions_rules() { return kRules; }

}  // namespace gnomon
