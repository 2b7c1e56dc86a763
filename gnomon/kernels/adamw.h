#pragma once
#include <cstdint>

namespace gnomon {

// Adam with decoupled weight decay. Loshchilov, Hutter 2017, arXiv 1711.05101, algorithm 2.
// Throws Error(usage) for n < 0, t < 1, numbers that are not finite, β outside [0,1) or null arrays.
//   m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  w ← w − rate·( (m/c₁)/(√(v/c₂) + ε) + decay·w ),  c = 1 − βᵗ
struct AdamW {
  double rate, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0;
  std::int64_t t;       // number of this step, from 1
  double gradient = 1;  // g is multiplied by this first: the factor of clipping
};
void adamw(const AdamW& step, std::int64_t n, const float* g, float* w, float* m, float* v);

}  // namespace gnomon
