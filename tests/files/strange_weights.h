// What the tests of files of weights share: what opening one says, and files that are damaged or made by hand.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "gnomon/core/text.h"
#include "gnomon/files/weights.h"
#include "tests/support/files.h"

namespace gnomon {

using Shape = std::vector<std::int64_t>;
inline const Path kGolden = std::string(GNOMON_TESTS) + "/golden/weights";

// Bit by bit; any NaN is as good as another.
inline bool equal(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
  });
}

// What opening says: Fault::input, in few words.
inline std::string refusal(const Path& path, Fault fault = Fault::input) {
  try {
    Weights::open(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), fault) << e.what();
    EXPECT_LT(std::strlen(e.what()), 600u);
    return e.what();
  }
  return "accepted";
}
inline void expect_refusal(const Path& path, const std::string& words, Fault fault = Fault::input) {
  const std::string why = refusal(path, fault);
  EXPECT_NE(why.find(words), std::string::npos) << "found: " << why << "\nexpected: " << words;
}

class StrangeWeights : public Files {
 protected:
  // The file or folder of golden weights, to be damaged.
  Path copied(const char* name) {
    const Path path = folder_ / name;
    std::filesystem::copy(kGolden / name, path, std::filesystem::copy_options::recursive);
    return path;
  }
  Path with(std::string_view bytes, const char* name = "model") {
    std::ofstream(folder_ / name, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    return folder_ / name;
  }
};

}  // namespace gnomon
