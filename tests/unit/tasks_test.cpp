#include <gtest/gtest.h>

#include "gnomon/checkpoint/sha256.h"
#include "gnomon/lab/recipe.h"
#include "gnomon/lab/task.h"

namespace gnomon {
namespace {

// Inputs and targets of a sample as one hash.
std::string hash(const Sample& s) {
  const auto bytes = [](const std::vector<std::int32_t>& v) {
    return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(std::int32_t));
  };
  return sha256(bytes(s.inputs) + bytes(s.targets)).substr(0, 16);
}

// Models of claims are kept by the key of their job, which does not know how windows are made: these bits may not change.
TEST(Tasks, WindowsOfClaimsStayAsTheyWere) {
  struct Known {
    const char *task, *made, *trained, *tested;
  };
  for (const Known& k : {Known{"order", "6333d8f351ebf905", "daf79d8c9097f9db", "715cd0cf77228937"},
                         {"binding", "b8855132e2428663", "179ddf43b5bd7c39", "9034eb1502c038ee"},
                         {"majority", "bc7f417c646d44c6", "cf9c7f18715734f8", "34ad3b0efea9f774"},
                         {"previous", "12c85863aec29994", "551812d2999f5b8f", "1f414ccdee2fd28d"},
                         {"offset8", "9ce0d47d1c2c478f", "9ce78f17cedb4188", "c8fd28f616a93b2b"},
                         {"lengths", "12c85863aec29994", "5621e244120073f2", "1f414ccdee2fd28d"}}) {
    const Job job = Recipe{.data = k.task, .spec = "none", .length = 32, .batch = 6}.job(3, nullptr);
    EXPECT_EQ(hash(make_task(k.task, 24, 50, Random(1, "t"))), k.made) << k.task;
    EXPECT_EQ(hash(training_batch(job, 7)), k.trained) << k.task;
    EXPECT_EQ(hash(held_out(job, 40, 10, 2)), k.tested) << k.task;
  }
}

}  // namespace
}  // namespace gnomon
