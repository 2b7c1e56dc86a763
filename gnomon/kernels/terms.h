#pragma once
#include <array>
#include <string_view>

#include "gnomon/kernels/attend.h"

namespace gnomon {

// The arrays of Terms that have gradients, for what is done with each of them. Who adds to the gradient of one: each
// head of each sequence to numbers of its own; to numbers of the head, which sequences share; to one row of tokens, which
// heads share and perhaps sequences; to all of it.
enum class TermOf { head_of_sequence, head, tokens, all };
struct TermArray {
  std::string_view name;
  Floats Terms::*at;
  TermOf of;
};
inline constexpr std::array<TermArray, 24> kTermArrays{{
    {"by_distance", &Terms::by_distance, TermOf::head},
    {"by_query", &Terms::by_query, TermOf::head_of_sequence},
    {"by_key", &Terms::by_key, TermOf::head_of_sequence},
    {"query_cross", &Terms::query_cross, TermOf::head},
    {"key_cross", &Terms::key_cross, TermOf::head},
    {"profile_query", &Terms::profile_query, TermOf::head_of_sequence},
    {"profile", &Terms::profile, TermOf::head},
    {"value", &Terms::value, TermOf::head},
    {"curve_rate", &Terms::curve_rate, TermOf::all},
    {"curve_by_token", &Terms::curve_by_token, TermOf::tokens},
    {"curve_slope", &Terms::curve_slope, TermOf::head},
    {"curve_intercept", &Terms::curve_intercept, TermOf::head},
    {"tilt", &Terms::tilt, TermOf::head},
    {"tilt_query", &Terms::tilt_query, TermOf::head_of_sequence},
    {"tilt_key", &Terms::tilt_key, TermOf::head_of_sequence},
    {"forget_query", &Terms::forget_query, TermOf::head_of_sequence},
    {"forget_key", &Terms::forget_key, TermOf::head_of_sequence},
    {"counted", &Terms::counted, TermOf::all},
    {"mix_up", &Terms::mix_up, TermOf::all},
    {"mix_up_bias", &Terms::mix_up_bias, TermOf::all},
    {"mix_down", &Terms::mix_down, TermOf::all},
    {"mix_down_bias", &Terms::mix_down_bias, TermOf::all},
    {"mix_size", &Terms::mix_size, TermOf::all},
    {"mix_rate", &Terms::mix_rate, TermOf::all},
}};

// The numbers of the arrays over distances, of a curve and of a network, from their sizes.
inline std::int64_t curve_pieces(const Terms& t) { return std::int64_t(t.curve_knots.size()) + 1; }
inline std::int64_t mix_hidden(const Terms& t) { return std::int64_t(t.mix_up_bias.size()); }

// Gradients of arrays that several tasks add to: each task sums into its own copy, and the copies are added in order, so
// that the bits do not depend on who finishes first. A task is a head of a sequence, or a sequence if heads are mixed.
class SharedGradients {
 public:
  SharedGradients(std::int64_t B, std::int64_t H, std::int64_t tokens, Terms& total);
  Terms& of_sequence(std::int64_t b) { return per_sequence_[std::size_t(b)]; }
  Terms& of_head(std::int64_t b, std::int64_t h) { return per_head_[std::size_t(b * H_ + h)]; }
  void collect();

 private:
  const std::int64_t H_, tokens_;
  Terms& total_;
  std::vector<Terms> per_sequence_, per_head_;
};

}  // namespace gnomon
