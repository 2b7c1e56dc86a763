#include <algorithm>
#include <memory>

#include "gnomon/bench/case.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"

namespace gnomon::bench {
namespace {

constexpr std::int64_t kVocabulary = 256;

struct Step {
  const char *name, *block, *encoding;
  std::int64_t width, layers, heads, T, batch;
  bool quick = false, alone = false;  // alone: on one thread
  Precision precision = Precision::float32;
};
constexpr Precision kBf16 = Precision::bfloat16;
constexpr Step kSteps[] = {
    {"a.fp32", "gpt", "learned", 256, 4, 4, 512, 8, true},
    {"a.bf16", "gpt", "learned", 256, 4, 4, 512, 8, true, false, kBf16},
    {"a.none", "gpt", "none", 256, 4, 4, 512, 8},
    {"a.sinusoidal", "gpt", "sinusoidal", 256, 4, 4, 512, 8},
    {"a.rope", "gpt", "rope", 256, 4, 4, 512, 8},
    {"a.alibi", "gpt", "alibi", 256, 4, 4, 512, 8},
    {"a.t5", "gpt", "t5", 256, 4, 4, 512, 8},
    {"a.kerple_log", "gpt", "kerple_log", 256, 4, 4, 512, 8},
    {"t2048.none", "gpt", "none", 256, 4, 4, 2048, 2},
    {"t2048.rope", "gpt", "rope", 256, 4, 4, 2048, 2},
    {"t2048.alibi", "gpt", "alibi", 256, 4, 4, 2048, 2},
    {"t2048.t5", "gpt", "t5", 256, 4, 4, 2048, 2},
    {"d384.fp32", "gpt", "learned", 384, 6, 6, 256, 16},
    {"d384.bf16", "gpt", "learned", 384, 6, 6, 256, 16, false, false, kBf16},
    {"d128.fp32", "gpt", "learned", 128, 4, 4, 128, 4, true},
    {"d128.bf16", "gpt", "learned", 128, 4, 4, 128, 4, false, false, kBf16},
    {"d64.fp32", "gpt", "sinusoidal", 64, 2, 4, 128, 4, true, true},
    {"d64.bf16", "gpt", "sinusoidal", 64, 2, 4, 128, 4, false, true, kBf16},
    {"d64.rope", "gpt", "rope", 64, 2, 4, 128, 4, false, true},
    {"llama.fp32", "llama", "rope", 256, 4, 4, 512, 8},
};

struct Training {
  Trainer trainer;
  std::vector<std::int32_t> inputs, targets;
  Tokens batch{};

  explicit Training(const Step& s)
      : trainer(make_block(s.block, {.layers = s.layers, .width = s.width, .heads = s.heads, .length = s.T},
                           Spec::parse(s.encoding)),
                {.precision = s.precision}, 1),
        inputs(std::size_t(s.batch * s.T)),
        targets(inputs.size()) {
    const Random random(1, "bench");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = std::int32_t(random.below(2 * i, kVocabulary));
      targets[i] = std::int32_t(random.below(2 * i + 1, kVocabulary));
    }
    batch.B = s.batch, batch.T = s.T, batch.inputs = inputs, batch.targets = targets;
  }
};

double operations(const Step& s) {
  const Model model(make_block(s.block,
                               {.layers = s.layers, .width = s.width, .heads = s.heads, .length = s.T},
                               Spec::parse(s.encoding)));
  return model.training_flops_per_token(s.T) * double(s.batch * s.T);
}

}  // namespace

std::vector<BenchCase> step_cases(int threads) {
  std::vector<BenchCase> all;
  for (const Step& s : kSteps) {
    if (!multiplies_in(s.precision)) continue;
    all.push_back({.name = text("step.", s.name),
                   .what = text("a training step, ", s.block, " block, ", s.encoding, ", d ", s.width, ", ",
                                s.layers, " layers, ", s.heads, " heads, T ", s.T, ", batch ", s.batch,
                                s.precision == kBf16 ? ", most products in bfloat16" : ""),
                   .unit = "tokens/s",
                   .amount = double(s.batch * s.T),
                   .work = operations(s),
                   .limit = {s.precision == kBf16 ? Resource::multiply_bf16 : Resource::multiply_f32},
                   .threads = s.alone ? 1 : threads,
                   .quick = s.quick,
                   .prepare = [s] {
                     return [run = std::make_shared<Training>(s)] { run->trainer.train(run->batch); };
                   }});
  }
  return all;
}

std::vector<BenchCase> bench_cases(int threads) {
  std::vector<BenchCase> all;
  for (const auto& cases : {step_cases(threads), product_cases(threads), attention_cases(threads),
                            rotation_cases(threads), decode_cases(threads)})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace gnomon::bench
