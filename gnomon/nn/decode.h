#pragma once
#include <string_view>

#include "gnomon/nn/attention_inside.h"

namespace gnomon {

// Attention of new tokens against a key cache: what Attention::decode and the layers of a model share.
struct Decoding {
  const AttendShape& shape;  // of the new tokens: B, H, queries, K, D, scale, kv_heads; keys = queries
  std::span<const Acting> acting;
  float soft_cap = 0;
  Content content = {};  // of the new tokens: the input alone, where encodings read it
};
// Whose keys a cache holds: what it is made for, and what it is compared with before it is read.
std::string keys_of(std::string_view spec, std::span<const Encoding* const> encodings);
// A cache for `capacity` tokens of B sequences, as wide as these encodings make keys. Throws Error(usage) for encodings whose
// keys change as the context grows; `spec` names them.
struct CacheSize {
  std::int64_t B, kv_heads, K, D, capacity, window = 0;
};
KeyCache make_cache(const CacheSize& size, std::span<const Encoding* const> encodings, std::string_view spec);
// Appends the keys of in.k and in.v, and attends. in and errors: Attention::decode, which checks the views.
void decode(const Decoding& d, const AttentionInput& in, KeyCache& cache, const View& out);

}  // namespace gnomon
