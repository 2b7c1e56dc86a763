#pragma once
#include "gnomon/nn/attention_inside.h"

namespace gnomon {

// Rows of a view as float: in place where they lie that way, else in `own`.
Heads<float> rows_of(const ConstView& view, Floats& own);
Heads<float> rows_of(const Floats& dense, const std::array<std::int64_t, 4>& extents);

// (B,keys): 1 = no token, by the call or by its places; empty: all are tokens.
std::vector<std::uint8_t> padding_of(const AttentionInput& in, const Placement& places);

// Throws Error(usage) where what is written overlaps what a call reads.
void check_apart_from(const AttentionInput& in, const Occupied& written);

class Attention::Saved {
 public:
  Saved(const Inside& owner, const AttentionInput& in);
  Saved(const Saved&) = delete;  // its shape refers to its own padding

  Execution execution() const { return {shape, plan, false, extras}; }
  AttentionRows<float> rows() const { return {q, k, v, out}; }
  Content content() const;
  // Throws Error(usage) for gradients that overlap each other or what the way back reads.
  void check_gradients(const ConstView& dout, const AttentionGradients& to) const;

  AttentionInput in;
  ConstView returned;  // where the output went
  Placement places;
  std::vector<std::uint8_t> padding;
  AttendShape shape;
  Extras extras;
  Plan plan;
  bool reads_content;
  Floats own_q, own_k, own_v, own_out, x;
  Heads<float> q, k, v, out;
  AttentionKept kept;
};

}  // namespace gnomon
