#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gnomon/bench/limits.h"

namespace gnomon::bench {

// Something that is timed, again and again in turns with its limit.
struct BenchCase {
  std::string name;  // "attend.t512.alibi"
  std::string what;  // for people: "causal attention, forward and backward, alibi, B 16, H 4, T 512, D 64"
  std::string unit;  // of `amount`: "tokens/s", "GFLOP/s", "GB/s"
  double amount;     // what one call does, in that unit times a second
  double work;       // what one call needs of the limit at least: operations, or bytes
  Limit limit;
  double bytes = 0;  // that one call moves to and from memory at least; 0: not counted
  int threads;
  bool quick = false;  // is in the run of one minute
  // What is timed, with its arrays inside.
  std::function<std::function<void()>()> prepare = {};
};

// Matrix products of a layer, by the library of the build and by our own. "product.y.512x128x384": y = x·wᵀ for 512 rows of 128
// channels to 384; dx = dy·w; dw = dyᵀ·x. ".ours": by gnomon's own tiles, where the build has another library; ".dense": without room between the rows.
std::vector<BenchCase> product_cases(int threads);
// Causal attention of a layer, forward and backward, with all that an encoding does in it: "attend.t512", "attend.t512.alibi". Useful
// operations alone: the pairs that the mask leaves.
std::vector<BenchCase> attention_cases(int threads);
// Rotation of rows in place: "rotary.halves.16mb".
std::vector<BenchCase> rotation_cases(int threads);
// Whole training steps: "step.a.fp32" (d 256, 4 layers, T 512, batch 8), "step.a.rope", "step.d64.fp32".
std::vector<BenchCase> step_cases(int threads);
// One token against a key cache with grouped queries: "decode.16k".
std::vector<BenchCase> decode_cases(int threads);

// All of them; d 64 runs on one thread.
std::vector<BenchCase> bench_cases(int threads);

}  // namespace gnomon::bench
