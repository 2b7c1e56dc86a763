// YaRN and Llama 3: the ramp between the pairs that are slowed and those that are not, and the temperature.
#include <algorithm>
#include <cmath>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/lint/rules/yarn.txt.inc"
    ;

// Peng et al. 2023, arXiv:2309.00071, equation 22.
double temperature(double factor, double mscale = 1) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

template <class Act>
void each_yarn(const LintContext& file, const Act& act) {
  for (const RopeDictionary& dict : file.ropes())
    if (dict.live && file.type_of(dict) == "yarn" && !file.has(dict, "short_factor")) act(dict);
}

Findings betas_exchanged(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    // What stands for an absent one, a class that is not known may have otherwise.
    if (!file.known() && !(file.has(dict, "beta_fast") && file.has(dict, "beta_slow"))) return;
    const double fast = file.number(dict, "beta_fast").value_or(32),
                 slow = file.number(dict, "beta_slow").value_or(1);
    if (fast >= slow) return;  // equal ones, which Kimi K2 has: a step
    const std::string key = dict.key + (file.has(dict, "beta_fast") ? ".beta_fast" : ".beta_slow");
    all.push_back(finding(
        file, key, kText.at("yarn-betas-exchanged", "expected"),
        said<"fast", "slow">(kText.at("yarn-betas-exchanged", "says"), shortest(fast), shortest(slow))));
  });
  return all;
}

Findings llama3_exchanged(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const auto low = file.number(dict, "low_freq_factor"), high = file.number(dict, "high_freq_factor");
    if (file.type_of(dict) != "llama3" || !low || !high || (*high >= *low && *low > 0)) continue;
    if (*low <= 0) {
      all.push_back(finding(file, dict.key + ".low_freq_factor",
                            kText.at("llama3-factors-exchanged", "expected.low"),
                            kText.at("llama3-factors-exchanged", "says.low")));
      continue;
    }
    all.push_back(finding(file, dict.key + ".high_freq_factor",
                          kText.at("llama3-factors-exchanged", "expected"),
                          kText.at("llama3-factors-exchanged", "says.exchanged")));
  }
  return all;
}

Findings explicit_factor(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    const auto own = file.number(dict, "attention_factor"), factor = file.number(dict, "factor");
    if (!own || *own <= 0 || !factor || std::abs(*own - temperature(*factor)) < 1e-6) return;
    const double formula = temperature(*factor), ratio = formula * formula / (*own * *own);
    all.push_back(
        finding(file, dict.key + ".attention_factor", kText.at("attention-factor-explicit", "expected"),
                said<"own", "factor", "formula", "ratio">(kText.at("attention-factor-explicit", "says"),
                                                          shortest(*own), shortest(*factor),
                                                          fixed(formula, 4), fixed(ratio, 3))));
  });
  return all;
}

bool multiplies_softmax(const LintContext& file) {
  return file.has("qk_rope_head_dim") || file.has("kv_lora_rank");
}

Findings factor_impossible(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const std::string type = file.type_of(dict);
    const auto own = file.number(dict, "attention_factor");
    if (!dict.live || (type != "yarn" && type != "longrope") || !file.has(dict, "attention_factor") ||
        (own && *own > 0))
      continue;
    all.push_back(finding(file, dict.key + ".attention_factor",
                          kText.at("attention-factor-impossible", "expected"),
                          own && *own == 0 ? kText.at("attention-factor-impossible", "says.zero")
                          : own            ? kText.at("attention-factor-impossible", "says.negative")
                                           : kText.at("attention-factor-impossible", "says.word")));
  }
  return all;
}

Findings two_factors(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    const auto factor = file.number(dict, "factor"), some = file.number(dict, "mscale"),
               every = file.number(dict, "mscale_all_dim");
    if (!factor || !every || *every == 0 || !multiplies_softmax(file)) return;
    const double rotation =
        some && *some ? temperature(*factor, *some) / temperature(*factor, *every) : temperature(*factor);
    const double softmax = temperature(*factor, *every);
    all.push_back(finding(file, dict.key + ".mscale_all_dim", kText.at("mscale-has-two-places", "expected"),
                          said<"rotation", "softmax", "mscale", "factor">(
                              kText.at("mscale-has-two-places", "says"), fixed(rotation, 4),
                              fixed(softmax * softmax, 4), shortest(*every), shortest(*factor))));
  });
  return all;
}

Findings no_temperature(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    const auto factor = file.number(dict, "factor"), some = file.number(dict, "mscale"),
               every = file.number(dict, "mscale_all_dim");
    if (!factor || !some || !every || *some == 0 || *every == 0 || file.has(dict, "attention_factor") ||
        multiplies_softmax(file))
      return;
    const double formula = temperature(*factor),
                 left = temperature(*factor, *some) / temperature(*factor, *every);
    all.push_back(finding(
        file, dict.key + ".mscale_all_dim", kText.at("mscale-without-its-softmax", "expected"),
        said<"left", "formula", "ratio">(kText.at("mscale-without-its-softmax", "says"), fixed(left, 4),
                                         fixed(formula, 4), fixed(left * left / (formula * formula), 3))));
  });
  return all;
}

Findings mscale_alone(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    if (!file.has(dict, "mscale") || file.has(dict, "mscale_all_dim") || file.number(dict, "mscale") == 1)
      return;
    all.push_back(
        finding(file, dict.key + ".mscale", kText.at("mscale-alone", "expected"),
                said<"temperature">(kText.at("mscale-alone", "says"),
                                    fixed(temperature(file.number(dict, "factor").value_or(1)), 4))));
  });
  return all;
}

Findings truncate_nested(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    const std::string key = dict.key + ".truncate";
    const bool one = dict.label.empty() && file.type() != "deepseek_v4";  // which makes two of one
    if (one || file.config().kind(key) != Config::Kind::flag || *file.config().flag(key)) return;
    if (file.config().kind(file.at("rope_parameters.truncate")) == Config::Kind::flag) return;
    all.push_back(finding(file, key, kText.at("truncate-unread-when-nested", "expected"),
                          kText.at("truncate-unread-when-nested", "says")));
  });
  return all;
}

Findings untruncated(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    const std::string key = dict.key + ".truncate";
    const Config::Kind kind = file.config().kind(key);
    const bool off = kind == Config::Kind::null || (kind == Config::Kind::flag && !*file.config().flag(key));
    if (!dict.label.empty() || !off || file.type() == "deepseek_v4") return;
    all.push_back(finding(file, key, kText.at("yarn-ramp-not-rounded", "expected"),
                          kText.at("yarn-ramp-not-rounded", "says")));
  });
  return all;
}

Findings beyond_scaling(const LintContext& file) {
  Findings all;
  const auto longest = file.longest();
  each_yarn(file, [&](const RopeDictionary& dict) {
    const auto factor = file.number(dict, "factor"),
               own = file.number(dict, "original_max_position_embeddings");
    const auto original = dict.label.empty() && file.has("original_max_position_embeddings")
                              ? file.number("original_max_position_embeddings")
                              : own;
    if (!longest || !factor || !original || double(*longest) <= 1.05 * *factor * *original) return;
    all.push_back(finding(file, dict.key + ".factor", shortest(std::ceil(double(*longest) / *original)),
                          said<"reach", "longest">(kText.at("context-beyond-scaling", "says"),
                                                   shortest(*factor * *original), text(*longest))));
  });
  return all;
}

Findings on_sliding_layers(const LintContext& file) {
  Findings all;
  const auto window = file.number("sliding_window");
  for (const RopeDictionary& dict : file.ropes()) {
    if (dict.label != "sliding_attention" || !file.scales(dict) || file.type_of(dict) == "proportional" ||
        !window)
      continue;
    const double trained =
        file.number(dict, "original_max_position_embeddings").value_or(double(file.longest().value_or(0)));
    if (*window > trained || file.number(dict, "factor").value_or(2) <= 1) continue;
    all.push_back(finding(file, dict.key, kText.at("scaling-on-sliding-layers", "expected"),
                          said<"window", "trained">(kText.at("scaling-on-sliding-layers", "says"),
                                                    shortest(*window), shortest(trained))));
  }
  return all;
}

Findings kinds_unsaid(const LintContext& file) {
  if (!file.reads_by_kind() || file.family()->rope.dicts == RopeDicts::both_kinds) return {};
  for (const RopeDictionary& dict : file.ropes())
    if (dict.key == file.at("rope_scaling") && file.scales(dict))
      return {finding(file, dict.key, kText.at("scaled-layers-unsaid", "expected"),
                      kText.at("scaled-layers-unsaid", "says"))};
  return {};
}

Findings of_vllm(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    for (const std::string_view name : {"attn_factor", "extrapolation_factor"}) {
      const auto value = file.number(dict, name), factor = file.number(dict, "factor");
      if (!file.has(dict, name) || value == 1) continue;
      const bool multiplies = name == "attn_factor" && value && factor && !file.has(dict, "attention_factor");
      all.push_back(finding(file, text(dict.key, ".", name),
                            multiplies ? said<"factor">(kText.at("yarn-key-of-vllm", "expected.factor"),
                                                        fixed(*value * temperature(*factor), 4))
                                       : kText.at("yarn-key-of-vllm", "expected.nothing"),
                            name == "attn_factor"
                                ? said<"value">(kText.at("yarn-key-of-vllm", "says.factor"),
                                                file.config().printed(text(dict.key, ".", name)))
                                : said<"value">(kText.at("yarn-key-of-vllm", "says.share"),
                                                file.config().printed(text(dict.key, ".", name)))));
    }
  });
  return all;
}

constexpr LintRow kRows[] = {
    {"yarn-betas-exchanged", Severity::error, betas_exchanged, {.any_class = true}},
    {"llama3-factors-exchanged", Severity::error, llama3_exchanged, {.any_class = true}},
    {"attention-factor-explicit", Severity::note, explicit_factor},
    {"attention-factor-impossible", Severity::error, factor_impossible},
    {"mscale-has-two-places", Severity::note, two_factors},
    {"mscale-without-its-softmax", Severity::note, no_temperature},
    {"mscale-alone", Severity::warning, mscale_alone},
    {"truncate-unread-when-nested", Severity::warning, truncate_nested},
    {"yarn-ramp-not-rounded", Severity::note, untruncated},
    {"context-beyond-scaling", Severity::warning, beyond_scaling},
    {"scaling-on-sliding-layers", Severity::warning, on_sliding_layers},
    {"scaled-layers-unsaid", Severity::note, kinds_unsaid},
    {"yarn-key-of-vllm", Severity::warning, of_vllm},
};
constexpr auto kRules = written(kText, kRows);

}  // namespace

std::span<const LintRule> yarn_rules() { return kRules; }

}  // namespace gnomon
