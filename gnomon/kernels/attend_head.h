#pragma once
#include "gnomon/kernels/attend.h"

namespace gnomon {

// One head of one sequence, as the kernel sees it. Steps are distances between rows. Term pointers are null
// when the term is absent; by_distance and its like point at the row of this head.
struct Rows {
  float* data;
  std::int64_t step;
  float* at(std::int64_t t) const { return data + t * step; }
};
struct HeadTerms {
  std::int64_t first_distance, distances;
  float *by_distance, *by_query, *by_key, *query_cross, *key_cross, *value;
};
struct HeadTask {
  AttendShape shape;
  Rows q, k, v, out, dout, dq, dk, dv;
  float* lse;
  const std::uint8_t* padding;
  HeadTerms terms, dterms;
};

}  // namespace gnomon
