#pragma once
#include <cstdint>

#include "gnomon/lens/stream.h"
#include "gnomon/nn/block.h"
#include "gnomon/study/data/task.h"

namespace gnomon::claims {

// A model with a spec that was not trained.
struct Untrained {
  Model model;
  Floats w;
  Untrained(const char* spec, std::int64_t layers, bool causal, std::uint64_t seed = 1)
      : model(architecture(spec, layers, causal)), w(model.initial(seed)) {}
  static Architecture architecture(const char* spec, std::int64_t layers, bool causal) {
    Architecture a =
        make_block("gpt", {.layers = layers, .width = 64, .heads = 4, .length = 32}, Spec::parse(spec));
    a.causal = causal;
    return a;
  }
  Trained look() const { return {model, w}; }
};

inline Sample letters(std::int64_t T, std::int64_t windows) {
  return make_task("previous", T, windows, Random(3, "letters"));
}

}  // namespace gnomon::claims
