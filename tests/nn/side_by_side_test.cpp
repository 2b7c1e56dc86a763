// Models that are trained at the same time, each on threads of its own, end in the bits of each trained alone.
// (Under ThreadSanitizer with archer, preset `tsan`, this is also where a race between two models would be seen.)
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "gnomon/core/parallel.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"

namespace gnomon {
namespace {

Floats trained(const std::string& spec) {
  set_thread_count(2);
  const Architecture model =
      make_block("gpt", {.layers = 2, .width = 32, .heads = 2, .length = 32}, Spec::parse(spec));
  TrainConfig train;
  train.steps = 8, train.batch = 2;
  Trainer trainer(model, train, 1);
  const Random random(1, "bytes");
  std::vector<std::int32_t> bytes(std::size_t(train.batch * model.length));
  for (std::int64_t step = 0; step < train.steps; ++step) {
    for (std::size_t n = 0; n < bytes.size(); ++n)
      bytes[n] = std::int32_t(random.below(std::uint64_t(step) * bytes.size() + n, 256));
    trainer.train({train.batch, model.length, bytes, bytes});
  }
  return trainer.w;
}

TEST(SideBySide, ModelsEndInTheBitsOfEachAlone) {
  const std::vector<std::string> specs{"rope",           "t5",   "concat(sinusoidal)", "fire",
                                       "transformer_xl", "cope", "sinusoidal+alibi",   "deberta"};
  for (std::size_t first = 0; first < specs.size(); first += 4) {
    Floats together[4];
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < 4; ++i)
        threads.emplace_back([&, i] { together[i] = trained(specs[first + i]); });
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const Floats alone = trained(specs[first + i]);
      ASSERT_EQ(alone.size(), together[i].size());
      EXPECT_EQ(std::memcmp(alone.data(), together[i].data(), alone.size() * sizeof(float)), 0)
          << specs[first + i];
    }
  }
}

}  // namespace
}  // namespace gnomon
