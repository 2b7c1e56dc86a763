#include "gnomon/models/resolve/families/rows.h"

namespace gnomon {
namespace {

constexpr std::string_view kUltrabertRope =
    R"({"full_attention": {"rope_type": "default", "rope_theta": 2560000},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000}})";

// Encoders of text that turn, and decoders made from them.
const Family kFamilies[] = {
    {.name = "eurobert",
     .types = {"eurobert"},
     .sizes = {768, 12, 12, 0, 0, 8192},
     .width_by_heads = true,
     .causal = false,
     .windows = kUntyped,
     .rope = {.fills_null_head = true}},
    {.name = "gte",
     .types = {"gte"},
     .sizes = {768, 12, 12, 0, 0, 8192},
     .keys = kNoGroups,
     .width_by_heads = true,
     .causal = false,
     .windows = kUntyped,
     .rope = {.theta = 160000, .fills_null_head = true}},
    {.name = "jina_embeddings_v3",
     .types = {"jina_embeddings_v3"},
     .sizes = {1024, 24, 16, 0, 0, 8194},
     .keys = kNoGroups,
     .width_by_heads = true,
     .causal = false,
     .windows = kUntyped,
     .rope = {.theta = 20000, .fills_null_head = true}},
    {.name = "esmc",
     .types = {"esmc"},
     .sizes = {2560, 80, 40, 0, 0, 2048},
     .width_by_heads = true,
     .causal = false,
     .windows = kUntyped,
     .rope = {.fills_null_head = true}},
    {.name = "modernbert-decoder",
     .types = {"modernbert-decoder"},
     .sizes = {768, 22, 12, 0, 0, 8192},
     .keys = kNoGroups,
     .width_by_heads = true,
     .windows = {.which = WindowRule::Which::all_but,
                 .every = 3,
                 .full_at = 0,
                 .every_key = "global_attn_every_n_layers",
                 .spare_key = "local_attention",
                 .spare_divisor = 2,
                 .standard = 64},
     .rope = {.theta = 160000,
              .sliding_theta = 1e4,
              .theta_key = "global_rope_theta",
              .sliding_theta_key = "local_rope_theta",
              .dicts = RopeDicts::both_kinds}},
    {.name = "roformer",
     .types = {"roformer"},
     .sizes = {768, 12, 12, 0, 0, 1536},
     .keys = kNoGroups,
     .width_by_heads = true,
     .causal = false,
     .causal_key = "is_decoder",
     .windows = kUntyped,
     .rope = {.theta_key = {}, .pairing = Pairing::adjacent, .dicts = RopeDicts::base_only}},
    {.name = "ultrabert",
     .types = {"ultrabert"},
     .sizes = {4096, 32, 32, 0, 0, 32768},
     .width_by_heads = true,
     .causal = false,
     .windows = {.which = WindowRule::Which::all_but, .every = 3, .full_at = 1, .standard = 128, .more = 1},
     .rope = {.dicts = RopeDicts::as_written, .standard = kUltrabertRope, .fills_null_head = true}},
    {.name = "gpt_neox_japanese",
     .types = {"gpt_neox_japanese"},
     .sizes = {2560, 32, 32, 0, 0, 2048},
     .keys = kNoGroups,
     .width_by_heads = true,
     .windows = kUntyped,
     .rope =
         {.theta_key = "rotary_emb_base", .partial = 1, .partial_key = "rotary_pct", .plain_partial = true}},
};

}  // namespace

std::span<const Family> encoders_rows() { return kFamilies; }

}  // namespace gnomon
