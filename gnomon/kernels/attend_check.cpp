#include "gnomon/kernels/attend_check.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/kernels/attend_rows.h"

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
  std::int64_t least, most;
};
Range distances_of(const AttendShape& s, const Terms& t) {
  const std::int64_t first_query = s.place(0), nearest = first_query - (s.keys - 1);
  if (t.places.empty())
    return {s.causal ? std::max<std::int64_t>(0, nearest) : nearest, s.place(s.queries) - 1};
  Range r{kFarthest, -kFarthest};
  for (std::size_t begin = 0; begin < t.places.size(); begin += std::size_t(s.keys)) {
    const std::int64_t* p = &t.places[begin];
    const auto [low, high] = std::minmax_element(p, p + s.keys);
    check_extents("attend", {{"the least of terms.places", *low, -kFarthest, kFarthest},
                             {"the largest of terms.places", *high, -kFarthest, kFarthest}});
    std::int64_t least = s.causal ? *p : *low, most = s.causal ? *p : *high;  // of the keys seen so far
    for (std::int64_t i = 0; i < s.keys; ++i) {
      least = std::min(least, p[i]), most = std::max(most, p[i]);
      if (i >= first_query) r = {std::min(r.least, p[i] - most), std::max(r.most, p[i] - least)};
    }
  }
  return r;
}

void check_distances(const AttendShape& s, const Terms& t) {
  if (!t.over_distances() || s.queries == 0 || s.keys == 0) return;
  const Range needed = distances_of(s, t);
  const std::int64_t last = t.first_distance + t.distances - 1;
  if (needed.most < needed.least) return;  // every query stands before all keys
  if (t.first_distance <= needed.least && needed.most <= last) return;
  throw Error(Fault::usage, text("attend: terms cover the distances ", t.first_distance, "..", last,
                                 ", attention needs ", needed.least, "..", needed.most));
}

}  // namespace

void check_shape(const AttendShape& s) {
  check_extents("attend", {{"B", s.B, 0, kMostTokens},
                           {"H", s.H, 0, kMostHeads},
                           {"keys", s.keys, 0, kMostTokens},
                           {"queries", s.queries, 0, s.first ? kMostTokens : s.keys},
                           {"first", s.first.value_or(0), -kMostTokens, kMostTokens},
                           {"kv_heads", s.kv_heads, 0, kMostHeads},
                           {"K", s.K, 1, kMostWidth},
                           {"D", s.D, 1, kMostWidth},
                           {"beside", s.beside, 0, kMostWidth},
                           {"query_tile", s.query_tile, 0, kMostTile},
                           {"key_tile", s.key_tile, 0, kMostTile}});
  count_numbers("attend", {s.B, s.H, std::max(s.queries, s.keys), s.K + s.beside + s.D});
  if (s.kv_heads != 0 && s.H % s.kv_heads != 0)
    throw Error(Fault::usage, text("attend: kv_heads is ", s.kv_heads,
                                   "; allowed are 0 and the divisors of the number of heads, ", s.H));
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
  expect(t.value, "terms.value", {s.H, t.distances, s.D});
  one_or_each(s, t.first_key.size(), "first_key");
  one_or_each(s, t.end_key.size(), "end_key");
  one_or_each(s, t.places.size(), "places");
  const bool by_token = !(t.first_key.empty() && t.end_key.empty() && t.places.empty());
  if (by_token && (s.place(0) < 0 || s.place(s.queries) > s.keys)) {
    throw Error(Fault::usage,
                text("attend: terms say something of each of ", s.keys, " tokens; the queries stand at ",
                     s.place(0), "..", s.place(s.queries) - 1, ", allowed are 0 to ", s.keys - 1));
  }
  check_distances(s, t);
  for (const auto& rule : t.rules) {
    if (!rule) throw Error(Fault::usage, "attend: one of terms.rules is null");
  }
  // The cross term of a query is divided by the scale, because the query carries it.
  const float scale = s.scale * t.content_scale;
  if (!std::isfinite(scale) || (!t.query_cross.empty() && !std::isfinite(1 / scale))) {
    throw Error(Fault::usage, text("attend: scale·content_scale is ", scale,
                                   "; allowed is a finite number, and none so near 0 with a query_cross"));
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
  if (!by_rows(t)) return;
  const auto refuse = [](std::string_view what) {
    throw Error(Fault::usage, text("attend: rules, and terms over places that do not follow each other by 1, "
                                   "go by rows, which does not know ",
                                   what, "; allowed are tiles: no rules and no places"));
  };
  if (s.of_keys().H != s.H) refuse(text("kv_heads (", s.kv_heads, " for ", s.H, " heads)"));
  if (s.place(0) != s.keys - s.queries)
    refuse(text("first (", s.place(0), ", the last ones are at ", s.keys - s.queries, ")"));
  if (x.of_pairs() || x.sinks) refuse("a soft-cap, a bias or mask of the caller, or sinks");
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
    const auto same = [](const Floats& array, const Floats& of, std::string_view name) {
      if (!array.empty()) check_size("attend_backward", name, array.size(), std::int64_t(of.size()));
    };
    same(d->by_distance, t.by_distance, "dterms.by_distance");
    same(d->by_query, t.by_query, "dterms.by_query");
    same(d->by_key, t.by_key, "dterms.by_key");
    same(d->query_cross, t.query_cross, "dterms.query_cross");
    same(d->key_cross, t.key_cross, "dterms.key_cross");
    same(d->value, t.value, "dterms.value");
    if (d->over_distances() && (d->first_distance != t.first_distance || d->distances != t.distances)) {
      throw Error(Fault::usage,
                  text("attend_backward: dterms are for ", d->distances, " distances from ",
                       d->first_distance, " on, terms for ", t.distances, " from ", t.first_distance));
    }
  }
  if (!grad.drules) return;
  check_size("attend_backward", "drules", grad.drules->size(), std::int64_t(t.rules.size()));
  for (std::size_t r = 0; r < t.rules.size(); ++r)
    check_size("attend_backward", text("drules[", r, "]"), (*grad.drules)[r].size(),
               t.rules[r]->param_count());
}

}  // namespace gnomon
