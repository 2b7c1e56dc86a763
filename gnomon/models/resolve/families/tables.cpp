#include "gnomon/models/resolve/families/rows.h"

namespace gnomon {
namespace {

// Learned tables or sinusoids beside the words.
const Family kFamilies[] = {
    {.name = "bert",
     .types = {"bert", "vision-text-dual-encoder"},
     .gguf = {"bert"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 512},
     .width_by_heads = true,
     .causal = false},
    {.name = "distilbert",
     .types = {"distilbert"},
     .method = Method::table,
     .sizes = {768, 6, 12, 0, 0, 512},
     .keys = {.width = "dim", .layers = "n_layers", .heads = "n_heads", .kv_heads = {}},
     .width_by_heads = true,
     .causal = false},
    {.name = "electra",
     .types = {"electra"},
     .method = Method::table,
     .sizes = {256, 12, 4, 0, 0, 512},
     .width_by_heads = true,
     .causal = false},
    {.name = "roberta",
     .types = {"roberta", "xlm-roberta", "camembert"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 512},
     .width_by_heads = true,
     .causal = false,
     .table_padded = true},
    {.name = "mpnet",
     .types = {"mpnet"},
     .method = Method::mpnet,
     .sizes = {768, 12, 12, 0, 0, 512},
     .width_by_heads = true,
     .causal = false,
     .table_padded = true,
     .pad_fixed = true},
    {.name = "opt",
     .types = {"opt"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 2048},
     .width_by_heads = true,
     .table_offset = 2},
    {.name = "gpt2",
     .types = {"gpt2"},
     .gguf = {"gpt2"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 1024},
     .keys = kGpt2Keys,
     .width_by_heads = true,
     .scale = AttentionScale::gpt2},
};

}  // namespace

std::span<const Family> tables_rows() { return kFamilies; }

}  // namespace gnomon
