#pragma once
#include "gnomon/core/half.h"
#include "gnomon/kernels/attend.h"
#include "gnomon/kernels/rotate.h"

namespace gnomon {

// The kernels for rows stored in 16 bits: BFloat16 or Float16. Each number is widened once, the arithmetic is that of
// the float kernels, each result is rounded once. Positions, angles, terms and lse are never 16 bits wide. Extra
// memory O(tokens·width).
template <class S>
void rotate_stored(const Rotation& rotation, const RowLayout& rows, int sign, std::int64_t width, S* x);

template <class S>
void attend_stored(const AttendShape& shape, Heads<const S> q, Heads<const S> k, Heads<const S> v,
                   const Terms& terms, Heads<S> out, float* lse);
template <class S>
struct StoredResult {
  Heads<const S> q, k, v, out;
  const float* lse;
  Heads<const S> dout;
};
template <class S>
struct StoredGrad {
  Heads<S> dq, dk, dv;
  Terms* dterms;
};
template <class S>
void attend_stored_backward(const AttendShape& shape, const StoredResult<S>& forward, const Terms& terms,
                            const StoredGrad<S>& grad);

}  // namespace gnomon
