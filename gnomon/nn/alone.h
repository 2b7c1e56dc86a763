#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "gnomon/nn/attention.h"

namespace gnomon {

// Rotations and bias tables, for callers with their own attention: the encodings, the positions of tokens, and the parameters w.
struct Alone {
  const Attention& attention;
  const Placement& places;
  std::span<const float> w;
};

// The number of channels that the encodings append to rows of q and k; 0 for the other roles.
std::int64_t added_channels(const Attention& attention, Role role);

// Maps rows of one role in place, as attention does: it rotates them. rows (B, heads or kv_heads, tokens, channels of the head +
// added_channels(), which are overwritten), in any number type. Throws Error(usage) if rows and places differ in tokens, and for
// encodings that read the content of a layer.
void map_rows(const Alone& at, Role role, const View& rows);

// `found`: the rows before map_rows(); needed only if the map has learned parameters, otherwise its data may be null. d: on entry
// the gradient of the rows after map_rows(), on return that of the rows before. dw is added to; empty: not computed.
struct RowGradients {
  ConstView found;
  View d;
  std::span<float> dw = {};
};
void map_rows_backward(const Alone& at, Role role, const RowGradients& to);

// Writes table (heads,queries,tokens): what the encodings add to the logit of query i and key j, or −∞ if the query does not see
// the key. The queries are the tokens first, first + 1 … of one sequence. Throws Error(usage) for encodings whose bias depends on
// content.
struct AloneQueries {
  std::int64_t first, queries;
};
void logit_table(const Alone& at, const AloneQueries& of, float* table);

// Returns the vectors of an input encoding, such as "sinusoidal(layout=halves)", at these places: (rows·T,width). Its training
// length is the number of tokens, so a learned table has one row per token. w: its parameters, in the order of params(); empty:
// the initial values of seed 0. Throws Error(usage) for text that is not an input encoding, impossible sizes, and a wrong number
// of parameters.
Floats position_vectors(std::string_view encoding, std::int64_t width, const Placement& places,
                        std::span<const float> w = {});

// Draws the positions of one sequence in place with a sampler, such as "randomised(most=2048)". Its training length is the number
// of tokens. Throws Error(usage) for text that is not a sampler of positions.
struct PositionDraw {
  std::uint64_t seed, number;  // the same seed and number draw the same positions
  bool training = true;
};
void sample_positions(std::string_view sampler, const PositionDraw& draw, std::span<double> row);

}  // namespace gnomon
