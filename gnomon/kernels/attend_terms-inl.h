// The kinds of terms at work in one head: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_TERMS_INL_H_
#undef GNOMON_KERNELS_ATTEND_TERMS_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_TERMS_INL_H_
#endif
#include <optional>

#include "gnomon/kernels/attend_cross-inl.h"
#include "gnomon/kernels/carry_chunks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// A kind of term in one head, in both directions. It is made where such a term is given (or its wanted(task) says so), when
// the keys are packed. What it packs is looked at by check_tame(). The head calls what it has of these, of all kinds in the
// order of the list:
//
//   begin_rows(i0, ni)          the queries of the next tiles are packed
//   learn(tile)                 logits_ are the score: sums along the keys, of which add() or by_score() needs the total first
//   begin_sums()                before each walk along the keys
//   by_score(tile)              adds to logits_, from the score alone; then
//   by_query(tile), by_key(tile)      adds to logits_, a tile at once
//   begin_tile(tile), add(tile, row, s)      adds to a row of logits
//   late(tile, a)               of type Late: what the softmax adds as it reads row a, vector by vector; it may be −∞
//   give(tile)                  logits_ are weights: adds to out_
//
// and on the way back, where logits_ are made again for each tile:
//
//   start_gradients()           once
//   begin_gradients()           after begin_rows()
//   give_back(tile)             adds to dp_, the gradient of the weights, before it becomes that of the logits
//   backward(tile, row, ds)     from a row of logits
//   to_score(tile)              adds to dscore_ what the score gets beside dp_
//   backward(tile)              from a tile, dp_; dq_ is scaled when it is written
//   end_rows(i0, ni), finish()  gradients go to their arrays (t_.dterms)
//
// Each is chosen when it is compiled; a kind that is not given costs a look at that. One without a class here is the affair
// of the whole head, or of heads together.
template <class Kind>
class AtWork {
 public:
  explicit AtWork(Distances&) {}
  static bool wanted(const HeadTask&) { return false; }
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define GNOMON_TERMS_AT_WORK
#include "gnomon/kernels/terms/list.h"
#undef GNOMON_TERMS_AT_WORK

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <class Kind>
struct NothingLate {
  HWY_INLINE V operator()(V s, std::int64_t) const { return s; }
};
template <class Kind>
auto late_type() {
  if constexpr (requires { typename AtWork<Kind>::Late; }) {
    return typename AtWork<Kind>::Late{};
  } else {
    return NothingLate<Kind>{};
  }
}
// What all kinds add as the softmax reads vector b of a row.
template <class... Lates>
struct AllLate : Lates... {
  HWY_INLINE V operator()(V s, std::int64_t b) const {
    ((s = static_cast<const Lates&>(*this)(s, b)), ...);
    return s;
  }
};

template <class List>
class TermsAtWork;
template <class... Kinds>
class TermsAtWork<KindList<Kinds...>> : std::optional<AtWork<Kinds>>... {
 public:
  using Late = AllLate<decltype(late_type<Kinds>())...>;

  void start(Distances& head) { (start_one<Kinds>(head), ...); }
  template <class Kind>
  std::optional<AtWork<Kind>>& of() {
    return *this;
  }
  template <class Kind>
  bool has() const {
    return static_cast<const std::optional<AtWork<Kind>>&>(*this).has_value();
  }
  // f(each kind that is at work)
  template <class F>
  HWY_INLINE void each(const F& f) {
    (each_one<Kinds>(f), ...);
  }
  // Whether f, which asks for something that the class has, is true of a kind that is at work.
  template <class F>
  bool any(const F& f) const {
    return ((has<Kinds>() && f(*static_cast<const std::optional<AtWork<Kinds>>&>(*this))) || ...);
  }
  Late late(const Tile& tile, std::int64_t a) { return Late{late_one<Kinds>(tile, a)...}; }

 private:
  template <class Kind>
  void start_one(Distances& head) {
    bool wanted = TermRows<Kind>::given(*head.t_.given);
    if constexpr (requires { AtWork<Kind>::wanted(head.t_); }) wanted = AtWork<Kind>::wanted(head.t_);
    if (wanted) of<Kind>().emplace(head);
  }
  template <class Kind, class F>
  HWY_INLINE void each_one(const F& f) {
    if (auto& kind = of<Kind>()) f(*kind);
  }
  template <class Kind>
  HWY_INLINE auto late_one(const Tile& tile, std::int64_t a) {
    auto late = late_type<Kind>();
    if constexpr (requires { typename AtWork<Kind>::Late; }) {
      if (auto& kind = of<Kind>()) late = kind->late(tile, a);
    }
    return late;
  }
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
