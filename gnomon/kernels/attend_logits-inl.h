// The logits of a tile and what its gradient gives back: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_LOGITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_LOGITS_INL_H_
#undef GNOMON_KERNELS_ATTEND_LOGITS_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_LOGITS_INL_H_
#endif
#include <optional>

#include "gnomon/kernels/attend_distances-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

class Logits : public Distances {
 public:
  // A sum along the keys, of the score or of the logits: each row has to learn its total before the tiles are gone through.
  bool counts() const {
    return t_.terms.of<&CountedTerm::counted>() || t_.terms.of<&ForgetTerm::forget_query>();
  }
  bool sticks() const { return t_.given->weights != Weighting::softmax; }
  float* logits(std::int64_t a) { return &logits_[a * ld_]; }

  // scale·q·kᵀ, or the product of far keys where it is theirs.
  void score(const Tile& tile) {
    if (!far()) return times_columns(tile, {q_.data(), Kp_, 1}, k_t_, s_.K, logits_);
    const Reach reach = reach_of(tile);
    if (reach != Reach::far) times_columns(tile, {q_.data(), Kp_, 1}, k_t_, s_.K, logits_);
    if (reach == Reach::near) return;
    times_columns(tile, {far_q_.data(), Kp_, 1}, far_k_t_, s_.K, reach == Reach::far ? logits_ : far_);
    if (reach == Reach::far) return;
    each_row(tile, [&](const Seen& r) {
      float *s = logits(r.a), *other = &far_[r.a * ld_];
      const float* delta = distances(tile, r);
      r.each_vector([&](std::int64_t b) {
        const auto is_far = hn::Ge(hn::LoadU(F(), delta + b), set(float(t_.given->far_from)));
        hn::StoreU(hn::IfThenElse(is_far, hn::LoadU(F(), other + b), hn::LoadU(F(), s + b)), F(), s + b);
      });
    });
  }
  // The totals of each row that its sums along the keys need: of the score, then of what the stick is broken by.
  void learn(const Tile& tile) {
    if (t_.terms.of<&ForgetTerm::forget_query>()) forget_scores(tile);
    each_row(tile, [&](const Seen& r) {
      if (t_.terms.of<&CountedTerm::counted>()) count_.gate(r, logits(r.a), hides(tile, r)), count_.learn(r);
      if (t_.terms.of<&ForgetTerm::forget_query>()) forget_.learn(gates(tile, r));
    });
  }
  void learn_stick(const Tile& tile) {
    each_row(tile, [&](const Seen& r) { finish(tile, r), stick_.learn(r, logits(r.a)); });
  }
  // From the score to the logits, but for what soften() adds as it goes.
  void add_terms(const Tile& tile) {
    if (t_.terms.of<&CountedTerm::counted>()) {  // first: it counts by the score alone
      each_row(tile, [&](const Seen& r) {
        count_.gate(r, logits(r.a), hides(tile, r)), count_.add(r, logits(r.a));
      });
    }
    if (t_.places) {
      add_cross_by_places(tile);
    } else {
      if (t_.terms.of<&QueryCrossTerm::query_cross>()) add_of_query(tile, query_cross());
      if (t_.terms.of<&ProfileTerm::profile>()) add_of_query(tile, profiles());
      if (t_.terms.of<&KeyCrossTerm::key_cross>()) add_key_cross(tile);
    }
    if (t_.terms.of<&ForgetTerm::forget_query>()) forget_scores(tile);
    if (rules()) each_row(tile, [&](const Seen& r) { add_rules(tile, r); });
  }
  void break_stick(const Tile& tile) {
    each_row(tile, [&](const Seen& r) { finish(tile, r), stick_.rewrite(r, logits(r.a)); });
  }

  // What the queries i0..i0+ni bring.
  void begin_rows(std::int64_t i0, std::int64_t ni) {
    pack_queries(i0, ni);
    if (t_.terms.of<&ProfileTerm::profile>()) {
      const std::int64_t w = t_.given->profile_width;
      pack_rows({t_.terms.of<&ProfileTerm::profile_query>() + (i0 + shift_) * w, w}, {ni, w, Pp()}, 1,
                nullptr, profile_query_);
    }
    forget_.start(bq_), stick_.start(bq_);
    if (t_.terms.of<&CountedTerm::counted>()) {
      count_.start(bq_);
      product({ni, count_rows(), s_.D}, {q_.data(), Kp_, 1}, counted_t_.data(), reads_step(),
              count_.reads.data(), reads_step(), false);
    }
    if (t_.terms.of<&ForgetTerm::forget_query>()) {
      const std::int64_t w = t_.given->forget_width;
      pack_rows({t_.terms.of<&ForgetTerm::forget_query>() + (i0 + shift_) * w, w}, {ni, w, Wp()}, 1, nullptr,
                forget_q_);
    }
  }
  // The sums along the keys begin, with their totals left.
  void begin_sums() { forget_.begin(), count_.begin(), stick_.begin(); }

 protected:
  using Distances::Distances;

  void prepare() {
    pack_keys();
    logits_.resize(bq_ * ld_);
    if (far()) far_.resize(bq_ * ld_);
    if (t_.terms.of<&CurveTerm::curve_rate>()) {
      curve_.emplace(t_.given->curve_knots.data(), t_.terms.of<&CurveTerm::curve_slope>(),
                     t_.terms.of<&CurveTerm::curve_intercept>(), t_.given->pieces());
      warp_ = make_warp(*t_.terms.of<&CurveTerm::curve_rate>());
      x_.resize(ld_), dx_.resize(ld_);
    }
    if (t_.terms.of<&ForgetTerm::forget_query>()) {
      const Strided<float> keys{t_.terms.of<&ForgetTerm::forget_key>(), t_.given->forget_width};
      forget_.resize(bq_, ld_);
      pack_rows(keys, {s_.keys, t_.given->forget_width, Wp()}, 1, t_.padding, forget_k_);
      pack_transposed(keys, s_.keys, t_.given->forget_width, forget_k_t_);
    }
    if (t_.terms.of<&TiltTerm::tilt>()) {
      tilt_key_.assign(keys_, 0.0f);
      for (std::int64_t j = 0; j < s_.keys; ++j)
        tilt_key_[j] = t_.padding && t_.padding[j] ? 0.0f : t_.terms.of<&TiltTerm::tilt_key>()[j];
    }
    if (t_.terms.of<&CountedTerm::counted>()) prepare_count();
    if (sticks()) stick_.resize(bq_, ld_);
    if (t_.places && t_.terms.of<&KeyCrossTerm::key_cross>())
      pack_rows(t_.k, {s_.keys, s_.K, Kp_}, 1, t_.padding, k_);
  }

  // --- Rows

  template <class Body>
  void each_row(const Tile& tile, const Body& f) {
    for (std::int64_t a = 0; a < tile.ni; ++a) {
      if (const Seen r = seen(tile, a); r.from < r.n) f(r);
    }
  }
  bool rules() const {
    return t_.terms.of<&CurveTerm::curve_rate>() || t_.terms.of<&TiltTerm::tilt>() || counts();
  }
  // The query's own token may lie outside of the tile.
  Forget::Gates gates(const Tile& tile, const Seen& r) {
    return {r, tile.i0 + r.a + shift_ - tile.j0, hides(tile, r)};
  }

  void add_rules(const Tile& tile, const Seen& r) {
    float* s = logits(r.a);
    if (t_.terms.of<&ForgetTerm::forget_query>()) forget_.add(gates(tile, r), s);
    if (t_.terms.of<&CurveTerm::curve_rate>()) curve_->add(r, curve_x(tile, r), s);
    if (!t_.terms.of<&TiltTerm::tilt>()) return;
    const float *delta = distances(tile, r), *key = &tilt_key_[tile.j0];
    const V query = set(t_.terms.of<&TiltTerm::tilt_query>()[tile.i0 + r.a + shift_]),
            slope = set(*t_.terms.of<&TiltTerm::tilt>());
    r.each_vector([&](std::int64_t b) {
      const V gates = hn::Add(query, hn::LoadU(F(), key + b));
      hn::StoreU(hn::MulAdd(hn::Mul(slope, hn::LoadU(F(), delta + b)), gates, hn::LoadU(F(), s + b)), F(),
                 s + b);
    });
  }
  // x = ln(1 + rate·|δ|)·(number of the query)
  const float* curve_x(const Tile& tile, const Seen& r) {
    const float* warped = row(warp_, tile, r);
    const V factor = set(t_.terms.of<&CurveTerm::curve_by_token>()[tile.i0 + r.a + shift_]);
    r.each_vector(
        [&](std::int64_t b) { hn::StoreU(hn::Mul(factor, hn::LoadU(F(), warped + b)), F(), &x_[b]); });
    return x_.data();
  }
  void forget_scores(const Tile& tile) {
    times_columns(tile, {forget_q_.data(), Wp(), 1}, forget_k_t_, t_.given->forget_width, forget_.z());
  }
  std::int64_t Wp() const { return round_up(t_.given->forget_width, N_); }

  // Rows of the table that a query can reach, and their place in a row of readings.
  std::int64_t count() const { return t_.given->CountedTerm::own(s_); }
  std::int64_t count_rows() const { return std::min(count(), s_.keys + 2); }
  std::int64_t reads_step() const { return round_up(count_rows(), 2 * N_); }
  // q is packed with the scale of the logits, which the table does not have.
  void prepare_count() {
    const std::int64_t rows = count_rows();
    counted_.assign(rows * Kp_, 0.0f), counted_t_.assign(s_.D * reads_step(), 0.0f);
    for (std::int64_t p = 0; p < rows; ++p) {
      for (std::int64_t c = 0; c < s_.D; ++c)
        counted_[p * Kp_ + c] = counted_t_[c * reads_step() + p] =
            t_.terms.of<&CountedTerm::counted>()[p * s_.D + c] / s_.scale;
    }
    check_tame(counted_.data(), rows * Kp_);
    count_.resize(bq_, ld_, count() - 1, reads_step());
  }

  // --- Which keys are far

  enum class Reach { near, both, far };
  Reach reach_of(const Tile& tile) const {
    if (t_.places) return Reach::both;
    const std::int64_t i = tile.i0 + shift_;
    if (double(i + tile.ni - 1 - tile.j0) < t_.given->far_from) return Reach::near;
    return double(i - (tile.j0 + tile.nj - 1)) >= t_.given->far_from ? Reach::far : Reach::both;
  }

  // --- Cross terms

  // Numbers of each query of a tile (queries,padded) times the row of the distance: these as rows (·,padded), and
  // transposed (width,·).
  struct OfQuery {
    const Scratch &numbers, &rows, &transposed;
    std::int64_t width, padded;
  };
  OfQuery query_cross() const { return {q_, query_cross_, query_cross_t_, s_.K, Kp_}; }
  OfQuery profiles() const { return {profile_query_, profile_, profile_t_, t_.given->profile_width, Pp()}; }
  std::int64_t Pp() const { return round_up(t_.given->profile_width, N_); }

  void add_of_query(const Tile& tile, const OfQuery& x) {
    each_panel(tile, [&](const Panel& panel) {
      product({panel.m, panel.width, x.width}, {&x.numbers[panel.a0 * x.padded], x.padded, 1},
              x.transposed.data() + panel.start, span_, band_.data(), ldg_, false);
      from_band(panel, logits_.data());
    });
  }
  // From the gradient of the logits; drows empty: nobody asks for it.
  void of_query_backward(const Tile& tile, const OfQuery& x, const Scratch& ds, Scratch& dnumbers,
                         Scratch& drows) {
    each_panel(tile, [&](const Panel& panel) {
      to_band(panel, ds.data());
      product({panel.m, x.padded, panel.width}, {band_.data(), ldg_, 1},
              x.rows.data() + panel.start * x.padded, x.padded, &dnumbers[panel.a0 * x.padded], x.padded,
              true);
      if (drows.empty()) return;
      product({panel.width, x.padded, panel.m}, {band_.data(), 1, ldg_}, &x.numbers[panel.a0 * x.padded],
              x.padded, drows.data() + panel.start * x.padded, x.padded, true);
    });
  }
  // g[b,x] = k_b·key_cross[x]; s[a,b] += g[b, b − a + ni − 1]
  void add_key_cross(const Tile& tile) {
    each_columns(tile, [&](const Columns& c) {
      product({c.n, c.width, s_.K}, {&k_t_[tile.j0 + c.b0], 1, keys_}, key_cross_t_.data() + c.start, span_,
              key_band_.data(), ldg_, false);
      for (std::int64_t a = c.a0; a < tile.ni; ++a) {
        float* row = &logits_[a * ld_ + c.b0];
        const float* band = &key_band_[tile.ni - 1 - a];
        for (std::int64_t b = 0; b < c.n; ++b) row[b] += band[b * (ldg_ + 1)];
      }
    });
  }

  void add_cross_by_places(const Tile& tile) {
    if (!t_.terms.of<&QueryCrossTerm::query_cross>() && !t_.terms.of<&KeyCrossTerm::key_cross>() &&
        !t_.terms.of<&ProfileTerm::profile>())
      return;
    each_row(tile, [&](const Seen& r) {
      const std::int32_t* at = columns(tile, r);
      float* s = logits(r.a);
      const auto of_query = [&](const OfQuery& x, std::int64_t b) {
        return dot(&x.numbers[r.a * x.padded], &x.rows[at[b] * x.padded], x.padded);
      };
      for (std::int64_t b = r.from; b < r.n; ++b) {
        if (t_.terms.of<&QueryCrossTerm::query_cross>()) s[b] += of_query(query_cross(), b);
        if (t_.terms.of<&ProfileTerm::profile>()) s[b] += of_query(profiles(), b);
        if (t_.terms.of<&KeyCrossTerm::key_cross>())
          s[b] += dot(&k_[(tile.j0 + b) * Kp_], &key_cross_[at[b] * Kp_], Kp_);
      }
    });
  }
  float dot(const float* a, const float* b, std::int64_t n) const {
    V total = hn::Zero(F());
    for (std::int64_t c = 0; c < n; c += N_)
      total = hn::MulAdd(load(a + c, n - c), load(b + c, n - c), total);
    return sum(total);
  }

  // --- What is added by distance, query and key

  // What is added to vector b.. of row a: from the distance, and (difference first: two large sums meet
  // there) from query and key.
  struct RowBias {
    const float *distance, *key;
    float query;
    HWY_INLINE V operator()(V s, std::int64_t b) const {
      if (distance) s = hn::Add(s, hn::LoadU(F(), distance + b));
      if (key) s = hn::Add(s, hn::Add(set(query), hn::LoadU(F(), key + b)));
      return s;
    }
  };
  RowBias row_bias(const Tile& tile, std::int64_t a) {
    RowBias bias{};
    if (t_.terms.of<&ByDistanceTerm::by_distance>()) bias.distance = distance_row(tile, a);
    if (!by_key_.empty()) bias.key = &by_key_[tile.j0];
    bias.query =
        t_.terms.of<&ByTokenTerm::by_query>() ? t_.terms.of<&ByTokenTerm::by_query>()[tile.i0 + a] : 0.0f;
    return bias;
  }

  const float* distance_row(const Tile& tile, std::int64_t a) {
    if (!t_.places) return &by_distance_[band_start(tile) + tile.ni - 1 - a];
    gathered_.assign(ld_, 0.0f);
    const Seen r = seen(tile, a);
    const std::int32_t* at = columns(tile, r);
    for (std::int64_t b = r.from; b < r.n; ++b) gathered_[b] = by_distance_[at[b]];
    return gathered_.data();
  }
  // What a row of logits still lacks before its stick is broken. What overflowed is NaN from here on, not the −∞ of a
  // hidden key.
  void finish(const Tile& tile, const Seen& r) {
    const RowBias bias = row_bias(tile, r.a);
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
  bool add_extras(const Tile& tile, const Seen& r, const RowBias& bias) {
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

  std::optional<Curve> curve_;
  Warp warp_{};
  Scratch x_, dx_, tilt_key_;
  Forget forget_;
  Scratch forget_q_, forget_k_, forget_k_t_;
  Count count_;
  Scratch counted_, counted_t_;
  Stick stick_;
  Scratch logits_, far_, gathered_;
  Scratch slope_;  // of the soft-cap, (rows, columns) of the tile; empty: not asked for
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
