#pragma once
#include <cstdint>

namespace gnomon {

inline constexpr std::int32_t kUnscored = -1;  // a target that no loss is asked for

// Cross-entropy of softmax(logits) against the target symbols, in nats. logits (N,V); targets (N) in [0,V) or
// kUnscored, whose row counts 0. losses (N). With dscale > 0 the logits are replaced by their gradient
// dscale·(softmax − onehot), 0 in unscored rows; with dscale = 0 they stay. A logit that is NaN or +∞ makes the loss of its
// row and all of its gradient NaN. Throws Error(usage), before anything is written, for a target that is no symbol,
// extents that cannot be, rows nearer than V, or null arrays.
struct CrossEntropy {
  std::int64_t N, V;
  float dscale;
  std::int64_t step = 0;  // between the rows of logits, 0 = dense
};
void cross_entropy(const CrossEntropy& shape, float* logits, const std::int32_t* targets, float* losses);

}  // namespace gnomon
