#include "gnomon/models/resolve/families/rows.h"

namespace gnomon {
namespace {

// RoPE by several streams of positions (M-RoPE).
const Family kFamilies[] = {
    {.name = "qwen2_vl",
     .types = {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"},
     .gguf = {"qwen2vl"},
     .sizes = {8192, 80, 64, 8, 0, 32768},
     .windows = kQwenWindows,
     .rope = {.theta = 1e6, .dicts = RopeDicts::mrope, .sections = "16/24/24"}},
    {.name = "qwen3_vl",
     .types = {"qwen3_vl", "qwen3_vl_text"},
     .gguf = {"qwen3vl"},
     .sizes = {4096, 32, 32, 32, 128, 128000},
     .windows = kUntyped,
     .rope = {.theta = 5e5, .theta_v4 = 5e6, .sections = "24/20/20", .interleaved = true}},
};

}  // namespace

std::span<const Family> streams_rows() { return kFamilies; }

}  // namespace gnomon
