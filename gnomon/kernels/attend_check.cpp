#include "gnomon/kernels/attend_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms.h"

namespace gnomon {
namespace {

constexpr std::int64_t kMostTile = 4096;
constexpr std::int64_t kFarthest = std::int64_t{1}
                                   << 53;  // a place, a distance: whole numbers that are exact

// One row for all sequences, or a row for each.
void one_or_each(const AttendShape& s, std::size_t size, std::string_view name) {
  if (size == 0 || std::int64_t(size) == s.keys || std::int64_t(size) == s.B * s.keys) return;
  throw Error(Fault::usage, text("attend: terms.", name, " has ", size, " numbers for ", s.B,
                                 " sequences of ", s.keys, " tokens"));
}

// Distances that occur between a query and the keys that causality leaves it.
struct Range {
  double least, most;
};
Range distances_of(const AttendShape& s, const Terms& t) {
  const std::int64_t first_query = s.place(0), nearest = first_query - (s.keys - 1);
  if (t.places.empty())
    return {double(s.causal ? std::max<std::int64_t>(0, nearest) : nearest), double(s.place(s.queries) - 1)};
  Range r{double(kFarthest), -double(kFarthest)};
  for (std::size_t begin = 0; begin < t.places.size(); begin += std::size_t(s.keys)) {
    const double* p = &t.places[begin];
    const auto [low, high] = std::minmax_element(p, p + s.keys);
    double least = s.causal ? *p : *low, most = s.causal ? *p : *high;  // of the keys seen so far
    for (std::int64_t i = 0; i < s.keys; ++i) {
      least = std::min(least, p[i]), most = std::max(most, p[i]);
      if (i >= first_query) r = {std::min(r.least, p[i] - most), std::max(r.most, p[i] - least)};
    }
  }
  return r;
}
void check_places(const Terms& t) {
  const bool whole = t.over_distances();
  for (std::size_t n = 0; n < t.places.size(); ++n) {
    const double p = t.places[n];
    if (std::abs(p) <= double(kFarthest) && (!whole || p == std::floor(p))) continue;
    throw Error(Fault::usage, text("attend: a number of terms.places is ", shortest(p), "; allowed are ",
                                   whole ? "whole numbers" : "numbers", " within ±2^53"));
  }
}

void check_distances(const AttendShape& s, const Terms& t) {
  if (!t.over_distances() || s.queries == 0 || s.keys == 0) return;
  const Range needed = distances_of(s, t);
  const std::int64_t last = t.first_distance + t.distances - 1;
  if (needed.most < needed.least) return;  // every query stands before all keys
  if (double(t.first_distance) <= needed.least && needed.most <= double(last)) return;
  throw Error(Fault::usage, text("attend: terms cover the distances ", t.first_distance, "..", last,
                                 ", attention needs ", shortest(needed.least), "..", shortest(needed.most)));
}

// All of the named arrays are there, or none.
void together(std::initializer_list<std::pair<std::string_view, const Floats*>> arrays) {
  for (const auto& [name, array] : arrays) {
    if (array->empty() == arrays.begin()->second->empty()) continue;
    throw Error(Fault::usage, text("attend: terms.", name, " has ", array->size(), " numbers, and terms.",
                                   arrays.begin()->first, " has ", arrays.begin()->second->size()));
  }
}

void check_curve(const AttendShape& s, const Terms& t) {
  together({{"curve_rate", &t.curve_rate},
            {"curve_by_token", &t.curve_by_token},
            {"curve_slope", &t.curve_slope},
            {"curve_intercept", &t.curve_intercept}});
  if (t.curve_rate.empty()) return;
  check_size("attend", "terms.curve_rate", t.curve_rate.size(), 1);
  one_or_each(s, t.curve_by_token.size(), "curve_by_token");
  check_size("attend", "terms.curve_slope", t.curve_slope.size(),
             count_numbers("attend", {s.H, curve_pieces(t)}));
  check_size("attend", "terms.curve_intercept", t.curve_intercept.size(), s.H * curve_pieces(t));
  // NaN comes from parameters, and is for who reads the result.
  for (std::size_t n = 1; n < t.curve_knots.size(); ++n) {
    if (t.curve_knots[n] < t.curve_knots[n - 1])
      throw Error(Fault::usage, text("attend: terms.curve_knots fall from ", t.curve_knots[n - 1], " to ",
                                     t.curve_knots[n]));
  }
}

void check_mix(const AttendShape& s, const Terms& t) {
  together({{"mix_down", &t.mix_down},
            {"mix_up", &t.mix_up},
            {"mix_up_bias", &t.mix_up_bias},
            {"mix_down_bias", &t.mix_down_bias},
            {"mix_size", &t.mix_size}});
  if (!t.mixes()) return;
  const std::int64_t hidden = mix_hidden(t);
  check_size("attend", "terms.mix_up", t.mix_up.size(), count_numbers("attend", {hidden, 2 * s.H}));
  check_size("attend", "terms.mix_down", t.mix_down.size(), count_numbers("attend", {s.H, hidden}));
  check_size("attend", "terms.mix_down_bias", t.mix_down_bias.size(), s.H);
  check_size("attend", "terms.mix_size", t.mix_size.size(), s.H);
  if (!t.mix_rate.empty()) check_size("attend", "terms.mix_rate", t.mix_rate.size(), s.H);
}

// What reads q and k by more than their product.
void check_reading(const AttendShape& s, const Terms& t) {
  if (std::isnan(t.far_from) || (std::isfinite(t.far_from) && (s.beside < 1 || s.beside > s.K))) {
    throw Error(Fault::usage,
                text("attend: beside is ", s.beside, " and terms.far_from is ", shortest(t.far_from),
                     "; allowed are 1 to K = ", s.K, " channels with a distance, or infinity"));
  }
  if (!t.counted.empty() &&
      (std::int64_t(t.counted.size()) % s.D || std::int64_t(t.counted.size()) < 2 * s.D || s.D > s.K))
    throw Error(Fault::usage,
                text("attend: terms.counted has ", t.counted.size(),
                     " numbers; allowed are 2 rows or more of D = ", s.D, ", no wider than K = ", s.K));
}

}  // namespace

void check_shape(const AttendShape& s) {
  check_extents("attend", {{"B", s.B, 0, kMostTokens},
                           {"H", s.H, 0, kMostHeads},
                           {"keys", s.keys, 0, kMostTokens},
                           {"queries", s.queries, 0, s.first || s.firsts ? kMostTokens : s.keys},
                           {"first", s.first.value_or(0), -kMostTokens, kMostTokens},
                           {"kv_heads", s.kv_heads, 0, kMostHeads},
                           {"K", s.K, 1, kMostWidth},
                           {"D", s.D, 1, kMostWidth},
                           {"beside", s.beside, 0, kMostWidth},
                           {"left", s.left, -1, kMostTokens},
                           {"right", s.right, -1, kMostTokens},
                           {"query_tile", s.query_tile, 0, kMostTile},
                           {"key_tile", s.key_tile, 0, kMostTile}});
  count_numbers("attend", {s.B, s.H, std::max(s.queries, s.keys), s.K + s.beside + s.D});
  if (s.kv_heads != 0 && s.H % s.kv_heads != 0)
    throw Error(Fault::usage, text("attend: kv_heads is ", s.kv_heads,
                                   "; allowed are 0 and the divisors of the number of heads, ", s.H));
  for (std::int64_t b = 0; s.firsts && b < s.B; ++b)
    check_extents("attend", {{"a number of firsts", s.firsts[b], -kMostTokens, kMostTokens}});
  if (!std::isfinite(s.scale))
    throw Error(Fault::usage, text("attend: scale is ", s.scale, "; allowed is a finite number"));
}

void check_terms(const AttendShape& s, const Terms& t) {
  check_extents("attend", {{"terms.first_distance", t.first_distance, -kFarthest, kFarthest},
                           {"terms.distances", t.distances, 0, 2 * kMostTokens}});
  const auto expect = [](const Floats& array, std::string_view name,
                         std::initializer_list<std::int64_t> extents) {
    if (!array.empty()) check_size("attend", name, array.size(), count_numbers("attend", extents));
  };
  expect(t.by_distance, "terms.by_distance", {s.H, t.distances});
  expect(t.by_query, "terms.by_query", {s.B, s.H, s.queries});
  expect(t.by_key, "terms.by_key", {s.B, s.H, s.keys});
  expect(t.query_cross, "terms.query_cross", {s.H, t.distances, s.K});
  expect(t.key_cross, "terms.key_cross", {s.H, t.distances, s.K});
  check_extents("attend", {{"terms.profile_width", t.profile_width, 0, kMostWidth}});
  together({{"profile", &t.profile}, {"profile_query", &t.profile_query}});
  expect(t.profile, "terms.profile", {s.H, t.distances, t.profile_width});
  expect(t.profile_query, "terms.profile_query", {s.B, s.H, s.keys, t.profile_width});
  expect(t.value, "terms.value", {s.H, t.distances, s.D});
  one_or_each(s, t.first_key.size(), "first_key");
  one_or_each(s, t.end_key.size(), "end_key");
  one_or_each(s, t.places.size(), "places");
  const bool by_token =
      !(t.first_key.empty() && t.end_key.empty() && t.places.empty() && t.curve_rate.empty() &&
        t.tilt.empty() && t.forget_query.empty() && t.profile_query.empty());
  if (by_token && (s.place(0) < 0 || s.place(s.queries) > s.keys)) {
    throw Error(Fault::usage,
                text("attend: terms say something of each of ", s.keys, " tokens; the queries stand at ",
                     s.place(0), "..", s.place(s.queries) - 1, ", allowed are 0 to ", s.keys - 1));
  }
  if (s.firsts && (by_token || t.over_distances() || std::isfinite(t.far_from)))
    throw Error(Fault::usage,
                "attend: terms by distance or token are for queries that stand at the same place in every "
                "sequence: firsts is given");
  check_places(t);
  check_distances(s, t);
  check_curve(s, t);
  together({{"tilt", &t.tilt}, {"tilt_query", &t.tilt_query}, {"tilt_key", &t.tilt_key}});
  expect(t.tilt, "terms.tilt", {s.H});
  expect(t.tilt_query, "terms.tilt_query", {s.B, s.H, s.keys});
  expect(t.tilt_key, "terms.tilt_key", {s.B, s.H, s.keys});
  check_extents("attend", {{"terms.forget_width", t.forget_width, 0, kMostWidth}});
  together({{"forget_query", &t.forget_query}, {"forget_key", &t.forget_key}});
  expect(t.forget_query, "terms.forget_query", {s.B, s.H, s.keys, t.forget_width});
  expect(t.forget_key, "terms.forget_key", {s.B, s.H, s.keys, t.forget_width});
  check_mix(s, t);
  if (t.weights != Weighting::softmax && !s.causal)
    throw Error(Fault::usage, "attend: terms.weights break a stick; allowed is that with a causal mask only");
  check_reading(s, t);
  // What multiplies a query beside is divided by the scale, because the query carries it.
  const float scale = s.scale * t.content_scale;
  if (!std::isfinite(scale) || (!(t.query_cross.empty() && t.counted.empty()) && !std::isfinite(1 / scale))) {
    throw Error(Fault::usage,
                text("attend: scale·content_scale is ", scale,
                     "; allowed is a finite number, and none so near 0 with a query_cross or counted"));
  }
}

namespace {

// Numbers of pairs: whole rows of keys. Rows that are written may only be shared as a whole, by a step of 0.
template <class T>
void check_pairs(const AttendShape& s, std::string_view name, const PairRows<T>& x) {
  if (!x.data) return;
  const auto axis = [](std::int64_t extent, std::int64_t step) {
    return Axis{step == 0 ? std::min<std::int64_t>(extent, 1) : extent, step};
  };
  check_rows("attend",
             {name, x.data, s.keys, {{axis(s.B, x.batch), axis(s.queries, x.query), axis(s.H, x.head)}}},
             !std::is_const_v<T>);
}

}  // namespace

void check_extras(const AttendShape& s, const Terms& t, const Extras& x) {
  if (!(x.soft_cap >= 0 && std::isfinite(x.soft_cap) && (x.soft_cap == 0 || std::isfinite(1 / x.soft_cap)))) {
    throw Error(Fault::usage, text("attend: soft_cap is ", x.soft_cap,
                                   "; allowed are 0 and finite numbers above it, with their inverse"));
  }
  check_pairs(s, "bias", x.bias), check_pairs(s, "mask", x.mask);
  check_pairs(s, "logits", x.logits), check_pairs(s, "instead", x.instead);
  if (t.weights != Weighting::softmax && x.sinks)
    throw Error(Fault::usage,
                "attend: sinks are given where a stick is broken, which has no sum that they could stand in; "
                "allowed is null");
}

void check_extras_gradients(const AttendShape& s, const Extras& x, const ExtrasGrad& d) {
  check_pairs(s, "dbias", d.bias);
  const auto only_with = [](const void* gradient, const void* of, std::string_view name) {
    if (gradient && !of)
      throw Error(Fault::usage,
                  text("attend_backward: d", name, " is given without ", name, "; allowed is null"));
  };
  only_with(d.bias.data, x.bias.data, "bias"), only_with(d.sinks, x.sinks, "sinks");
}

void check_gradients(const Terms& t, const AttendGrad& grad) {
  if (const Terms* d = grad.dterms) {
    for (const TermArray& a : kTermArrays) {
      const Floats& array = d->*a.at;
      if (!array.empty())
        check_size("attend_backward", text("dterms.", a.name), array.size(), std::int64_t((t.*a.at).size()));
    }
    if (d->over_distances() && (d->first_distance != t.first_distance || d->distances != t.distances)) {
      throw Error(Fault::usage,
                  text("attend_backward: dterms are for ", d->distances, " distances from ",
                       d->first_distance, " on, terms for ", t.distances, " from ", t.first_distance));
    }
  }
}

}  // namespace gnomon
