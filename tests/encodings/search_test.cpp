// Encodings are found by words and by what they are.
#include "gnomon/encodings/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

std::vector<std::string_view> found(std::string_view words, const EncodingFilter& filter = {}) {
  std::vector<std::string_view> names;
  for (const Entry* entry : search_encodings(words, filter)) names.push_back(entry->name);
  return names;
}
bool has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Search, FindsByWordsAndByWhatAnEncodingIs) {
  EXPECT_EQ(found("").size(), encodings().size());
  const auto reaching = found("Rotary", {.extrapolates = true});
  for (const std::string_view name : {"xpos", "linear", "ntk", "yarn", "longrope", "llama3", "rerope"})
    EXPECT_TRUE(has(reaching, name)) << name;
  for (const std::string_view name : {"rope", "alibi", "t5", "kerple_log"})
    EXPECT_FALSE(has(reaching, name)) << name;
  EXPECT_TRUE(has(found("nope"), "none"));         // an alias
  EXPECT_TRUE(has(found("2108.12409"), "alibi"));  // the paper
  EXPECT_TRUE(has(found("forget gate"), "fox"));   // all of several words
  EXPECT_EQ(found("forget xyzzy").size(), 0u);
  for (const Entry* entry : search_encodings("", {.acts = kInput, .learned = true}))
    EXPECT_TRUE(entry->acts & kInput) << entry->name;
  EXPECT_TRUE(has(found("", {.acts = kInput, .learned = true}), "learned"));
  EXPECT_FALSE(has(found("", {.acts = kInput, .learned = true}), "sinusoidal"));
  EXPECT_TRUE(has(found("", {.relative = false}), "sinusoidal"));
  EXPECT_TRUE(has(found("", {.causal_only = true}), "cope"));
  EXPECT_EQ(found("", {.acts = kInput | kMask}).size(), 0u);
  EXPECT_EQ(site_named("logits"), unsigned(kLogits));
  EXPECT_THROW(site_named("logit"), Error);
}

}  // namespace
}  // namespace gnomon
