#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gnomon/encodings/encoding.h"

namespace gnomon {

// An encoding at work inside the attention of a layer.
struct Acting {
  const Encoding* encoding;
  const float* w;       // its parameters
  float* dw = nullptr;  // where their gradient is added
};

// What position does inside attention, as plain data: attention executes it and knows no encoding. The order of stages is
//
//   place → input → project → steps of q, k, v → score → terms → soft-cap → the caller's bias → mask → weights
//   → value → steps of the output
//
// The order of `+` in a spec has no meaning: steps of different encodings touch different channels or commute, and terms
// are added; both spellings compile to the same plan. A gradient of a plan is a plan of the same shapes.
struct Plan {
  std::vector<Step> steps;
  std::vector<std::size_t>
      ends;  // the steps of each encoding end here, in the order in which they were compiled
  Terms terms;
  Widths added;  // channels beside the head's that the steps give to rows of q and k
  bool acts_on(Role role) const;
  Plan zeros() const;
  bool operator==(const Plan&) const = default;
};

// What depends on positions and parameters alone. It holds for all layers that share these.
Plan compile(std::span<const Acting> acting, const Placement& places, bool causal);
// Its terms alone, for tokens at other places: arrays over distances of the keys that a cache holds.
Terms compile_terms(std::span<const Acting> acting, const Placement& places, bool causal);
// Adds what reads the content of a layer; false, and nothing is added, if no encoding reads it.
bool complete(std::span<const Acting> acting, const Positions& places, const Content& content, Plan& plan);
// From the gradient of a plan to those of parameters (dw of `acting`), and of content.
void compile_backward(std::span<const Acting> acting, const Positions& places, const Plan& plan,
                      const Plan& dplan);
struct PlanAt {
  Positions places;
  const Content& content;
};
void complete_backward(std::span<const Acting> acting, const PlanAt& at, const Plan& plan, const Plan& dplan,
                       ContentGrad& grad);

bool reads_content(std::span<const Acting> acting);

// The plan of encodings of one shape whose parameters and content are all 0: what is there, not which numbers.
Plan outline(std::span<const Encoding* const> encodings, const Placement& places);
// In words, a line for each stage that something happens in, in their order: "steps of q, k   rotate pairs ...".
std::string describe(const Plan& plan);

}  // namespace gnomon
