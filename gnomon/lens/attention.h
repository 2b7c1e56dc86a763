#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "gnomon/lens/stream.h"

namespace gnomon {

// A lens is right to rounding, or throws Error(usage) that names the spec and why; so does a layer, a head or rows that
// the model does not have.

// Attention laid open: (T,T) matrices of one layer and one window at positions 0..T−1, as the model computes them (the taps
// of nn/taps.h). h (T,C) is what enters the layer. Keys that a query does not see hold −∞ (logits) and 0 (weights); where
// no softmax follows the logits are logarithms of weights. Refuses positions that are drawn.
struct AttentionMaps {
  std::vector<Matrix> logits, weights;  // of each head
};
AttentionMaps attention_maps(const Trained& m, std::int64_t layer, const Matrix& h);

// q, k and v of a layer before any encoding maps them: (T, widths of q, k and v), head by head. Refuses as above.
Matrix projected_rows(const Trained& m, std::int64_t layer, const Matrix& h);

// What a head looks at: means over queries and windows of at least 3 tokens. Types as in docs: previous, sink, or spread.
struct HeadHabits {
  double distance;              // Σ_j a_ij·(i − j)
  double entropy;               // nats
  double own, previous, first;  // weight on itself, on the token before it, on token 0 (queries from 2 on)
  std::string_view type() const {
    return previous > 0.5 ? "previous token" : first > 0.5 ? "sink" : "spread";
  }
};
std::vector<HeadHabits> head_habits(const Trained& m, std::int64_t layer, const Matrix& stream,
                                    std::int64_t T);

// The logits of one layer as a sum over pairs of components of what enters it, h = Σ_a h_a:
//   logit_ij = Σ_ab q_a,i · k_b,j,   q_a,i = W_q(γ·(h_a,i − mean)/σ_i)/√D,  and one more component: biases, and position
// vectors that enter beside h. Exact to rounding, with each token's own σ. For models whose q and k no encoding maps:
// refuses where the terms do not add up to the logits. terms[a·(n+1) + b] (T,T), query component a, key component b; the last index is the biases.
std::vector<Matrix> term_maps(const Trained& m, std::int64_t layer, const std::vector<Matrix>& components,
                              std::int64_t head);

// Throws Error(usage) for `who` unless the parts add up to these logits of a head wherever a query sees a key, to the
// rounding of the model's float32: kFloatRounding of the largest of them and of 1.
inline constexpr double kFloatRounding = 2e-5;
void must_add_up(const Trained& m, const std::vector<Matrix>& parts, const Matrix& logits,
                 std::string_view who);

// Every row less its mean over the keys that the query sees: softmax does not see the rest. Unseen keys become 0.
Matrix row_centred(const Matrix& logits, bool causal);

// The share of each term in the variance of the row-centred logits: Cov(term, sum)/Var(sum). They sum to 1 and may be
// negative. components: rows of all windows, which are taken together; one matrix (n+1, n+1) a head.
std::vector<Matrix> term_shares(const Trained& m, std::int64_t layer, const std::vector<Matrix>& components,
                                std::int64_t T);

// Mean loss with the logits of one layer edited: edit(window, head, logits) before they become weights. The rest is the
// model's own.
using LogitEdit = std::function<void(std::int64_t window, std::int64_t head, Matrix& logits)>;
double loss_with(const Trained& m, const Sample& sample, std::int64_t layer, const LogitEdit& edit);

}  // namespace gnomon
