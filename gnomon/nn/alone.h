#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "gnomon/nn/attention.h"

namespace gnomon {

// What position does alone, for those whose attention is their own: tokens at their places, under parameters.
struct Alone {
  const Attention& attention;
  const Placement& places;
  std::span<const float> w;
};

// Channels that the encodings append to rows of q and k; 0 for the other roles.
std::int64_t added_channels(const Attention& attention, Role role);

// The rows of a role through the steps of the plan, in place: (B, heads or kv_heads, tokens, channels of the head and
// added_channels(), which are overwritten), of any number type. Throws Error(usage) for rows that are not of as many tokens as
// the places, and for encodings that read the content of a layer.
void map_rows(const Alone& at, Role role, const View& rows);

// `found`: the rows as map_rows() found them, which only steps that learn read; else their data may be null. d comes in as
// the gradient of what it left and leaves as that of what it found. dw is added to; empty: not computed.
struct RowGradients {
  ConstView found;
  View d;
  std::span<float> dw = {};
};
void map_rows_backward(const Alone& at, Role role, const RowGradients& to);

// table (heads,queries,tokens): what the encodings add to the logit of query i and key j, whatever their content is; −∞ where
// the query does not see the key. The queries are the tokens first, first + 1 … of one sequence. Throws Error(usage) for
// encodings whose part of the logits depends on content.
struct AloneQueries {
  std::int64_t first, queries;
};
void logit_table(const Alone& at, const AloneQueries& of, float* table);

// (rows·T,width): the vectors that an encoding puts beside the words, such as "sinusoidal(layout=halves)", for tokens at these
// places, made for windows of as many tokens: a learned table has a row for each. w are its parameters, in the order of params();
// empty: as they start, by seed 0. Throws Error(usage) for text that
// is no encoding beside the words, sizes that cannot be, and another number of parameters.
Floats position_vectors(std::string_view encoding, std::int64_t width, const Placement& places,
                        std::span<const float> w = {});

// Positions of one sequence as a sampler, such as "randomised(most=2048)", draws them in a window of as many tokens, in place.
// Throws Error(usage) for text that is no sampler of positions.
struct PositionDraw {
  std::uint64_t seed, number;  // equal ones draw the same
  bool training = true;
};
void sample_positions(std::string_view sampler, const PositionDraw& draw, std::span<double> row);

}  // namespace gnomon
