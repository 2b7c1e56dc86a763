// Every entry trains: steps of a small model on real text lower the loss, nothing diverges, and the parameters of position have
// moved. With GNOMON_LONG=1 in the environment (make test-long) 200 steps of the default model.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "gnomon/core/file.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"

namespace gnomon {
namespace {

std::vector<std::string> all_specs() {
  std::vector<std::string> specs;
  for (const Entry* e : encodings())
    specs.push_back(e->acts & kPositions ? "sinusoidal+" + std::string(e->name) : std::string(e->name));
  for (const CombinationEntry* c : combinations()) specs.push_back(std::string(c->name) + "(sinusoidal)");
  specs.push_back("[rope+window(size=32), rope+window(size=32), rope+window(size=32), none]");
  return specs;
}

class Training : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(EverySpec, Training, testing::ValuesIn(all_specs()), [](const auto& tested) {
  std::string name = tested.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST_P(Training, LowersTheLossAndMovesThePositionParameters) {
  // This project's own pages: text that people wrote, and everyone has.
  std::string text;
  for (const char* page : {"README.md", "DESIGN.md", "CONTRIBUTING.md", "docs/encodings.md"})
    text += read_file(Path(GNOMON_ROOT) / page);
  const bool whole = std::getenv("GNOMON_LONG");
  const BlockSizes small{.layers = 2, .width = 64, .heads = 4, .length = 64};
  const Architecture model = make_block("gpt", whole ? BlockSizes{} : small, Spec::parse(GetParam()));
  TrainConfig train;
  train.steps = whole ? 200 : 120;
  Trainer trainer(model, train, 1);
  const Floats start = trainer.w;
  const std::int64_t B = train.batch, T = model.length;
  const Random random(1, "training test");
  double first = 0, last = 0;
  for (std::int64_t step = 0; step < train.steps; ++step) {
    std::vector<std::int32_t> inputs, targets;
    for (std::int64_t b = 0; b < B; ++b) {
      const auto at = random.below(std::uint64_t(step * B + b), text.size() - std::uint64_t(T) - 1);
      for (std::int64_t t = 0; t < T; ++t) {
        inputs.push_back(static_cast<unsigned char>(text[at + std::uint64_t(t)]));
        targets.push_back(static_cast<unsigned char>(text[at + std::uint64_t(t) + 1]));
      }
    }
    const double loss = trainer.train({B, T, inputs, targets});
    ASSERT_TRUE(std::isfinite(loss)) << "step " << step;
    if (step == 0) first = loss;
    if (step >= train.steps - 20) last += loss / 20;
  }
  RecordProperty("first_loss", std::to_string(first));
  RecordProperty("last_loss", std::to_string(last));
  EXPECT_LT(last, first - 1.5) << "from " << first << " to " << last;
  for (const auto& p : trainer.model.params()) {
    const std::string& name = p.spec.name;
    if (name.rfind("position.", 0) != 0 && name.rfind("embed.combination.", 0) != 0) continue;
    // TUPE's logits from [CLS] are one number for all keys of a row: softmax does not see it.
    if (name.find("from_first") != std::string::npos) continue;
    double most = 0;
    for (std::int64_t i = 0; i < p.spec.size(); ++i)
      most = std::max(most, double(std::abs(trainer.w[p.offset + i] - start[p.offset + i])));
    EXPECT_GT(most, 1e-5) << name;
  }
}

// The gradient with products in bfloat16 is near that of float32, and another where the machine has them: factors are off by at
// most 2^-9. Weights stay float32, and a loss without a gradient is as precise as it is asked for.
TEST(Precision, GradientsInBfloat16AreNear) {
  const bool has = multiplies_in(Precision::bfloat16);
  for (const char* block : {"gpt", "llama", "bert"}) {
    const Architecture model =
        make_block(block, {.layers = 2, .width = 64, .heads = 4, .length = 64}, Spec::parse("sinusoidal"));
    const Model m(model);
    Session session(m);
    const Floats w = m.initial(1);
    std::vector<std::int32_t> inputs, targets;
    const Random random(1, "precision");
    for (std::uint64_t i = 0; i < 2 * 64; ++i)
      inputs.push_back(std::int32_t(random.below(2 * i, 256))),
          targets.push_back(std::int32_t(random.below(2 * i + 1, 256)));
    Tokens tokens{2, 64, inputs, targets};
    Floats losses(inputs.size()), exact(w.size()), near(w.size());
    const double loss = session.loss(tokens, w, losses, exact);
    tokens.precision = Precision::bfloat16;
    const double rounded = session.loss(tokens, w, losses, near);
    double off = 0, all = 0;
    for (std::size_t i = 0; i < w.size(); ++i)
      off += std::pow(near[i] - exact[i], 2), all += std::pow(exact[i], 2);
    const double share = std::sqrt(off / all);
    EXPECT_NEAR(rounded, loss, 0.01) << block;
    EXPECT_LT(share, 0.03) << block;
    EXPECT_EQ(share > 1e-4, has) << block << " " << share;
  }
}

TEST(Precision, TrainingInBfloat16KeepsItsWeightsInFloat32) {
  const Architecture model =
      make_block("gpt", {.layers = 1, .width = 32, .heads = 2, .length = 32}, Spec::parse("rope"));
  const TrainConfig train{.steps = 60, .precision = Precision::bfloat16};
  Trainer trainer(model, train, 1), twin(model, train, 1);
  std::vector<std::int32_t> inputs, targets;
  for (int i = 0; i < 4 * 32; ++i) inputs.push_back(i * i % 7), targets.push_back((i + 1) * (i + 1) % 7);
  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    last = trainer.train({4, 32, inputs, targets});
    if (step == 0) first = last;
    EXPECT_EQ(twin.train({4, 32, inputs, targets}), last) << step;
  }
  EXPECT_LT(last, first - 2);
  EXPECT_EQ(trainer.w, twin.w);
  const auto whole = std::count_if(trainer.w.begin(), trainer.w.end(), [](float x) {
    return (std::bit_cast<std::uint32_t>(x) & 0xffff) == 0;  // as if it had been rounded to bfloat16
  });
  EXPECT_LT(double(whole), 0.1 * double(trainer.w.size()));
}

}  // namespace
}  // namespace gnomon
