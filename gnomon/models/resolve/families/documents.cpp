#include "gnomon/models/resolve/families/rows.h"

namespace gnomon {
namespace {

// Encoders of pages, whose words have a place on them or in their tree, or in a table.
const Family kFamilies[] = {
    {.name = "layoutlm",
     .types = {"layoutlm"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 512},
     .keys = kNoGroups,
     .width_by_heads = true,
     .causal = false,
     .table = {.note = "four more tables are added, of the place and size of each word on the page"}},
    {.name = "layoutlmv3",
     .types = {"layoutlmv3"},
     .method = Method::table_t5,
     .sizes = {768, 12, 12, 0, 0, 512},
     .keys = kNoGroups,
     .width_by_heads = true,
     .causal = false,
     .buckets = {.count_key = "rel_pos_bins",
                 .distance_key = "max_rel_pos",
                 .scaled = true,
                 .use_key = "has_relative_attention_bias",
                 .note = "buckets of places on the page, across and down, are added too; all are divided by "
                         "sqrt(head_dim)"},
     .table = {.padded = true,
               .note = "four more tables are added, of the place and size of each word on the page"}},
    {.name = "bros",
     .types = {"bros"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 512},
     .keys = kNoGroups,
     .width_by_heads = true,
     .causal = false,
     .table = {.note = "a query also meets sines of where a word stands on the page, seen from its own"}},
    {.name = "lilt",
     .types = {"lilt"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 512},
     .keys = kNoGroups,
     .width_by_heads = true,
     .causal = false,
     .table = {.padded = true},
     .logits_note = "those of a second stack, of the place and size of each word on the page, are added"},
    {.name = "markuplm",
     .types = {"markuplm"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 512},
     .keys = kNoGroups,
     .width_by_heads = true,
     .causal = false,
     .table = {.padded = true,
               .note = "rows of the path of each word in the tree of the page are added too"}},
    {.name = "tapas",
     .types = {"tapas"},
     .method = Method::table,
     .sizes = {768, 12, 12, 0, 0, 1024},
     .keys = kNoGroups,
     .width_by_heads = true,
     .causal = false,
     .table = {.note =
                   "positions begin anew in each cell of the table that is read, and stay at the last row"}},
};

}  // namespace

std::span<const Family> documents_rows() { return kFamilies; }

}  // namespace gnomon
