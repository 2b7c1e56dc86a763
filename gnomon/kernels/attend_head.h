#pragma once
#include <functional>
#include <span>

#include "gnomon/kernels/terms.h"

namespace gnomon {

// What belongs to one head of the arrays of Terms or of their gradients: null where there is none.
struct HeadArrays {
  std::array<float*, kTermArrays.size()> at{};
  // of<&TiltTerm::tilt>()
  template <auto array>
  float* of() const {
    constexpr std::size_t n = [] {
      std::size_t index = 0;
      while (kTermArrays[index].at != array) ++index;
      return index;
    }();
    return at[n];
  }
};
// What of the extras is this head's: bias and mask of query 0, with the distance to those of the next query.
struct HeadExtras {
  bool of_pairs;
  float soft_cap, sink;  // sink −∞: none
  Strided<const float> bias;
  Strided<const std::uint8_t> mask;
  Strided<float> dbias;
  double* dsink;
  Strided<float> logits;
  Strided<const float> instead;
  bool of_weights;
};
// A head of a sequence to be computed.
struct HeadTask {
  AttendShape shape;
  Strided<float> q, k, v, out, dout, dq, dk, dv;
  float* lse;
  const std::uint8_t* padding;
  const std::int32_t *first_key, *end_key;  // of this sequence, indexed by token; or null
  const double* places;                     // likewise
  std::int64_t sequence;                    // which of the call
  const Terms* given;                       // numbers beside the arrays
  HeadArrays terms, dterms;
  HeadExtras extras;
};
// Overwrites the tasks with those that are next; false: there are no more.
using NextTasks = std::function<bool(std::span<HeadTask>)>;

}  // namespace gnomon
