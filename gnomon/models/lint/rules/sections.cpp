// M-RoPE: pairs shared out among time, height and width.
#include <algorithm>
#include <numeric>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

std::optional<std::vector<double>> sections(const LintContext& file, const RopeDictionary& dict) {
  try {
    return file.config().numbers(dict.key + ".mrope_section");
  } catch (const Error&) {
    return std::nullopt;
  }
}

// "16/24/24", of a class whose files may leave it out.
double sum_of(std::string_view sections) {
  double total = 0;
  for (const std::string_view part : split(sections, '/')) total += std::stod(std::string(part));
  return total;
}

Findings sum(const LintContext& file) {
  Findings all;
  const auto dim = file.head_dim();
  const bool said = std::any_of(file.ropes().begin(), file.ropes().end(), [&](const RopeDictionary& dict) {
    return dict.live && file.has(dict, "mrope_section");
  });
  if (file.family() && !file.family()->rope.sections.empty() && !said && dim && !file.gguf()) {
    const double total = sum_of(file.family()->rope.sections);
    if (total != double(*dim / 2))
      all.push_back(finding(file, file.at(file.has("head_dim") ? "head_dim" : file.family()->keys.width),
                            "mrope_section, parts whose sum is half the head",
                            text("the class's own parts, ", file.family()->rope.sections, ", are ",
                                 shortest(total), " pairs, and the head has ", *dim / 2)));
  }
  for (const RopeDictionary& dict : file.ropes()) {
    const auto parts = sections(file, dict);
    if (!parts || !dim) continue;
    const auto pairs = std::int64_t(double(*dim) * share_of_head(file, dict)) / 2;
    const double total = std::accumulate(parts->begin(), parts->end(), 0.0);
    if (total == double(pairs)) continue;
    all.push_back(finding(file, dict.key + ".mrope_section",
                          text("parts whose sum is ", pairs, ", half the rotated width"),
                          text("their sum is ", shortest(total))));
  }
  return all;
}

Findings with_scaling(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && file.has(dict, "mrope_section") && scales(file, dict))
      all.push_back(finding(
          file, dict.key, "nothing; check that what serves it has both",
          text(file.type_of(dict),
               " scaling and three streams of positions: a reader that chooses by one key loses the other")));
  if (all.empty())
    return remarked(file, "sections-with-scaling", "nothing; check that what serves it has both");
  return all;
}

Findings named_default(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    if (!dict.live || !file.has(dict, "mrope_section") || (type != "default" && type != "mrope")) continue;
    const auto interleaved = file.config().kind(dict.key + ".mrope_interleaved") == Config::Kind::flag &&
                             *file.config().flag(dict.key + ".mrope_interleaved");
    all.push_back(finding(
        file, dict.key + ".mrope_section", "nothing; check that what serves it reads it",
        text("text alone cannot show whether it is read",
             interleaved ? "; the axes take turns, while pairs stay halves: two meanings of interleaved"
                         : "")));
  }
  return all;
}

const LintRule kRules[] = {
    {.id = "sections-do-not-add-up",
     .severity = Severity::error,
     .title = "The parts of mrope_section are not as many pairs as turn.",
     .explains = "Each pair follows time, height or width. With too few parts the last pairs have no "
                 "position or a fourth stream's; with too many the model fails.",
     .fix = "Let them add up to half the rotated width.",
     .link = "https://github.com/QwenLM/Qwen3-VL/issues/488",
     .fails =
         R"({"model_type": "qwen2_vl", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768,
 "rope_theta": 1000000, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 16]}})",
     .passes =
         R"({"model_type": "qwen2_vl", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768,
 "rope_theta": 1000000, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})",
     .find = sum},
    {.id = "sections-with-scaling",
     .severity = Severity::warning,
     .title = "M-RoPE and a scaling in one dictionary.",
     .explains = "The type names the scaling, mrope_section or the class the streams, and both are meant. "
                 "LightLLM chose M-RoPE and lost YaRN; `gnomon explain` tells the frequencies and leaves out "
                 "the streams, for no encoding here has both.",
     .fix = "Check what serves the model with a long text and with an image.",
     .link = "https://github.com/ModelTC/LightLLM/issues/1582",
     .fails =
         R"({"model_type": "qwen2_vl", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 131072,
 "rope_theta": 1000000, "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "mrope_section": [16, 24, 24]}})",
     .passes =
         R"({"model_type": "qwen2_vl", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768,
 "rope_theta": 1000000, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})",
     .find = with_scaling,
     .departs = true},
    {.id = "sections-invisible-in-text",
     .severity = Severity::note,
     .title = "Three streams of positions that the type does not name.",
     .explains =
         "The type says default, or mrope, which transformers 5 makes default; the streams are in "
         "mrope_section. Readers that go by the type turn images as if they were text: grounding 26 % "
         "where 82 % is right, and no benchmark of text sees it.",
     .fix = "Test what serves the model with images.",
     .link = "https://github.com/ml-explore/mlx-lm/issues/1768",
     .fails =
         R"({"model_type": "qwen2_vl", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768,
 "rope_theta": 1000000, "rope_parameters": {"rope_type": "default", "rope_theta": 1000000, "mrope_section": [16, 24, 24]}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768,
 "rope_theta": 1000000, "rope_parameters": {"rope_type": "default", "rope_theta": 1000000}})",
     .find = named_default},
};

}  // namespace

std::span<const LintRule> sections_rules() { return kRules; }

}  // namespace gnomon
