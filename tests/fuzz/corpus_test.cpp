// The kept corpus of one fuzz target, in every build: no file of it may crash the reader. Those named good-* have to be
// accepted, those named bad-* refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace gnomon {
namespace {

std::vector<Path> kept() {
  std::vector<Path> all;
  for (const auto& entry : std::filesystem::directory_iterator(GNOMON_CORPUS)) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

class KeptCorpus : public testing::TestWithParam<Path> {};
INSTANTIATE_TEST_SUITE_P(Files, KeptCorpus, testing::ValuesIn(kept()), [](const auto& tested) {
  std::string name = tested.param.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST_P(KeptCorpus, IsReadOrRefused) {
  const std::string name = GetParam().filename().string();
  const bool accepted = fuzz::accepts(read_file(GetParam()));
  if (name.rfind("good-", 0) == 0) {
    EXPECT_TRUE(accepted);
  } else if (name.rfind("bad-", 0) == 0) {
    EXPECT_FALSE(accepted);
  }
}

}  // namespace
}  // namespace gnomon
