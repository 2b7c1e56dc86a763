// What the tests of gnomon.h share.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "gnomon/c/gnomon.h"
#include "gnomon/core/array.h"

namespace gnomon {

inline constexpr std::int64_t kB = 2, kHeads = 4, kGroups = 2, kSize = 16, kTokens = 9;

struct FreeAttention {
  void operator()(gnomon_attention* a) const { gnomon_attention_free(a); }
};
struct FreeCache {
  void operator()(gnomon_cache* c) const { gnomon_cache_free(c); }
};
struct FreeSaved {
  void operator()(gnomon_saved* s) const { gnomon_saved_free(s); }
};
using CAttention = std::unique_ptr<gnomon_attention, FreeAttention>;
using CCache = std::unique_ptr<gnomon_cache, FreeCache>;
using CSaved = std::unique_ptr<gnomon_saved, FreeSaved>;

inline void ok(gnomon_status status) { ASSERT_EQ(status, GNOMON_OK) << gnomon_last_error(); }
// The call was refused, and the message has these words.
inline void refused_in_c(std::string_view words, gnomon_status status,
                         gnomon_status expected = GNOMON_USAGE) {
  EXPECT_EQ(status, expected) << gnomon_last_error();
  EXPECT_NE(std::string_view(gnomon_last_error()).find(words), std::string_view::npos)
      << gnomon_last_error() << "\nlacks " << words;
}

inline gnomon_attention_config grouped_in_c(std::int64_t kv_heads = kGroups) {
  gnomon_attention_config config = GNOMON_ATTENTION_CONFIG_INIT;
  config.heads = kHeads, config.kv_heads = kv_heads, config.head_dim = kSize, config.length = 64;
  return config;
}
inline CAttention attention_in_c(const char* spec, std::int64_t kv_heads = kGroups) {
  const gnomon_attention_config config = grouped_in_c(kv_heads);
  gnomon_attention* made = nullptr;
  EXPECT_EQ(gnomon_attention_create(spec, &config, &made), GNOMON_OK) << gnomon_last_error();
  return CAttention(made);
}
inline gnomon_view rows_in_c(const Floats& rows, std::int64_t heads, std::int64_t T = kTokens) {
  const std::int64_t extents[4] = {kB, heads, T, kSize};
  return gnomon_heads_first(rows.data(), GNOMON_FLOAT32, extents);
}

}  // namespace gnomon
