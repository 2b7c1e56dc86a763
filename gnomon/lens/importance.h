#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "gnomon/lens/stream.h"

namespace gnomon {

// How much of the row-centred logits some of the terms make, query by query: what shares of heads, or of kinds of queries, are
// made of. share = Σ part / Σ whole over the queries in question, Cov(terms, sum)/Var(sum) as in term_shares().
struct RowParts {
  Matrix part, whole;  // (heads, windows·T): of each query Σ_j terms·sum and Σ_j sum²
  double share(std::int64_t head) const;
};
// The terms as in term_maps(): chosen(query component, key component), the last component is the biases. Throws Error(usage)
// as it does.
RowParts row_parts(const Trained& m, std::int64_t layer, const std::vector<Matrix>& components,
                   std::int64_t T, const std::function<bool(std::size_t, std::size_t)>& chosen);

// A difference between shares, and its mean where what is compared was exchanged at random within every window: how large
// chance alone makes it. At least one draw, or Error(usage).
struct Exchanged {
  double found, by_chance;
};
// Between the heads with the largest and the least share; heads exchanged.
Exchanged between_heads(const RowParts& rows, std::int64_t T, std::int64_t draws, std::uint64_t seed);
// Between queries of a kind and the others, its size, mean over heads; queries exchanged. kind: one for each row of the
// sample; both kinds occur, or Error(usage). Queries at one place in their windows are exchanged with one another, since
// early rows are short.
Exchanged between_kinds(const RowParts& rows, const std::vector<bool>& kind, std::int64_t T,
                        std::int64_t draws, std::uint64_t seed);

}  // namespace gnomon
