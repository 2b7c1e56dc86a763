#include "gnomon/c/handles.h"

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"

namespace gnomon::c {
namespace {

// An array with as many numbers as is said beside it.
void check_array(std::string_view name, const void* data, std::int64_t count) {
  check_extents(name, {{"count", count, 0, kMostNumbers}});
  check_pointers("gnomon", count, {{name, data}});
}

Projections<const float> read_projections(const gnomon_projections& p) {
  return {p.q, p.k, p.q_bias, p.k_bias};
}

}  // namespace

View view_of(std::string_view name, const gnomon_view& v) {
  // Before it is narrowed: 256 is not float32.
  if (v.number < GNOMON_FLOAT32 || v.number > GNOMON_FLOAT16)
    throw Error(Fault::usage,
                text(name, ": found number type ", v.number, "; allowed are float32, bfloat16 and float16"));
  View view{v.data, Number(v.number), {}, {}};
  std::copy_n(v.extents, 4, view.extents.begin());
  std::copy_n(v.steps, 4, view.steps.begin());
  return view;
}

Placement placement_of(const gnomon_places& given) {
  const gnomon_places p = known("places", &given);
  check_extents("places", {{"rows", p.rows, 1, kMostTokens}, {"tokens", p.tokens, 1, kMostTokens}});
  if (!p.positions) {
    check_extents("places without positions", {{"rows", p.rows, 1, 1}, {"axes", p.axes, 1, 1}});
    Placement consecutive = Placement::consecutive(0, p.tokens);
    if (p.documents) consecutive.document.assign(p.documents, p.documents + p.tokens);
    if (p.padding) consecutive.padding.assign(p.padding, p.padding + p.tokens);
    consecutive.check();
    return consecutive;
  }
  check_extents("places", {{"axes", p.axes, 1, 4}});
  const std::int64_t tokens = count_numbers("places", {p.rows, p.tokens});
  check_extents("places", {{"rows times tokens", tokens, 1, kMostTokens}});
  Placement placement =
      Placement::of(std::vector<double>(p.positions, p.positions + tokens * p.axes), p.rows, p.axes);
  if (p.documents) placement.document.assign(p.documents, p.documents + tokens);
  if (p.padding) placement.padding.assign(p.padding, p.padding + tokens);
  placement.check();
  return placement;
}

std::span<const float> parameters_of(const float* data, std::int64_t count) {
  check_array("parameters", data, count);
  return {data, std::size_t(count)};
}
std::span<float> parameter_gradients_of(float* data, std::int64_t count) {
  if (!data && count == 0) return {};
  check_array("dparameters", data, count);
  return {data, std::size_t(count)};
}

Input::Input(const gnomon_attention_input* given) {
  const gnomon_attention_input g = known("input", given);
  if (g.places) places = placement_of(*g.places);
  projections = read_projections(g.projections);
  in.q = const_view_of("q", g.q), in.k = const_view_of("k", g.k), in.v = const_view_of("v", g.v);
  in.places = places ? &*places : nullptr;
  if (g.first != GNOMON_LAST_QUERIES) in.first = g.first;
  in.firsts = g.firsts;
  in.left = g.left, in.right = g.right;
  in.w = parameters_of(g.parameters, g.parameter_count);
  in.padding = g.padding;
  in.bias = pairs_of<const float>(g.bias);
  in.mask = pairs_of<const std::uint8_t>(g.mask);
  in.sinks = g.sinks;
  in.x = const_view_of("x", g.x);
  if (projections.q || projections.k || projections.q_bias || projections.k_bias) {
    need("projections.q", projections.q), need("projections.k", projections.k);
    need("projections.q_bias", projections.q_bias), need("projections.k_bias", projections.k_bias);
    in.projections = &projections;
  }
}

}  // namespace gnomon::c
