#pragma once
#include <vector>

#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// More than this no file may ask for.
namespace most {
inline constexpr std::int64_t layers = 4096, width = 1 << 24, tokens = 1'000'000'000;
inline constexpr std::int64_t heads = 65536;  // and channels of a head
}  // namespace most

// The file's own word that no query is kept from the keys after it; that none is.
bool says_two_sided(FileReading& file, const Family& family);
bool two_sided(FileReading& file, const Family& family);
// The file says is_causal false, or null, for a class that is causal: create_causal_mask of transformers 5.23 (masking_utils.py)
// then makes a mask that hides nothing, and windows that reach as many tokens to each side. Chunks stay causal.
bool unmasked(FileReading& file, const Family& family);
Family unmasked_row(FileReading& file, const Family& family);
// Channels of a head that turn, of latent attention: qk_rope_head_dim.
std::int64_t slice_of(FileReading& file, const Mla& mla);
// Of the whole model. Throws Error(input) for sizes that are missing or impossible.
Sizes read_sizes(FileReading& file, const Family& family, std::vector<Because>& because);

}  // namespace gnomon
