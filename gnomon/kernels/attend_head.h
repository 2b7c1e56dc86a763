#pragma once
#include "gnomon/kernels/attend.h"

namespace gnomon {

// One head of one sequence, as the kernel sees it. Term pointers are null when the term is absent; each points at what
// belongs to this head.
struct HeadTerms {
  std::int64_t first_distance, distances;
  float *by_distance, *by_query, *by_key, *query_cross, *key_cross, *value;
  std::int64_t profile_width;
  float *profile_query, *profile;
  std::int64_t pieces;
  float *curve_rate, *curve_by_token, *curve_knots, *curve_slope, *curve_intercept;
  float *tilt, *tilt_query, *tilt_key;
  std::int64_t forget_width;
  float *forget_query, *forget_key;
  std::int64_t count;
  float* counted;
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
struct HeadTask {
  AttendShape shape;
  Strided<float> q, k, v, out, dout, dq, dk, dv;
  float* lse;
  const std::uint8_t* padding;
  const std::int32_t *first_key, *end_key;  // of this sequence, indexed by token; or null
  const double* places;                     // likewise
  double far_from;
  Weighting weights;
  HeadTerms terms, dterms;
  HeadExtras extras;
};

// The network that mixes the heads of a sequence.
struct MixTask {
  std::int64_t H, hidden;
  float *up, *up_bias, *down, *down_bias, *size, *rate;  // rate: or null
  float *dup, *dup_bias, *ddown, *ddown_bias, *dsize, *drate;
};

}  // namespace gnomon
