#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "gnomon/core/array.h"
#include "gnomon/kernels/attend_shape.h"

namespace gnomon {

// A *kind* of term of the logits is a record: a struct with its arrays, from which Terms derives, in a file of its own. The
// file says, once for everybody who treats terms (attend, its check, the key cache, `+`, plans in words, Python):
//
//   kFacts                     what others must know of it
//   kArrays                    its arrays that have gradients, with their extents
//   kFixed                     arrays without
//   kWidth, own(s), given(), check(s)             where there is something to say
//   cached_product(pair, s), cached_late(pair, s), cached_value(pair, p, out)
//                              what it adds in attention to a key cache, where it is given; a kind with none is refused there
//   AtWork<Kind>               under attend.cpp alone: both directions of its inner loop (attend_terms-inl.h)

// What an axis of an array counts.
enum class Dim {
  none,  // the array has fewer axes
  sequences,
  heads,
  both,       // 2H: two numbers of each head
  rows,       // 1 for all sequences, or B
  queries,    // of the call
  tokens,     // all tokens of the sequence, each as the query that it is
  keys,       // likewise, as keys
  distances,  // R
  K,          // width of q and k
  D,          // width of v
  own         // what the kind says: own()
};
using Dims = std::array<Dim, 4>;

// An array of a kind. Its name is that of the member: errors, plans and Python say it.
template <class Kind>
struct ArrayOf {
  std::string_view name;
  Floats Kind::*at;
  Dims dims = {};
  // It is there exactly when this one of its kind is, or only then; null: that one, or one that stands alone.
  Floats Kind::*with = nullptr;
  bool optional = false;
};
// A number of a kind that is an extent of its arrays; at most kMostWidth.
template <class Kind>
struct WidthOf {
  std::string_view name;
  std::int64_t Kind::*at;
};

// What a term reads inside attention, beside its own arrays: nothing; the rows of q and k as projected, which no step may
// change; the scores; other channels of q and k, for another score; all logits of a row.
enum class TermReads { nothing, rows, scores, other_channels, logits };

struct TermFacts {
  std::string_view name;
  // A plan has room for it once: what two encodings would both do. Empty: those of several are added up.
  std::string_view once = {};
  TermReads reads = TermReads::nothing;
  bool divides_by_scale = false;  // it multiplies queries that carry the scale, so it is divided by that
  bool mixes_heads = false;       // the heads of a sequence are computed together
};

// A query and a cached key: what is little beside reading the keys, so kinds add it one number after the other.
struct CachedPair {
  const AttendShape& s;
  std::int64_t bh, i, j;  // b·H + head of the query; the query; the key, counted from the oldest
  std::int64_t at;        // head·R + the column of their distance
  const float *q, *k;     // (K), as they came; number c of the key is k[c·step]
  std::int64_t step;
};

template <class... Kinds>
struct KindList {};
template <class List>
struct TermRecords;
template <class... Kinds>
struct TermRecords<KindList<Kinds...>> : Kinds... {
  bool operator==(const TermRecords&) const = default;
};

}  // namespace gnomon
