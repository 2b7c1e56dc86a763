#include "gnomon/models/resolve/families/rows.h"

namespace gnomon {
namespace {

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
     .types = {"deepseek_v3"},
     .sizes = {7168, 61, 128, 128, 0, 4096},
     .windows = kUntyped,
     .mla = {.nope = 128, .rope = 64, .value = 128, .pairing_key = "rope_interleave"},
     .rope = {.pairing = Pairing::adjacent}},
    {.name = "deepseek_v32",
     .types = {"deepseek_v32"},
     .sizes = {7168, 61, 128, 128, 0, 163840},
     .mla = {.nope = 128, .rope = 64, .value = 128, .indexer_heads = 64, .indexer_dim = 128},
     .rope = {.pairing = Pairing::adjacent}},
    {.name = "deepseek_v4",
     .types = {"deepseek_v4"},
     .method = Method::deepseek_v4,
     .sizes = {4096, 43, 64, 1, 512, 1048576},
     .rope = {.pairing = Pairing::adjacent}},
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
