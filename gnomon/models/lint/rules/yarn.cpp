// YaRN and Llama 3: the ramp between the pairs that are slowed and those that are not, and the temperature.
#include <algorithm>
#include <cmath>

#include "gnomon/models/lint/rules/rule.h"

namespace gnomon {
namespace {

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
    const double fast = file.number(dict, "beta_fast").value_or(32),
                 slow = file.number(dict, "beta_slow").value_or(1);
    if (fast > slow) return;
    const std::string key = dict.key + (file.has(dict, "beta_fast") ? ".beta_fast" : ".beta_slow");
    all.push_back(finding(file, key, "beta_fast above beta_slow; the paper has 32 and 1",
                          text("the ramp runs from ", shortest(fast), " turns down to ", shortest(slow),
                               ": fast pairs are slowed and slow ones kept")));
  });
  return all;
}

Findings llama3_exchanged(const LintContext& file) {
  Findings all;
  for (const RopeDictionary& dict : file.ropes()) {
    const auto low = file.number(dict, "low_freq_factor"), high = file.number(dict, "high_freq_factor");
    if (file.type_of(dict) != "llama3" || !low || !high || (*high > *low && *low > 0)) continue;
    if (*low <= 0) {
      all.push_back(finding(file, dict.key + ".low_freq_factor", "above 0; Llama 3.1 has 1 and 4",
                            "the longest wavelength that is kept is the length divided by it"));
      continue;
    }
    all.push_back(
        finding(file, dict.key + ".high_freq_factor", "above low_freq_factor; Llama 3.1 has 1 and 4",
                *high == *low ? std::string("the blend divides by their difference, zero")
                              : std::string("no pair is blended, and the two limits contradict each other")));
  }
  return all;
}

Findings explicit_factor(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    const auto own = file.number(dict, "attention_factor"), factor = file.number(dict, "factor");
    if (!own || *own <= 0 || !factor || std::abs(*own - temperature(*factor)) < 1e-6) return;
    const double formula = temperature(*factor), ratio = formula * formula / (*own * *own);
    all.push_back(finding(
        file, dict.key + ".attention_factor", "nothing, if the model was trained so; check what serves it",
        text("cos and sin are multiplied by ", shortest(*own), ", not by 0.1 ln(", shortest(*factor),
             ") + 1 = ", fixed(formula, 4), ": a reader that drops the key has logits ", fixed(ratio, 3),
             " times as large")));
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
    all.push_back(finding(file, dict.key + ".attention_factor", "a number above 0, or no such key",
                          own && *own == 0 ? "it multiplies cos and sin: with 0 every logit is 0"
                          : own            ? "it multiplies cos and sin, so logits by its square"
                                           : "no number"));
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
    all.push_back(finding(
        file, dict.key + ".mscale_all_dim", "nothing; check that what serves it has both factors",
        text("cos and sin times ", fixed(rotation, 4), "; the softmax times ", fixed(softmax * softmax, 4),
             " = (0.1 * ", shortest(*every), " ln ", shortest(*factor), " + 1)^2, apart from it")));
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
    all.push_back(finding(file, dict.key + ".mscale_all_dim",
                          "no mscale and no mscale_all_dim, or an attention_factor",
                          text("cos and sin get ", fixed(left, 4), " in place of YaRN's ", fixed(formula, 4),
                               ", and only DeepSeek's kind of attention has the rest in its "
                               "softmax: logits are ",
                               fixed(left * left / (formula * formula), 3), " times what YaRN means")));
  });
  return all;
}

Findings mscale_alone(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    if (!file.has(dict, "mscale") || file.has(dict, "mscale_all_dim") || file.number(dict, "mscale") == 1)
      return;
    all.push_back(
        finding(file, dict.key + ".mscale", "mscale_all_dim beside it, or an attention_factor",
                text("transformers reads it only where mscale_all_dim is there too: cos and sin get ",
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
    all.push_back(
        finding(file, key, "know it: transformers 5.23 looks beside the dictionaries of the kinds",
                "read from the outer dictionary, where it is not: the ramp is rounded to whole pairs"));
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
    all.push_back(finding(file, key, "nothing; check that what serves it knows the key",
                          "the ramp's ends are not rounded to whole pairs"));
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
                          text("factor times original length is ", shortest(*factor * *original),
                               " tokens, the file promises ", *longest)));
  });
  return all;
}

Findings on_sliding_layers(const LintContext& file) {
  Findings all;
  const auto window = file.number("sliding_window");
  for (const RopeDictionary& dict : file.ropes()) {
    if (dict.label != "sliding_attention" || !scales(file, dict) || file.type_of(dict) == "proportional" ||
        !window)
      continue;
    const double trained =
        file.number(dict, "original_max_position_embeddings").value_or(double(file.longest().value_or(0)));
    if (*window > trained || file.number(dict, "factor").value_or(2) <= 1) continue;
    all.push_back(finding(file, dict.key, "\"rope_type\": \"default\", as its layers were trained",
                          text("these layers see ", shortest(*window), " tokens back, within the ",
                               shortest(trained), " of training: there is nothing to extend")));
  }
  return all;
}

Findings kinds_unsaid(const LintContext& file) {
  if (!file.reads_by_kind() || file.family()->rope.dicts == RopeDicts::both_kinds) return {};
  for (const RopeDictionary& dict : file.ropes())
    if (dict.key == file.at("rope_scaling") && scales(file, dict))
      return {finding(
          file, dict.key, "\"rope_parameters\": {\"full_attention\": {...}, \"sliding_attention\": {...}}",
          "transformers 5 scales the full layers alone; the file does not say so, and others scale all")};
  return {};
}

Findings of_vllm(const LintContext& file) {
  Findings all;
  each_yarn(file, [&](const RopeDictionary& dict) {
    for (const std::string_view name : {"attn_factor", "extrapolation_factor"}) {
      const auto value = file.number(dict, name), factor = file.number(dict, "factor");
      if (!file.has(dict, name) || value == 1) continue;
      const bool multiplies = name == "attn_factor" && value && factor && !file.has(dict, "attention_factor");
      all.push_back(finding(
          file, text(dict.key, ".", name),
          multiplies
              ? text("for transformers \"attention_factor\": ", fixed(*value * temperature(*factor), 4),
                     ", which vLLM 0.33 reads as well; nothing for vLLM 0.24")
              : std::string("nothing, if vLLM 0.24 alone serves the model"),
          name == "attn_factor"
              ? text("vLLM 0.24 reads it; transformers and vLLM 0.33 do not. It multiplies YaRN's "
                     "factor of cos and sin by ",
                     file.config().printed(text(dict.key, ".", name)))
              : text("vLLM 0.24 reads it; transformers and vLLM 0.33 do not: ",
                     file.config().printed(text(dict.key, ".", name)),
                     " is the share of the fast pairs that keep their frequency")));
    }
  });
  return all;
}

const LintRule kRules[] = {
    {.id = "yarn-betas-exchanged",
     .severity = Severity::error,
     .title = "beta_fast is not above beta_slow.",
     .explains = "beta_fast is the number of turns within the original length above which a pair is left "
                 "alone, beta_slow that below which it is slowed in full. Exchanged, the ramp is upside "
                 "down; transformers only warns.",
     .fix = "beta_fast 32, beta_slow 1.",
     .link = "https://github.com/vllm-project/vllm/pull/28244",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "beta_fast": 1, "beta_slow": 32}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1}})",
     .find = betas_exchanged,
     .any_class = true},
    {.id = "llama3-factors-exchanged",
     .severity = Severity::error,
     .title = "high_freq_factor is not above low_freq_factor, or that not above 0.",
     .explains = "Pairs with wavelengths below L/high are kept, above L/low divided by the factor, blended "
                 "between. With the two exchanged nothing is between; equal, the blend divides by zero. "
                 "transformers only warns.",
     .fix = "low_freq_factor 1, high_freq_factor 4.",
     .link = "https://github.com/ggml-org/llama.cpp/issues/8650",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 131072,
 "rope_theta": 500000, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0,
 "original_max_position_embeddings": 8192}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 131072,
 "rope_theta": 500000, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
 "original_max_position_embeddings": 8192}})",
     .find = llama3_exchanged,
     .any_class = true},
    {.id = "attention-factor-explicit",
     .severity = Severity::note,
     .title = "An attention_factor of its own replaces YaRN's formula.",
     .explains = "It multiplies cos and sin, so logits by its square. vLLM and mlx-lm dropped it (1.416 used "
                 "where the file said 1.0); SGLang 0.5.23's YaRN takes none.",
     .fix = "Check that what serves the model reads it.",
     .link = "https://github.com/vllm-project/vllm/issues/48351",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "attention_factor": 1.0}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})",
     .find = explicit_factor},
    {.id = "attention-factor-impossible",
     .severity = Severity::error,
     .title = "attention_factor is not above 0.",
     .explains = "transformers 5.23 warns of a negative one and computes with it, and with 0, which makes "
                 "all logits equal, without a word; vLLM does not read it. gnomon refuses the file.",
     .fix = "Leave it out for YaRN's own rule, or write the number of the training.",
     .link = "https://github.com/huggingface/transformers/blob/main/src/transformers/modeling_rope_utils.py",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "attention_factor": 0}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})",
     .find = factor_impossible},
    {.id = "mscale-has-two-places",
     .severity = Severity::note,
     .title = "mscale_all_dim multiplies the softmax as well, apart from cos and sin.",
     .explains = "DeepSeek's attention multiplies cos and sin by the ratio of two factors, often 1, and the "
                 "softmax by the square of one. Mobius left the second out (logits 1.59 times too small), "
                 "transformers itself for DeepSeek-V2 and Mistral 4 until #47435.",
     .fix = "Check both factors in what serves it: `gnomon explain` prints them apart.",
     .link = "https://github.com/onnxruntime/mobius/pull/548",
     .fails =
         R"({"model_type": "deepseek_v3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
 "v_head_dim": 128, "kv_lora_rank": 64, "max_position_embeddings": 163840, "rope_theta": 10000, "rope_scaling": {"type": "yarn", "factor": 40,
 "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}})",
     .passes =
         R"({"model_type": "deepseek_v3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
 "v_head_dim": 128, "kv_lora_rank": 64, "max_position_embeddings": 4096, "rope_theta": 10000})",
     .find = two_factors},
    {.id = "mscale-without-its-softmax",
     .severity = Severity::note,
     .title = "mscale and mscale_all_dim in a model whose softmax does not read them.",
     .explains = "Together they turn YaRN's factor of cos and sin into a ratio, 1 where they are equal; the "
                 "rest belongs "
                 "into the softmax, where only DeepSeek's kind of attention has it. In any other model there "
                 "is then no "
                 "temperature: right where it was trained so, as Ministral 3, lost where the two keys were "
                 "copied. Two "
                 "projects chose opposite answers (exllamav3#259, sglang#22711).",
     .fix = "If it was not trained so, take both out, or write attention_factor.",
     .link = "https://github.com/turboderp-org/exllamav3/issues/259",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "mscale": 1.0, "mscale_all_dim": 1.0}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})",
     .find = no_temperature},
    {.id = "mscale-alone",
     .severity = Severity::warning,
     .title = "mscale without mscale_all_dim is not read.",
     .explains = "transformers uses the two together or not at all, and then 0.1 ln(factor) + 1; other "
                 "readers multiply by mscale.",
     .fix = "Write both, or attention_factor.",
     .link = "https://github.com/sgl-project/sglang/issues/33558",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "mscale": 0.707}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})",
     .find = mscale_alone},
    {.id = "truncate-unread-when-nested",
     .severity = Severity::warning,
     .title = "truncate: false inside a dictionary by kind of layer has no effect.",
     .explains =
         "transformers 5.23 reads every other key of YaRN from the dictionary of the kind, and truncate from "
         "the one around it: the ramp is rounded to whole pairs after all. gpt-oss's ramp "
         "runs from pair 8.0928 to 17.398; rounded, from 8 to 18.",
     .fix = "Write one dictionary for all layers, if that is what they have.",
     .link = "https://github.com/vllm-project/vllm/pull/28244",
     .fails =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 16384,
 "sliding_window": 512, "rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 1000000, "factor": 4.0,
 "original_max_position_embeddings": 4096, "truncate": false}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}})",
     .passes =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 16384,
 "sliding_window": 512, "rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 1000000, "factor": 4.0,
 "original_max_position_embeddings": 4096}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}})",
     .find = truncate_nested},
    {.id = "yarn-ramp-not-rounded",
     .severity = Severity::note,
     .title = "truncate: false, or null: the ends of YaRN's ramp are not whole pairs.",
     .explains = "gpt-oss was trained so. Readers that always round, as the paper's code and llama.cpp do, "
                 "have other frequencies in the pairs of the ramp.",
     .fix = "Check that what serves the model knows truncate.",
     .link = "https://github.com/vllm-project/vllm/issues/27722",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 131072,
 "rope_theta": 150000, "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "truncate": false}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 131072,
 "rope_theta": 150000, "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}})",
     .find = untruncated},
    {.id = "context-beyond-scaling",
     .severity = Severity::warning,
     .title = "The file promises more tokens than YaRN's factor reaches.",
     .explains = "Beyond factor times the original length the slow pairs turn further than in training. "
                 "Serving programs take max_position_embeddings for the limit.",
     .fix = "Raise the factor, or lower max_position_embeddings.",
     .link = "https://github.com/huggingface/transformers/issues/38224",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 65536,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})",
     .find = beyond_scaling},
    {.id = "scaling-on-sliding-layers",
     .severity = Severity::warning,
     .title = "Layers with a window shorter than the trained length are scaled.",
     .explains =
         "No pair of tokens in them is further apart than in training. OLMo 3 with YaRN on the sliding "
         "layers: MMLU 64.2 becomes 60.5; Gemma 3's linear scaling put on them is the same mistake.",
     .fix = "Scale the full layers alone.",
     .link = "https://github.com/vllm-project/vllm/issues/43419",
     .fails =
         R"({"model_type": "olmo3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536, "sliding_window": 4096,
 "rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 500000, "factor": 8.0, "original_max_position_embeddings": 8192},
  "sliding_attention": {"rope_type": "yarn", "rope_theta": 500000, "factor": 8.0, "original_max_position_embeddings": 8192}}})",
     .passes =
         R"({"model_type": "olmo3", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 4, "max_position_embeddings": 65536, "sliding_window": 4096,
 "rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 500000, "factor": 8.0, "original_max_position_embeddings": 8192},
  "sliding_attention": {"rope_type": "default", "rope_theta": 500000}}})",
     .find = on_sliding_layers},
    {.id = "scaled-layers-unsaid",
     .severity = Severity::note,
     .title = "One rope_scaling for a model whose sliding layers must not have it.",
     .explains = "transformers 5 gives it to the full layers of Gemma 3 and OLMo 3 alone; transformers "
                 "before 5.13 and vLLM scaled OLMo 3's sliding layers as well; ferrox did so for Gemma 3.",
     .fix = "Say it in the file: rope_parameters with a dictionary for each kind of layer.",
     .link = "https://github.com/antonellof/ferrox/issues/39",
     .fails =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "rope_theta": 1000000, "rope_local_base_freq": 10000, "rope_scaling": {"rope_type": "linear", "factor": 8.0}})",
     .passes =
         R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 64, "max_position_embeddings": 8192,
 "sliding_window": 512, "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000},
  "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}})",
     .find = kinds_unsaid},
    {.id = "yarn-key-of-vllm",
     .severity = Severity::warning,
     .title = "A key of YaRN that vLLM 0.24 reads, and neither transformers nor vLLM 0.33.",
     .explains =
         "YaRN's authors have attn_factor, which multiplies the factor of cos and sin, and "
         "extrapolation_factor, which weights the pairs that are not slowed. vLLM 0.24 passes both on; "
         "vLLM 0.33 reads neither, and transformers 5.23 warns of unrecognized keys: both compute with 1. "
         "Its own "
         "attention_factor takes the place of the factor instead of multiplying it.",
     .fix = "Leave both at 1, or say with which program the file is to be used.",
     .link = "https://github.com/vllm-project/vllm/pull/48351",
     .fails =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "attn_factor": 2.0}})",
     .passes =
         R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 16384,
 "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "attn_factor": 1.0}})",
     .find = of_vllm},
};

}  // namespace

std::span<const LintRule> yarn_rules() { return kRules; }

}  // namespace gnomon
