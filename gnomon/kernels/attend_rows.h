#pragma once
#include "gnomon/kernels/attend.h"

namespace gnomon {

// The general way through attention, a few queries at a time with all their heads: for rules, which see whole
// rows, and for places that do not follow each other by 1, where a distance is not a difference of indices.
// The same contract as attend() and attend_backward(), which call these.
inline bool by_rows(const Terms& t) { return !t.rules.empty() || (!t.places.empty() && t.over_distances()); }
void attend_rows(const AttendShape& shape, Heads<const float> q, Heads<const float> k, Heads<const float> v,
                 const Terms& terms, Heads<float> out, float* lse);
void attend_rows_backward(const AttendShape& shape, const AttendResult& forward, const Terms& terms,
                          const AttendGrad& grad);

}  // namespace gnomon
