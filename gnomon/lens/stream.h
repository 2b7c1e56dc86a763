#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "gnomon/lens/matrix.h"
#include "gnomon/nn/trained.h"

namespace gnomon {

// Losses of scored targets, added up.
struct Scored {
  double sum = 0, count = 0;
  void add(std::span<const float> losses, std::span<const std::int32_t> targets);
  double mean() const;  // throws Error(usage) where no target was scored
};

// Directions of the residual stream in which every row becomes the same: h − (h − centre)·U·Uᵀ.
struct Erasure {
  std::int64_t layer;          // what enters it; the number of layers: what leaves the last
  Matrix basis;                // U (C,r), orthonormal columns
  std::vector<double> centre;  // C numbers
};

// What is done to the residual stream while it passes.
struct Surgery {
  std::int64_t cut = -1;             // after this layer only what the layer wrote goes on: h_out − h_in
  bool no_attention = false;         // attention writes nothing, in any layer
  const Erasure* erasure = nullptr;  // before what a cut looks at
  const Matrix* removed = nullptr;   // (T,C): the cut takes this out and no more, h_out − removed
};

// The residual stream of every window: [l] what enters layer l, the last what the last layer left; rows (windows·T, C).
std::vector<Matrix> streams(const Trained& m, const Sample& sample, const Surgery& surgery = {});
// What each part wrote into it: words and positions (layer 0's input split; positions as the combination adds them),
// then attention and feed-forward of every layer. Rows as above. They add up to the stream: so it refuses position
// vectors that enter again before later layers.
struct Written {
  Matrix word, position;
  std::vector<Matrix> attention, feed_forward;
};
Written written(const Trained& m, const Sample& sample);
// Mean loss in nats of the scored targets, at least one; losses of each token, if asked for.
double mean_loss(const Trained& m, const Sample& sample, const Surgery& surgery = {},
                 std::vector<float>* losses = nullptr);
// The same with one tap (nn/taps.h): look(first row of the batch, value).
double mean_loss(const Trained& m, const Sample& sample, const std::string& tap,
                 const std::function<void(std::int64_t row, TapValue& value)>& look);
// Logits (windows·T, vocabulary).
Matrix logits(const Trained& m, const Sample& sample);
// A parameter as a matrix: its first extent by the rest.
Matrix parameter(const Trained& m, std::string_view name);

// Where the variance of rows (S·T, C) about their mean lies: in the position (means over sequences), in the token
// (means over its occurrences), in neither. Shares of the total; corrected for what means of finitely many rows carry
// by chance, for which there must be more rows than positions and tokens. After Song, Zhong 2023 (https://arxiv.org/abs/2310.04861).
struct VarianceShares {
  double position, token, rest;
};
VarianceShares variance_shares(const Matrix& rows, const Sample& sample);
// The parts themselves: h = mean + position_t + token_w + rest.
struct VarianceParts {
  Matrix position, token;  // (T,C); (1 + largest token, C), zero for tokens that do not occur
};
VarianceParts variance_parts(const Matrix& rows, const Sample& sample);

}  // namespace gnomon
