// What classes of transformers 5.23 refuse, or cannot run: seen by building each class and running it on a few tokens.
#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/refused.txt.inc"
    ;

Findings layer_word(const LintContext& file) { return remarked(file, "layer-type-unknown"); }
Findings value_type(const LintContext& file) { return remarked(file, "value-type-refused"); }
Findings head_needed(const LintContext& file) { return remarked(file, "head-dim-needed"); }
Findings head_of_rotation_alone(const LintContext& file) {
  return remarked(file, "head-dim-of-rotation-alone");
}
Findings heads_of_width(const LintContext& file) { return remarked(file, "heads-not-the-width"); }
Findings temperature(const LintContext& file) { return remarked(file, "temperature-unsaid"); }
Findings proportional_in_part(const LintContext& file) { return remarked(file, "proportional-in-a-part"); }

constexpr LintRow kRows[] = {
    {"layer-type-unknown", Severity::error, layer_word},
    {"value-type-refused", Severity::error, value_type},
    {"head-dim-needed", Severity::error, head_needed},
    {"head-dim-of-rotation-alone", Severity::error, head_of_rotation_alone},
    {"heads-not-the-width", Severity::error, heads_of_width},
    {"temperature-unsaid", Severity::error, temperature},
    {"proportional-in-a-part", Severity::error, proportional_in_part},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> refused_rules() { return kRules; }

}  // namespace gnomon
