#include "gnomon/models/resolve/families/rows.h"

namespace gnomon {
namespace {

constexpr WindowRule inkling_windows(std::int64_t window) {
  return {.which = WindowRule::Which::all_but,
          .every = 6,
          .full_at = 1,
          .full = "hybrid",
          .other = "hybrid_sliding",
          .other_key = "local_layer_ids",
          .key = "sliding_window_size",
          .standard = window};
}

// Positions by distance: biases, and tables of them.
const Family kFamilies[] = {
    {.name = "bloom",
     .types = {"bloom"},
     .gguf = {"bloom"},
     .method = Method::alibi,
     .sizes = {64, 2, 8},
     .keys = {.layers = "n_layer", .heads = "n_head", .first_width = "n_embed"},
     .width_by_heads = true},
    {.name = "mpt",
     .types = {"mpt"},
     .gguf = {"mpt"},
     .method = Method::alibi,
     .sizes = {2048, 24, 16, 0, 0, 2048},
     .keys = {.width = "d_model", .layers = "n_layers", .heads = "n_heads", .longest = "max_seq_len"},
     .scale = AttentionScale::mpt},
    {.name = "falcon",
     .types = {"falcon", "RefinedWeb", "RefinedWebModel"},
     .gguf = {"falcon"},
     .own_code = {"RefinedWeb", "RefinedWebModel"},
     .method = Method::falcon,
     .sizes = {4544, 32, 71, 0, 0, 2048},
     .keys = {.kv_heads = "num_kv_heads"},
     .width_by_heads = true},
    {.name = "jina_bert",  // of its own code, under the model_type of bert with position_embedding_type alibi
     .types = {"jina_bert"},
     .gguf = {"jina-bert-v2"},
     .own_code = {"jina_bert"},
     .method = Method::alibi,
     .sizes = {768, 12, 12, 0, 0, 8192},
     .causal = false},
    {.name = "baichuan",  // of its own code
     .types = {"baichuan"},
     .gguf = {"baichuan"},
     .own_code = {"baichuan"},
     .method = Method::baichuan,
     .sizes = {4096, 32, 32, 0, 0, 4096}},
    {.name = "deberta",
     .types = {"deberta"},
     .method = Method::deberta,
     .sizes = {768, 12, 12, 0, 0, 512},
     .width_by_heads = true,
     .causal = false},
    {.name = "deberta-v2",
     .types = {"deberta-v2"},
     .method = Method::deberta2,
     .sizes = {1536, 24, 24, 0, 0, 512},
     .keys = {.head_dim = "attention_head_size"},
     .width_by_heads = true,
     .causal = false},
    {.name = "inkling",
     .types = {"inkling_text"},
     .method = Method::profile,
     .sizes = {6144, 66, 64, 8, 128, 131072},
     .scale = AttentionScale::by_head,
     .windows = inkling_windows(512),
     .sliding = {.heads = 64, .kv_heads = 16, .head_dim = 128}},
    {.name = "inkling2",
     .types = {"inkling2_text"},
     .method = Method::profile,
     .sizes = {4608, 48, 48, 8, 128, 1048576},
     .windows = inkling_windows(1024),
     .sliding = {.heads = 48, .kv_heads = 8, .head_dim = 128},
     .log_floor = 128000},
    {.name = "pix2struct",
     .types = {"pix2struct_text_model"},
     .method = Method::t5,
     .sizes = {768, 12, 12, 0, 64},
     .keys = {.layers = "num_layers", .heads = "num_heads", .kv_heads = {}, .head_dim = "d_kv"}},
    {.name = "cpmant",
     .types = {"cpmant"},
     .method = Method::t5,
     .sizes = {4096, 48, 32, 0, 128},
     .keys = {.kv_heads = {}, .head_dim = "dim_head"},
     .causal = false,
     .buckets = {.count_key = "position_bias_num_buckets",
                 .distance_key = "position_bias_max_distance",
                 .count = 512,
                 .distance = 2048,
                 .scaled = true,
                 .note =
                     "prompt_length learned vectors come first; between them and the text the bias is one "
                     "number for the two segments"}},
    {.name = "xlnet",
     .types = {"xlnet"},
     .method = Method::xlnet,
     .sizes = {1024, 24, 16},
     .keys =
         {.width = "d_model", .layers = "n_layer", .heads = "n_head", .kv_heads = {}, .head_dim = "d_head"},
     .width_by_heads = true,
     .causal = false},
};

}  // namespace

std::span<const Family> distances_rows() { return kFamilies; }

}  // namespace gnomon
