#pragma once
#include <array>
#include <string_view>

#include "gnomon/kernels/attend.h"

// The records of all kinds of terms (terms/kind.h) as tables, for whoever does the same with each of them.
namespace gnomon {

template <class Kind>
concept CachedProduct = requires(const Kind& kind, const CachedPair& pair, float& s) {
  kind.cached_product(pair, s);
};
template <class Kind>
concept CachedLate = requires(const Kind& kind, const CachedPair& pair, float& s) {
  kind.cached_late(pair, s);
};
template <class Kind>
concept CachedValue = requires(const Kind& kind, const CachedPair& pair, float* out) {
  kind.cached_value(pair, 0, out);
};

struct TermKind {
  TermFacts facts;
  bool cached;  // attention to a key cache knows it
  std::string_view width_name;
  std::int64_t Terms::*width;  // null: it has none
  bool (*given)(const Terms&);
  std::int64_t (*own)(const AttendShape&, const Terms&);  // an extent of its arrays
  void (*check)(const AttendShape&, const Terms&);        // what it alone asks; throws Error(usage)
};
// Who adds to the gradient of an array: each head of each sequence to numbers of its own; to numbers of the head, which
// sequences share; to one row of tokens, which heads share and perhaps sequences; to all of it.
enum class TermOf { head_of_sequence, head, tokens, all };
struct TermArray {
  std::string_view name;
  Floats Terms::*at;
  Dims dims;
  Floats Terms::*with;  // as in ArrayOf
  bool optional;
  std::size_t kind;  // among kTermKinds
  TermOf of;
  constexpr bool over(Dim dim) const {
    for (const Dim d : dims) {
      if (d == dim) return true;
    }
    return false;
  }
  constexpr std::size_t axes() const {
    std::size_t n = 0;
    while (n < dims.size() && dims[n] != Dim::none) ++n;
    return n;
  }
};

struct TermFixed {
  std::string_view name;
  Floats Terms::*at;
};

// How the tables are made of the records.
template <class Kind>
struct TermRows {
  static constexpr bool given(const Terms& t) {
    const Kind& kind = t;
    if constexpr (requires { kind.given(); }) return kind.given();
    for (const ArrayOf<Kind>& a : Kind::kArrays) {
      if (!(kind.*a.at).empty() && (!a.with || a.with == a.at)) return true;
    }
    return false;
  }
  static constexpr std::int64_t own(const AttendShape& s, const Terms& t) {
    const Kind& kind = t;
    if constexpr (requires { kind.own(s); }) return kind.own(s);
    return 1;
  }
  static void check(const AttendShape& s, const Terms& t) {
    const Kind& kind = t;
    if constexpr (requires { kind.check(s); }) kind.check(s);
  }
  static constexpr bool kCached = CachedProduct<Kind> || CachedLate<Kind> || CachedValue<Kind>;
  static constexpr TermKind kind() {
    TermKind row{Kind::kFacts, kCached, {}, nullptr, given, own, check};
    if constexpr (requires { Kind::kWidth; }) row.width_name = Kind::kWidth.name, row.width = Kind::kWidth.at;
    return row;
  }
  static constexpr TermOf of(const Dims& dims) {
    if (Kind::kFacts.mixes_heads) return TermOf::all;
    if (dims[0] == Dim::sequences) return TermOf::head_of_sequence;
    if (dims[0] == Dim::heads) return TermOf::head;
    return dims[0] == Dim::rows ? TermOf::tokens : TermOf::all;
  }
  template <std::size_t size>
  static constexpr void add(std::array<TermArray, size>& all, std::size_t& n, std::size_t kind) {
    for (const ArrayOf<Kind>& a : Kind::kArrays)
      all[n++] = {a.name, a.at, a.dims, a.with, a.optional, kind, of(a.dims)};
  }
};
template <class Kind>
constexpr auto fixed_of() {
  if constexpr (requires { Kind::kFixed; })
    return Kind::kFixed;
  else
    return std::array<ArrayOf<Kind>, 0>{};
}
template <class... Kinds>
constexpr auto term_fixed(KindList<Kinds...>) {
  std::array<TermFixed, (fixed_of<Kinds>().size() + ...)> all{};
  std::size_t n = 0;
  const auto add = [&](const auto& arrays) {
    for (const auto& a : arrays) all[n++] = {a.name, a.at};
  };
  (add(fixed_of<Kinds>()), ...);
  return all;
}
template <class... Kinds>
constexpr auto term_kinds(KindList<Kinds...>) {
  return std::array{TermRows<Kinds>::kind()...};
}
template <class... Kinds>
constexpr auto term_arrays(KindList<Kinds...>) {
  std::array<TermArray, (Kinds::kArrays.size() + ...)> all{};
  std::size_t n = 0, kind = 0;
  (TermRows<Kinds>::add(all, n, kind++), ...);
  return all;
}
inline constexpr auto kTermKinds = term_kinds(TermKinds{});
inline constexpr auto kTermArrays = term_arrays(TermKinds{});  // those that have gradients
inline constexpr auto kTermFixed = term_fixed(TermKinds{});    // those that have none

// f(record), for each kind.
template <class... Kinds, class F>
void each_record(const TermRecords<KindList<Kinds...>>& terms, const F& f) {
  (f(static_cast<const Kinds&>(terms)), ...);
}
// Whether a kind is given of which this is true.
template <class F>
bool any_term(const Terms& terms, const F& is) {
  for (const TermKind& kind : kTermKinds) {
    if (is(kind) && kind.given(terms)) return true;
  }
  return false;
}
// Whether an array is given that has such an axis.
bool any_array_over(const Terms& terms, Dim dim);
// The extents of an array, 1 beyond its axes.
using TermExtents = std::array<std::int64_t, 4>;
TermExtents term_extents(const AttendShape& shape, const Terms& terms, const TermArray& array);

// Gradients of arrays that several tasks add to: each task sums into its own copy, and the copies are added in order, so
// that the bits do not depend on who finishes first. A task is a head of a sequence, or a sequence if heads are mixed.
class SharedGradients {
 public:
  SharedGradients(std::int64_t B, std::int64_t H, std::int64_t tokens, Terms& total);
  // The numbers that head h of sequence b adds to.
  Terms& of(const TermArray& array, std::int64_t b, std::int64_t h) {
    if (array.of == TermOf::head_of_sequence) return total_;
    return array.of == TermOf::head ? per_sequence_[std::size_t(b)] : per_head_[std::size_t(b * H_ + h)];
  }
  void collect();

 private:
  const std::int64_t H_, tokens_;
  Terms& total_;
  std::vector<Terms> per_sequence_, per_head_;
};

}  // namespace gnomon
