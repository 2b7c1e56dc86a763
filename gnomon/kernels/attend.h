#pragma once
#include <cstdint>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/kernels/attend_shape.h"
#include "gnomon/kernels/rows.h"
#include "gnomon/kernels/terms/list.h"

namespace gnomon {

// Everything that position adds to attention, as plain arrays. It is the records of all kinds of terms (terms/list.h), whose
// files say what each array does, and what the kinds share. An empty array is absent. B sequences, H
// heads, query i, key j, distance δ = p_i − p_j of their places; column r of an array over distances is
// δ = first_distance + r. A gradient of Terms is a Terms of the same shapes. s starts as the *score*,
// scale·content_scale·q_i·k_j; all that is added sees the score at most, so the order of terms is nothing.
struct Terms : TermRecords<TermKinds> {
  std::int64_t first_distance = 0;
  std::int64_t distances = 0;  // R
  // Factor of scale·q·k, before anything is added. DeBERTa, TUPE
  float content_scale = 1;
  // (B,tokens), or (1,tokens) for all: query i sees the keys first_key[i] ≤ j < end_key[i] and no others.
  // Both do not fall with i (where they do, what is seen is not defined). Packed documents, windows, chunks
  std::vector<std::int32_t> first_key, end_key;
  // (B,tokens), or (1,tokens): the places p of the tokens, whole numbers where arrays over distances are. Empty: they
  // follow each other by 1.
  std::vector<double> places;

  bool over_distances() const;  // some array is over distances
  bool mixes() const { return !mix_down.empty(); }
  Terms zeros() const;  // the arrays of numbers, of the same shapes, filled with 0; no masks and no places
  void add(const Terms& other);  // its arrays of numbers to those that this has
  bool operator==(const Terms&) const = default;
};

// out = softmax(scale·q·kᵀ + terms, then extras)·(v + value term). q (B,H,queries,K), k (B,kv_heads,keys,K), v
// (B,kv_heads,keys,D), out (B,H,queries,D). lse (B,H,queries): natural log of Σ exp(logit), with the sink; −∞ for a query
// that sees no key and has no sink. The row of out of a query that sees no key is 0. Online softmax over tiles (Milakov, Gimelshein 2018, arXiv 1805.02867; Dao 2022, arXiv
// 2205.14135): no (queries, keys) matrix in memory. Extra memory a thread: O((queries+keys)·(K+D)), and H times
// that where the heads are mixed. Cross and value terms are slow with places. Throws
// Error(usage) for extents, steps and terms that do not fit each other (attend_check.h). That q, k, v, out, lse and
// padding are as large as the shape says is the caller's duty: they are pointers.
// A weight below 2^−100 of the largest that was met is 0, unless a number of q, k, v or the terms is 2^50 or more.
// NaN in, NaN out: where a logit that a query sees is NaN, +∞ or a product beyond float32, its lse, its row of out and
// all gradients that depend on them are NaN. −∞ in by_distance, by_query or by_key only hides a key. What a query
// does not see changes no bit of its row: the future, another document, a key that padding, mask or a bias of −∞ hides.
void attend(const AttendShape& shape, Heads<const float> q, Heads<const float> k, Heads<const float> v,
            const Terms& terms, Heads<float> out, float* lse, const Extras& extras = {});

// What attend was given and returned, and the gradient of its output.
struct AttendResult {
  Heads<const float> q, k, v, out;
  const float* lse;
  Heads<const float> dout;
  Extras extras = {};
};
// dq, dk, dv are overwritten; the arrays that dterms has, of the shapes of the terms, are added to. With kv_heads, dk and
// dv sum over the query heads of a group, in their order: that takes O(B·H·keys·(K+D)) more memory. Throws as attend().
struct AttendGrad {
  Heads<float> dq, dk, dv;
  Terms* dterms;
  ExtrasGrad dextras = {};
};
void attend_backward(const AttendShape& shape, const AttendResult& forward, const Terms& terms,
                     const AttendGrad& grad);

}  // namespace gnomon
