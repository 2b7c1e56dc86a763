#include "gnomon/kernels/attend_check.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"

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
  const std::int64_t first_query = s.keys - s.queries;
  if (t.places.empty()) return {s.causal ? 0 : 1 - s.queries, s.keys - 1};
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
  if (!t.over_distances() || s.queries == 0) return;
  const Range needed = distances_of(s, t);
  const std::int64_t last = t.first_distance + t.distances - 1;
  if (t.first_distance <= needed.least && needed.most <= last) return;
  throw Error(Fault::usage, text("attend: terms cover the distances ", t.first_distance, "..", last,
                                 ", attention needs ", needed.least, "..", needed.most));
}

}  // namespace

void check_shape(const AttendShape& s) {
  check_extents("attend", {{"B", s.B, 0, kMostTokens},
                           {"H", s.H, 0, kMostHeads},
                           {"keys", s.keys, 0, kMostTokens},
                           {"queries", s.queries, 0, s.keys},
                           {"K", s.K, 1, kMostWidth},
                           {"D", s.D, 1, kMostWidth},
                           {"beside", s.beside, 0, kMostWidth},
                           {"query_tile", s.query_tile, 0, kMostTile},
                           {"key_tile", s.key_tile, 0, kMostTile}});
  count_numbers("attend", {s.B, s.H, s.keys, s.K + s.beside + s.D});
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
