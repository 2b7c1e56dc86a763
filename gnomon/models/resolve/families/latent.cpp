#include "gnomon/models/resolve/families/rows.h"

namespace gnomon {
namespace {

using Which = WindowRule::Which;

constexpr Indexer indexer(std::int64_t heads) {
  return {.heads_key = "index_n_heads", .dim_key = "index_head_dim", .heads = heads, .dim = 128};
}
// GLM's turns adjacent channels, as its first attention does, and serves several layers where the file says so.
constexpr Indexer glm_indexer(std::int64_t heads) {
  Indexer own = indexer(heads);
  own.pairing = Pairing::adjacent, own.every = 1, own.every_said = true;
  return own;
}
constexpr Indexer hy_indexer() {
  Indexer own = indexer(16);
  own.trailing = true, own.every = 4;
  return own;
}
constexpr Indexer dots_indexer() {
  Indexer own = indexer(64);
  own.pairing = Pairing::adjacent;
  return own;
}
constexpr WindowRule kIndexed{.which = Which::pattern, .cycle = "i"};

constexpr std::string_view kMistral4Rope =
    R"({"type": "yarn", "rope_theta": 10000, "factor": 128, "original_max_position_embeddings": 8192,
        "max_position_embeddings": 1048576, "beta_fast": 32, "beta_slow": 1, "mscale_all_dim": 1, "mscale": 1,
        "llama_4_scaling_beta": 0.1})";
constexpr std::string_view kMistralLarge4Rope =
    R"({"rope_type": "yarn", "rope_theta": 10000, "factor": 2048, "original_max_position_embeddings": 512,
        "beta_fast": 32, "beta_slow": 1, "attention_factor": 1})";

// Multi-head latent attention.
const Family kFamilies[] = {
    {.name = "deepseek_v2",
     .types = {"deepseek_v2"},
     .gguf = {"deepseek2"},
     .sizes = {4096, 32, 32, 0, 0, 2048},
     .windows = kUntyped,
     .mla = {.nope = 128, .rope = 64, .value = 128, .unscaled_in_v4 = true},
     .rope = {.pairing = Pairing::adjacent}},
    {.name = "deepseek_v3",
     .types = {"deepseek_v3", "kimi_k2"},
     .own_code = {"kimi_k2"},
     .sizes = {7168, 61, 128, 128, 0, 4096},
     .windows = kUntyped,
     .mla = {.nope = 128, .rope = 64, .value = 128, .pairing_key = "rope_interleave"},
     .rope = {.pairing = Pairing::adjacent}},
    {.name = "deepseek_v32",
     .types = {"deepseek_v32"},
     .sizes = {7168, 61, 128, 128, 0, 163840},
     .mla = {.nope = 128, .rope = 64, .value = 128},
     .indexer = indexer(64),
     .rope = {.pairing = Pairing::adjacent}},
    {.name = "deepseek_v4",
     .types = {"deepseek_v4"},
     .method = Method::deepseek_v4,
     .sizes = {4096, 43, 64, 1, 512, 1048576},
     .rope = {.pairing = Pairing::adjacent}},
    {.name = "glm4_moe_lite",
     .types = {"glm4_moe_lite"},
     .sizes = {2048, 47, 20, 20, 0, 202752},
     .windows = kUntyped,
     .mla = {.nope = 192, .rope = 64, .value = 256, .pairing_key = "rope_interleave"},
     .rope = {.pairing = Pairing::adjacent, .plain_partial = true}},
    {.name = "glm_moe_dsa",
     .types = {"glm_moe_dsa"},
     .sizes = {6144, 78, 64, 64, 0, 202752},
     .windows = kIndexed,
     .mla = {.nope = 192, .rope = 64, .value = 256},
     .indexer = glm_indexer(32),
     .rope = {.pairing = Pairing::adjacent}},
    {.name = "mistral4",
     .types = {"mistral4"},
     .sizes = {4096, 36, 32, 32, 0, 1048576},
     .windows = kUntyped,
     .temperature = Temperature::ministral3,
     .mla = {.nope = 64,
             .rope = 64,
             .value = 128,
             .latent = 256,
             .whole_slice = true,
             .pairing_key = "rope_interleave"},
     .rope = {.pairing = Pairing::adjacent, .standard = kMistral4Rope}},
    {.name = "mistral_large4",
     .types = {"mistral_large4_text"},
     .sizes = {6144, 72, 64, 64, 0, 1048576},
     .windows = kIndexed,
     .no_position = NoPosition::listed,
     .temperature = Temperature::learned,
     .mla = {.nope = 64, .rope = 64, .value = 128, .bare_latent = true},
     .indexer = glm_indexer(32),
     .source_key = "kv_source_layers",
     .rope = {.pairing = Pairing::adjacent, .standard = kMistralLarge4Rope}},
    {.name = "kimi_linear",
     .types = {"kimi_linear"},
     .sizes = {2304, 27, 32, 32, 0, 1048576},
     .keys = {.longest = "model_max_length"},
     .windows = {.which = Which::pattern,
                 .other = "linear_attention",
                 .start = "l",
                 .cycle = "flll",
                 .full_key = "linear_attn_config.full_attn_layers",
                 .full_from = 1},
     .no_position = NoPosition::always,
     .mla = {.nope = 128, .rope = 64, .value = 128},
     .rope = {.dicts = RopeDicts::none}},
    {.name = "longcat_flash",
     .types = {"longcat_flash"},
     .sizes = {6144, 28, 64, 0, 0, 131072},
     .keys = {.layers = "num_layers"},
     .windows = kUntyped,
     .mla = {.nope = 128, .rope = 64, .value = 128},
     .attentions = 2,
     .rope = {.theta = 1e7, .pairing = Pairing::adjacent}},
    {.name = "minicpm3",
     .types = {"minicpm3"},
     .sizes = {2560, 62, 40, 40, 0, 32768},
     .width_by_heads = true,
     .windows = kUntyped,
     .mla = {.nope = 64, .rope = 32, .latent = 256, .value_by_width = true}},
    {.name = "bailing_hybrid",
     .types = {"bailing_hybrid"},
     .sizes = {2560, 42, 32, 32, 0, 262144},
     .keys = {.longest = "model_max_length"},
     .windows = {.which = Which::all_but,
                 .every = 6,
                 .full_at = 1,
                 .every_key = "layer_group_size",
                 .other = "linear_attention"},
     .mla = {.nope = 128, .rope = 64, .value = 128},
     .rope = {.theta = 6e6, .pairing = Pairing::adjacent}},
    {.name = "axk1",
     .types = {"axk1"},
     .sizes = {7168, 61, 64, 64, 0, 32768},
     .windows = kUntyped,
     .mla = {.nope = 128, .rope = 64, .value = 128, .pairing_key = "rope_interleave"},
     .rope = {.pairing = Pairing::adjacent}},
    {.name = "axk2",
     .types = {"axk2"},
     .sizes = {2048, 48, 32, 32, 0, 131072},
     .windows = kIndexed,
     .mla = {.nope = 64, .rope = 32, .value = 64, .latent = 128},
     .indexer = indexer(16),
     .rope = {.pairing = Pairing::adjacent}},
    {.name = "dots3_note",
     .types = {"dots3_note_text"},
     .sizes = {5120, 46, 128, 128, 0, 524288},
     .windows = {.which = Which::pattern,
                 .start = "ii",
                 .cycle = "siss",
                 .full_means = "indexed_attention",
                 .spare_key = "sliding_window_size",
                 .standard = 512},
     .mla = {.nope = 128, .rope = 64, .value = 128, .whole_slice = true, .unscaled = true},
     .indexer = dots_indexer(),
     .sliding = {.heads = 64, .kv_heads = 64, .head_dim = 256, .nope = 192, .value = 128, .latent = 1024},
     .rope = {.theta = 8e7,
              .sliding_theta = 5e4,
              .sliding_theta_key = "swa_rope_theta",
              .pairing = Pairing::adjacent,
              .dicts = RopeDicts::copied,
              .plain_partial = true}},
    {.name = "glm5_next",
     .types = {"glm5_next_text"},
     .sizes = {4096, 45, 64, 64, 0, 1048576},
     .windows = {.which = Which::all_but,
                 .every = 4,
                 .full_at = 1,
                 .full = "indexed_attention",
                 .other = "linear_attention",
                 .full_means = "indexed_attention"},
     .no_position = NoPosition::always,
     .mla = {.nope = 256, .value = 256, .sliceless = true},
     .indexer = glm_indexer(32),
     .rope = {.dicts = RopeDicts::none}},
    {.name = "hy_v4",
     .types = {"hy_v4"},
     .sizes = {2816, 34, 32, 0, 0, 262144},
     .keys = kNoGroups,
     .windows = kIndexed,
     .mla = {.nope = 192, .rope = 64, .value = 256},
     .indexer = hy_indexer()},
    {.name = "youtu",
     .types = {"youtu"},
     .sizes = {2048, 32, 16, 16, 0, 131072},
     .windows = kUntyped,
     .mla = {.nope = 128, .rope = 64, .value = 128, .pairing_key = "rope_interleave"},
     .rope = {.pairing = Pairing::adjacent}},
};

}  // namespace

std::span<const Family> latent_rows() { return kFamilies; }

}  // namespace gnomon
