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
// What of the extras is this head's: bias and mask of query 0, with the distance to those of the next query.
struct HeadExtras {
  bool of_pairs;
  float soft_cap, sink;  // sink −∞: none
  Strided<const float> bias;
  Strided<const std::uint8_t> mask;
  Strided<float> dbias;
  double* dsink;
};
struct HeadTask {
  AttendShape shape;
  Rows q, k, v, out, dout, dq, dk, dv;
  float* lse;
  const std::uint8_t* padding;
  const std::int32_t *first_key, *end_key;  // of this sequence, indexed by token; or null
  HeadTerms terms, dterms;
  HeadExtras extras;
};

// A share of the queries of one sequence. dk (H,keys,K+beside), dv (H,keys,D), each row rounded up to whole
// vectors, dterms and drules are this share's own; dk is null in the forward pass.
struct RowsTask {
  AttendShape shape;
  std::int64_t b, piece, pieces;
  Heads<const float> q, k, v, dout, forward_out;
  Heads<float> out, dq;
  float* lse;  // (H,queries)
  const std::uint8_t* padding;
  const Terms* terms;
  Terms* dterms;
  std::vector<Floats>* drules;
  float *dk, *dv;
};

}  // namespace gnomon
