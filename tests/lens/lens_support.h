// What the laws of the lenses share: a tiny model that hides nothing, windows of letters, and asking for a refusal.
#pragma once
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "gnomon/core/error.h"
#include "gnomon/lens/stream.h"
#include "gnomon/nn/block.h"

namespace gnomon {

using Names = std::set<std::string>;

inline constexpr std::int64_t kTokens = 12, kLayers = 2, kHeads = 2, kWidth = 16;

// A tiny model with every parameter off its start: norm biases and tables too, so that nothing hides by being 0 or 1.
struct Moved {
  Model model;
  Floats w;
  explicit Moved(const std::string& spec, bool causal = true, Norm norm = Norm::layer)
      : model(architecture(spec, causal, norm)), w(model.initial(5)) {
    const Random random(5, "moved");
    for (std::size_t n = 0; n < w.size(); ++n) w[n] += 0.3f * float(random.normal(n));
  }
  static Architecture architecture(const std::string& spec, bool causal, Norm norm) {
    Architecture a = make_block("gpt", {.layers = kLayers, .width = kWidth, .heads = kHeads, .length = 16},
                                Spec::parse(spec));
    a.causal = causal, a.norm.form = norm == Norm::rms ? NormForm::rms : NormForm::layer;
    return a;
  }
  Trained look() const { return {model, w}; }
};

// An encoder as BERT's, with a norm behind the sum of word, position and type.
struct Encoder {
  Model model;
  Floats w;
  Encoder() : model(architecture()), w(model.initial(3)) {
    const Random random(4, "moved");
    for (std::size_t n = 0; n < w.size(); ++n) w[n] += 0.3f * float(random.normal(n));
  }
  static Architecture architecture() {
    Architecture a = make_block("bert", {.layers = kLayers, .width = kWidth, .heads = kHeads, .length = 16},
                                Spec::parse("add(learned, scale=off)"));
    return a;
  }
  Trained look() const { return {model, w}; }
};

inline Sample letters(std::int64_t windows) {
  Sample s{kTokens, {}, {}};
  const Random random(8, "letters");
  for (std::int64_t n = 0; n < windows * kTokens; ++n) {
    s.inputs.push_back('a' + std::int32_t(random.below(std::uint64_t(2 * n), 20)));
    s.targets.push_back('a' + std::int32_t(random.below(std::uint64_t(2 * n + 1), 20)));
  }
  return s;
}

// Whether f throws; anything but Error(usage) fails the test.
template <class F>
bool refuses(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage) << e.what();
    return true;
  }
  return false;
}

}  // namespace gnomon
