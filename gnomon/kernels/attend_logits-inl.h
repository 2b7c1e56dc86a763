// The logits of a tile and what its gradient gives back: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_LOGITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_LOGITS_INL_H_
#undef GNOMON_KERNELS_ATTEND_LOGITS_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_LOGITS_INL_H_
#endif
#include "gnomon/kernels/attend_terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <class Kind>
concept Learns = requires(Kind& kind, const Tile& tile) {
  kind.learn(tile);
};
template <class Kind>
concept AddsByScore = requires(Kind& kind, const Tile& tile) {
  kind.by_score(tile);
};
template <class Kind>
concept AddsToRows = requires(Kind& kind, const Tile& tile, const Seen& r, float* s) {
  kind.add(tile, r, s);
};
template <class Kind>
concept GivesToScore = requires(Kind& kind, const Tile& tile) {
  kind.to_score(tile);
};

class Logits : public Distances {
 public:
  // A sum along the keys of the score: each row has to learn its total before the tiles are gone through.
  bool counts() const {
    return kinds_.any([]<class Kind>(const Kind&) { return Learns<Kind>; });
  }
  bool sticks() const { return kinds_.has<StickTerm>(); }

  // scale·q·kᵀ, or the product of far keys where it is theirs, or with what the tokens between do to it.
  void score(const Tile& tile) {
    if (auto& carry = kinds_.of<CarryTerm>()) return carry->score(tile);
    auto& far = kinds_.of<FarTerm>();
    if (!far || far->reach_of(tile) != Reach::far)
      times_columns(tile, {q_.data(), Kp_, 1}, k_t_, s_.K, logits_.data());
    if (far) far->score(tile);
  }
  // The totals of each row that its sums along the keys need: of the score, then of what the stick is broken by.
  void learn(const Tile& tile) {
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.learn(tile); }) kind.learn(tile);
    });
  }
  void learn_stick(const Tile& tile) {
    each_row(tile, [&](const Seen& r) { finish(tile, r), kinds_.of<StickTerm>()->total(r, logits(r.a)); });
  }
  // From the score to the logits, but for what soften() adds as it goes.
  void add_terms(const Tile& tile) {
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.by_score(tile); }) kind.by_score(tile);
    });
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.by_query(tile); }) kind.by_query(tile);
      if constexpr (requires { kind.by_key(tile); }) kind.by_key(tile);
      if constexpr (requires { kind.begin_tile(tile); }) kind.begin_tile(tile);
    });
    if (!adds_to_rows_) return;
    each_row(tile, [&](const Seen& r) {
      kinds_.each([&](auto& kind) {
        if constexpr (requires { kind.add(tile, r, logits(r.a)); }) kind.add(tile, r, logits(r.a));
      });
    });
  }
  void break_stick(const Tile& tile) {
    each_row(tile, [&](const Seen& r) { finish(tile, r), kinds_.of<StickTerm>()->rewrite(r, logits(r.a)); });
  }

  // What the queries i0..i0+ni bring.
  void begin_rows(std::int64_t i0, std::int64_t ni) {
    pack_queries(i0, ni);
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.begin_rows(i0, ni); }) kind.begin_rows(i0, ni);
    });
  }
  // The sums along the keys begin, with their totals left.
  void begin_sums() {
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.begin_sums(); }) kind.begin_sums();
    });
  }

 protected:
  using Distances::Distances;
  using Kinds = TermsAtWork<TermKinds>;
  using Late = Kinds::Late;
  using Reach = AtWork<FarTerm>::Reach;

  // Kinds refer to this head, so it stays where it is from here on.
  void prepare() {
    start();
    pack_transposed(t_.k, s_.keys, s_.K, k_t_);
    logits_.resize(bq_ * ld_, margin_);
    kinds_.start(*this);
    adds_to_rows_ = kinds_.any([]<class Kind>(const Kind&) { return AddsToRows<Kind>; });
  }

  // What a row of logits still lacks before its stick is broken. What overflowed is NaN from here on, not the −∞ of a
  // hidden key.
  void finish(const Tile& tile, const Seen& r) {
    const Late bias = kinds_.late(tile, r.a);
    if (t_.extras.of_pairs) return void(add_extras(tile, r, bias));
    float* s = logits(r.a);
    r.each_vector(
        [&](std::int64_t b) { hn::StoreU(bias(no_infinity(hn::LoadU(F(), s + b)), b), F(), s + b); });
  }

  // --- What the caller asks of them

  // The numbers of row a of a tile, from its column 0 on.
  template <class T>
  static T* at(const Strided<T>& pairs, const Tile& tile, std::int64_t a) {
    return pairs.row(tile.i0 + a) + tile.j0;
  }
  // cap(s + bias) + the caller's bias, and what is hidden; whether all others are numbers (extras-inl.h).
  bool add_extras(const Tile& tile, const Seen& r, const Late& bias) {
    float* slope = slope_.empty() ? nullptr : &slope_[r.a * ld_];
    return apply_extras(extras_of(tile, r.a), bias, {logits(r.a), r.from, r.n}, slope);
  }
  // The gradient of what add_extras() left becomes that of the sum of terms.
  void extras_backward(const Tile& tile, const Seen& r, float* ds) const {
    if (t_.extras.dbias.data) {
      float* to = at(t_.extras.dbias, tile, r.a);
      r.each_vector([&](std::int64_t b) {
        store(hn::Add(hn::LoadU(F(), ds + b), load(to + b, r.n - b)), to + b, r.n - b);
      });
    }
    if (slope_.empty()) return;
    const float* slope = &slope_[r.a * ld_];
    r.each_vector([&](std::int64_t b) {
      const V d = first(hn::LoadU(F(), ds + b), r.n - b);
      // What a hidden key holds may be no number.
      const V of_cap = hn::IfThenZeroElse(hn::Eq(d, hn::Zero(F())), hn::LoadU(F(), slope + b));
      hn::StoreU(hn::Mul(d, of_cap), F(), ds + b);
    });
  }

  Kinds kinds_;
  bool adds_to_rows_ = false;
  Scratch slope_;  // of the soft-cap, (rows, columns) of the tile; empty: not
                   // asked for
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
