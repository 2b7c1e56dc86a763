#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/kernels/attend.h"
#include "gnomon/nn/taps_at.h"
#include "gnomon/spec/plan.h"

namespace gnomon {

// Rows of q (B,H,queries,K), k (B,kv_heads,keys,K) and v (B,kv_heads,keys,D) as they were projected, and of what attention
// returns (B,H,queries,D).
template <class T>
struct AttentionRows {
  Heads<T> q, k, v, out;
};

// What a forward pass keeps for the backward pass.
struct AttentionKept {
  Scratch q, k, v;  // rows with all their channels after the steps; empty: the steps worked in place
  std::vector<Scratch>
      before;        // rows as a step found them whose gradient needs them, in the order of the pass
  Scratch attended;  // what attention returned before the steps of the output; empty: they found it in `out`
  Floats lse;        // (B,H,queries)
};

// Attention under a plan: the steps of q, k and v, the attention of gnomon/kernels/attend.h, the steps of the output.
// `shape.K` and `shape.D` are of the head, without what the plan adds. Where nothing needs the projected rows afterwards
// (`overwrite`), steps work in them; else in copies. Throws Error(usage) as attend() does.
struct Execution {
  const AttendShape& shape;
  const Plan& plan;
  bool overwrite;
  Extras extras = {};
  TapsAt taps = {};  // of the rows after their steps, of logits and weights
};
void execute(const Execution& e, const AttentionRows<float>& rows, AttentionKept& kept);
// Of what it keeps that which needs no attention: all but `attended` and lse.
void execute_again(const Execution& e, const AttentionRows<float>& rows, AttentionKept& kept);

// d.out comes in as the gradient of rows.out and is overwritten; d.q, d.k and d.v leave as gradients of the projected
// rows. The arrays that dplan has are added to.
void execute_backward(const Execution& e, const AttentionRows<float>& rows, const AttentionKept& kept,
                      const AttentionRows<float>& d, Plan& dplan, const ExtrasGrad& dextras = {});

}  // namespace gnomon
