#pragma once
#include "gnomon/models/resolve/family.h"

namespace gnomon {

// The rows of families(), by what their layers do with position: one file each. To add a row: the row, a file in
// tests/golden/configs, its answer in families_test.cpp, and its configurations in tests/golden/make_resolver.py and
// resolver_grid.py.
std::span<const Family> tables_rows();
std::span<const Family> distances_rows();
std::span<const Family> dense_rows();
std::span<const Family> windows_rows();
std::span<const Family> streams_rows();
std::span<const Family> latent_rows();
std::span<const Family> hybrids_rows();
std::span<const Family> encoders_rows();
std::span<const Family> stacks_rows();
std::span<const Family> documents_rows();

// What several rows say.
inline constexpr SizeKeys kGpt2Keys{
    .width = "n_embd", .layers = "n_layer", .heads = "n_head", .kv_heads = {}, .longest = "n_positions"};
inline constexpr SizeKeys kNoGroups{
    .kv_heads = {}};  // as many heads of keys as of queries, whatever the file says

inline constexpr WindowRule kQwenWindows{.which = WindowRule::Which::from_layer,
                                         .every = 28,
                                         .standard = 4096,
                                         .use_key = "use_sliding_window",
                                         .unused_is_none = true};
// The sines of fairseq, which XGLM, Kosmos and others took over; those of tensor2tensor's code in the paper's frequencies.
inline constexpr std::string_view kFairseqSines = "layout=halves, frequencies=tensor2tensor",
                                  kPaperHalves = "layout=halves, frequencies=paper";
inline constexpr std::string_view kScales = "scale_embedding";
inline constexpr std::string_view kGptOssRope =
    R"({"rope_type": "yarn", "factor": 32, "beta_fast": 32, "beta_slow": 1, "truncate": false,
        "original_max_position_embeddings": 4096})";
inline constexpr WindowRule kUntyped{.typed = false};

}  // namespace gnomon
