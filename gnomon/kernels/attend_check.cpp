#include "gnomon/kernels/attend_check.h"

#include <algorithm>
#include <cmath>
#include <string>

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
  throw Error(Fault::usage, text("attend: terms.", name, " has ", counted(size, "number"), "; allowed are ",
                                 s.keys, " (one row) and ", s.B * s.keys));
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
    throw Error(Fault::usage, text("attend: an entry of terms.places is ", shortest(p), "; allowed are ",
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
                                 "; attention needs ", shortest(needed.least), "..", shortest(needed.most)));
}

// The arrays of each kind, all there or none, with their extents.
void check_arrays(const AttendShape& s, const Terms& t) {
  for (const TermArray& a : kTermArrays) {
    if (!a.with || a.optional || (t.*a.at).empty() == (t.*a.with).empty()) continue;
    const auto* with = std::find_if(kTermArrays.begin(), kTermArrays.end(),
                                    [&](const TermArray& other) { return other.at == a.with; });
    throw Error(Fault::usage, text("attend: terms.", a.name, " has ", (t.*a.at).size(),
                                   " numbers, but terms.", with->name, " has ", (t.*a.with).size()));
  }
  for (const TermArray& a : kTermArrays) {
    const std::size_t size = (t.*a.at).size();
    if (size == 0) continue;
    if (a.of == TermOf::tokens) {
      one_or_each(s, size, a.name);
      continue;
    }
    const TermExtents extents = term_extents(s, t, a);
    const std::int64_t wanted = count_numbers("attend", std::span(extents).first(a.axes()));
    if (std::int64_t(size) != wanted) check_size("attend", text("terms.", a.name), size, wanted);
  }
}
void check_kinds(const AttendShape& s, const Terms& t) {
  for (const TermKind& kind : kTermKinds) {
    if (kind.width && (t.*kind.width < 0 || t.*kind.width > kMostWidth))
      check_extents("attend", {{text("terms.", kind.width_name), t.*kind.width, 0, kMostWidth}});
    kind.check(s, t);
  }
}

// What multiplies a query beside is divided by the scale, because the query carries it.
void check_scale(const AttendShape& s, const Terms& t) {
  const float scale = s.scale * t.content_scale;
  const bool divides = any_term(t, [](const TermKind& kind) { return kind.facts.divides_by_scale; });
  if (std::isfinite(scale) && (!divides || std::isfinite(1 / scale))) return;
  std::string names;
  for (const TermKind& kind : kTermKinds) {
    if (kind.facts.divides_by_scale) names += text(names.empty() ? "" : " or ", kind.facts.name);
  }
  throw Error(Fault::usage,
              text("attend: scale·content_scale is ", scale,
                   "; allowed is a finite number, and not one this near 0 with the terms ", names));
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
    check_extents("attend", {{"an entry of firsts", s.firsts[b], -kMostTokens, kMostTokens}});
  if (!std::isfinite(s.scale))
    throw Error(Fault::usage, text("attend: scale is ", s.scale, "; allowed is a finite number"));
}

void check_terms(const AttendShape& s, const Terms& t) {
  check_extents("attend", {{"terms.first_distance", t.first_distance, -kFarthest, kFarthest},
                           {"terms.distances", t.distances, 0, 2 * kMostTokens}});
  check_kinds(s, t);
  check_arrays(s, t);
  one_or_each(s, t.first_key.size(), "first_key");
  one_or_each(s, t.end_key.size(), "end_key");
  one_or_each(s, t.places.size(), "places");
  const bool by_token =
      !(t.first_key.empty() && t.end_key.empty() && t.places.empty()) || any_array_over(t, Dim::tokens);
  if (by_token && (s.place(0) < 0 || s.place(s.queries) > s.keys)) {
    throw Error(Fault::usage,
                text("attend: terms have an entry for each of ", s.keys, " tokens; the queries stand at ",
                     s.place(0), "..", s.place(s.queries) - 1, "; allowed are 0 to ", s.keys - 1));
  }
  if (s.firsts && (by_token || t.over_distances() || t.FarTerm::given()))
    throw Error(Fault::usage,
                "attend: firsts is given; terms by distance or token need queries at the same place in every "
                "sequence");
  check_places(t);
  check_distances(s, t);
  check_scale(s, t);
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
    throw Error(Fault::usage,
                text("attend: soft_cap is ", x.soft_cap,
                     "; allowed are 0 and numbers above 0 that are finite and have a finite inverse"));
  }
  check_pairs(s, "bias", x.bias), check_pairs(s, "mask", x.mask);
  check_pairs(s, "logits", x.logits), check_pairs(s, "instead", x.instead);
  if (t.weights != Weighting::softmax && x.sinks)
    throw Error(
        Fault::usage,
        "attend: sinks are given with stick-breaking weights, which have no softmax; allowed is null");
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
      throw Error(Fault::usage, text("attend_backward: dterms are for ", d->distances, " distances from ",
                                     d->first_distance, " on, but terms are for ", t.distances,
                                     " distances from ", t.first_distance));
    }
  }
}

}  // namespace gnomon
