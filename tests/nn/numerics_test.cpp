// What training computes has a number, kNumerics, which is part of every run's key: so results of other code are never taken
// for results of this. Here a tiny model is trained under every encoding and combination and its weights are hashed; when
// a hash is another than recorded, kNumerics has to be raised. GNOMON_RECORD=1 in the environment writes the record anew,
// but no other hash under the old number.
//
// The hashes are those of one instruction set that every x86-64 machine has.
#include "gnomon/nn/numerics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/parallel.h"
#include "gnomon/files/sha256.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/targets.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"

namespace gnomon {
namespace {

using Hashes = std::map<std::string, std::string>;

const int kCapped = setenv("DNNL_MAX_CPU_ISA", "SSE41", 1);  // oneDNN reads it at its first use

std::string weights_after_training(const std::string& arm, bool causal) {
  const std::int64_t B = 3, T = 12;
  Architecture architecture =
      make_block("gpt", {.layers = 2, .width = 24, .heads = 2, .length = T}, Spec::parse(arm));
  architecture.causal = causal;
  Trainer trainer(architecture, {.steps = 4, .batch = B}, 1);
  const Random bytes(1, "bytes");
  std::vector<std::int32_t> inputs, targets;
  for (std::uint64_t step = 0; step < 4; ++step) {
    inputs.clear(), targets.clear();
    for (std::uint64_t n = 0; n < std::uint64_t(B * T); ++n) {
      inputs.push_back(std::int32_t(bytes.below(1000 * step + n, 256)));
      targets.push_back(std::int32_t(bytes.below(1000 * step + n + 1, 256)));
    }
    trainer.train({B, T, inputs, targets});
  }
  return sha256({reinterpret_cast<const char*>(trainer.w.data()), trainer.w.size() * sizeof(float)})
      .substr(0, 16);
}

Hashes all_hashes() {
  Hashes found;
  for (const Entry* e : encodings()) {
    const std::string name(e->name), arm = e->acts & kPositions ? "sinusoidal+" + name : name;
    found[arm] = weights_after_training(arm, true);
    if (!e->causal_only) found[arm + ", bidirectional"] = weights_after_training(arm, false);
  }
  for (const CombinationEntry* c : combinations()) {
    const std::string arm = std::string(c->name) + "(sinusoidal)+rope";
    found[arm] = weights_after_training(arm, true);
  }
  return found;
}

TEST(Numerics, OtherBitsNeedAnotherNumber) {
  use_simd_target("SSE4");
  ASSERT_EQ(kCapped, 0);
  ASSERT_NE(product_library().find("sse41"), std::string::npos) << product_library();
  set_thread_count(1);
  const std::string path = GNOMON_TESTS "/golden/numerics.json";
  const auto recorded = nlohmann::json::parse(std::ifstream(path), nullptr, false);
  const int number = recorded.is_object() ? recorded.at("numerics").get<int>() : 0;
  const Hashes known = recorded.is_object() ? recorded.at("hashes").get<Hashes>() : Hashes(),
               found = all_hashes();
  for (const auto& [arm, hash] : found) {
    if (number != kNumerics || !known.count(arm)) continue;
    EXPECT_EQ(hash, known.at(arm)) << arm
                                   << ": training gives other bits: raise kNumerics in gnomon/nn/numerics.h";
  }
  if (!HasFailure() && std::getenv("GNOMON_RECORD")) {
    write_file(path, nlohmann::json{{"numerics", kNumerics}, {"hashes", found}}.dump(1) + "\n");
    return;
  }
  EXPECT_EQ(number, kNumerics)
      << "record the hashes of the new number: GNOMON_RECORD=1 (see the top of this file)";
  for (const auto& [arm, hash] : found)
    EXPECT_TRUE(known.count(arm)) << arm << " is not recorded: GNOMON_RECORD=1";
  use_simd_target("");
}

TEST(Numerics, AreNamedWhole) {
  const std::string all = numerics(2);
  EXPECT_EQ(all, text("numerics ", kNumerics, ", ", simd_target(), ", ", product_library(), ", 2 threads"));
  EXPECT_NE(product_library().find("oneDNN "), std::string::npos);
}

}  // namespace
}  // namespace gnomon
