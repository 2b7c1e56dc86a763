#pragma once
// What the blocks of families are read with. Internal to families.
#include <optional>
#include <string>
#include <string_view>

#include "gnomon/models/resolve/reading.h"
#include "gnomon/models/resolve/resolved.h"
#include "gnomon/nn/architecture.h"

namespace gnomon {

// A file's keys, with what stands for those that are absent. A GGUF file has other words for some and none for most: what the
// family has, always.
struct Facts {
  FileReading& file;  // of a GGUF file, the keys of its architecture
  const Resolved& resolved;
  bool gguf;

  // By the key of a config.json, or by that of a GGUF file.
  double number(std::string_view key, double standard);
  double number(std::string_view key, std::string_view in_gguf, double standard);
  std::int64_t whole(std::string_view key, std::string_view in_gguf, std::int64_t standard);
  // Null is 0, absent is `standard`: Gemma 2's soft-caps.
  double number_or_none(std::string_view key, double standard);
  std::int64_t whole(std::string_view key, std::int64_t standard);
  bool flag(std::string_view key, bool standard) { return file.flag(key).value_or(standard); }
  Activation activation(std::string_view key, std::string_view standard);
  double epsilon(std::string_view key, double standard);
  // Of a router, under these words of a config.json; transformers 5.23 writes num_local_experts for all.
  Experts experts(std::string_view count, std::int64_t standard, std::string_view active,
                  std::int64_t standard_active);
  // Of the feed-forward part. Throws Error(input) where neither the file nor the class's own rule (0: none) says it.
  std::int64_t hidden(std::string_view key, std::int64_t standard = 0);
  // Of a matrix that may be the word table.
  OutputHead head(bool tied_standard);
  [[noreturn]] void refuse(std::string_view key, std::string_view why) const;
};
// By transformers' names (activations.py, ACT2FN); nullopt: none that gnomon has.
std::optional<Activation> activation_named(std::string_view name);

// Each fills in what its family has: the rest is there already.
void block_bloom(Facts& f, Architecture& a);
void block_exaone4(Facts& f, Architecture& a);
void block_distilbert(Facts& f, Architecture& a);
void block_electra(Facts& f, Architecture& a);
void block_falcon(Facts& f, Architecture& a);
void block_gemma(Facts& f, Architecture& a);
void block_glm(Facts& f, Architecture& a);
void block_gpt_oss(Facts& f, Architecture& a);
void block_granite(Facts& f, Architecture& a);
void block_mixtral(Facts& f, Architecture& a);
void block_mpt(Facts& f, Architecture& a);
void block_nomic_bert(Facts& f, Architecture& a);
void block_olmo(Facts& f, Architecture& a);
void block_olmo2(Facts& f, Architecture& a);
void block_opt(Facts& f, Architecture& a);
void block_phi(Facts& f, Architecture& a);
void block_qwen3_moe(Facts& f, Architecture& a);
void block_stablelm(Facts& f, Architecture& a);
void block_bert(Facts& f, Architecture& a);
void block_deberta(Facts& f, Architecture& a);
void block_deberta_v2(Facts& f, Architecture& a);
void block_gemma2(Facts& f, Architecture& a);
void block_gemma3(Facts& f, Architecture& a);
void block_gemma4(Facts& f, Architecture& a);
void block_gpt2(Facts& f, Architecture& a);
void block_gpt_neox(Facts& f, Architecture& a);
void block_gptj(Facts& f, Architecture& a);
void block_llama(Facts& f, Architecture& a);
void block_modernbert(Facts& f, Architecture& a);
void block_qwen2(Facts& f, Architecture& a);
void block_qwen3(Facts& f, Architecture& a);
void block_t5(Facts& f, Architecture& a);

}  // namespace gnomon
