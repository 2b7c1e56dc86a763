#include <algorithm>

#include "gnomon/families/family.h"

namespace gnomon {
namespace {

constexpr SizeKeys kGpt2Keys{
    .width = "n_embd", .layers = "n_layer", .heads = "n_head", .longest = "n_positions"};

// One row for each family. To add one: a row, a file in tests/golden/configs, and its answer in families_test.cpp.
const Family kFamilies[] = {
    {.name = "bert",
     .types = {"bert"},
     .gguf = {"bert"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 512},
     .causal = false},
    {.name = "roberta",
     .types = {"roberta", "xlm-roberta", "camembert"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 512},
     .causal = false,
     .table_padded = true},
    {.name = "opt",
     .types = {"opt"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 2048},
     .table_offset = 2},
    {.name = "gpt2",
     .types = {"gpt2"},
     .gguf = {"gpt2"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 1024},
     .keys = kGpt2Keys,
     .scale = AttentionScale::gpt2},
    {.name = "gpt_neox",
     .types = {"gpt_neox"},
     .gguf = {"gptneox"},
     .sizes = {6144, 44, 64, 0, 0, 2048},
     .rope = {.theta_key = "rotary_emb_base",
              .partial = 0.25,
              .partial_key = "rotary_pct",
              .plain_partial = true}},
    {.name = "llama", .types = {"llama"}, .gguf = {"llama"}, .sizes = {4096, 32, 32, 0, 0, 2048}},
    {.name = "mistral",
     .types = {"mistral"},
     .sizes = {4096, 32, 32, 8, 0, 131072},
     .windows = {.which = Windows::Which::all, .standard = 4096, .typed = false}},
    {.name = "qwen2",
     .types = {"qwen2"},
     .gguf = {"qwen2"},
     .sizes = {4096, 32, 32, 32, 0, 32768},
     .windows = {.which = Windows::Which::from_layer, .standard = 4096}},
    {.name = "qwen3",
     .types = {"qwen3"},
     .gguf = {"qwen3"},
     .sizes = {4096, 32, 32, 32, 128, 32768},
     .windows = {.which = Windows::Which::from_layer, .standard = 4096}},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view type) {
  for (const Family& family : kFamilies)
    if (std::find(family.types.begin(), family.types.end(), type) != family.types.end()) return &family;
  return nullptr;
}
const Family* find_gguf_family(std::string_view architecture) {
  for (const Family& family : kFamilies)
    if (std::find(family.gguf.begin(), family.gguf.end(), architecture) != family.gguf.end()) return &family;
  return nullptr;
}

}  // namespace gnomon
