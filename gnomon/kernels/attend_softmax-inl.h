// One head: from logits to weights and what they return, and back: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_SOFTMAX_INL_H_
#undef GNOMON_KERNELS_ATTEND_SOFTMAX_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_SOFTMAX_INL_H_
#endif
#include <utility>

#include "gnomon/kernels/attend_logits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

class Head : public Logits {
 public:
  explicit Head(const HeadTask& t) : Logits(t), mixed_(t.given->mixes()) {}
  bool mixed() const { return mixed_; }  // a network changes the scores
  const AttendShape& shape() const { return s_; }
  std::int64_t query_tile() const { return bq_; }
  std::int64_t row_step() const { return ld_; }
  // f(tile) for the tiles of the queries i0..i0+ni, from their first key to their last.
  template <class Body>
  void each_tile(std::int64_t i0, std::int64_t ni, const Body& f) const {
    const std::int64_t seen = end_of(i0 + ni - 1);
    for (std::int64_t j0 = first_of(i0) / bk_ * bk_; j0 < seen; j0 += bk_)
      f(make_tile(i0, ni, j0, std::min(bk_, seen - j0)));
  }

  // --- Forward

  void start_forward() {
    prepare();
    check_tame(k_t_.data(), s_.K * keys_);
    pack_rows(t_.v, {s_.keys, s_.D, Dp_}, 1, t_.padding, v_);
    if (t_.terms.of<&ValueTerm::value>())
      pack_distances(t_.terms.of<&ValueTerm::value>(), s_.D, 1, value_, value_t_);
    out_.resize(bq_ * Dp_), most_.resize(bq_), total_.resize(bq_);
  }
  void begin_forward(std::int64_t i0, std::int64_t ni) {
    begin_rows(i0, ni);
    // A sink is a logit that was met before all others. One that is no number makes the sum NaN. Of a stick, nothing is the
    // sum: as if it were 1.
    const float sink = summed() ? t_.extras.sink : 0.0f;
    std::fill(most_.begin(), most_.end(), sink);
    std::fill(total_.begin(), total_.end(), sink == kMinusInfinity ? 0.0f : std::exp(sink - sink));
    std::fill(out_.begin(), out_.end(), 0.0f);
  }
  void forward(const Tile& tile) {
    for (std::int64_t a = 0; a < tile.ni; ++a) soften(tile, a, most_[a], total_[a], &out_[a * Dp_]);
    rows_times(tile, logits_.data(), &v_[tile.j0 * Dp_], Dp_, out_.data());
    if (!t_.terms.of<&ValueTerm::value>()) return;
    if (t_.places) return add_values_by_places(tile);
    each_panel(tile, [&](const Panel& panel) {
      to_band(panel, logits_.data());
      product({panel.m, Dp_, panel.width}, {band_.data(), ldg_, 1}, value_.data() + panel.start * Dp_, Dp_,
              &out_[panel.a0 * Dp_], Dp_, true);
    });
  }
  void end_forward(std::int64_t i0, std::int64_t ni) {
    for (std::int64_t a = 0; a < ni; ++a) {
      const float sum = total_[a];
      write_row(&out_[a * Dp_], s_.D, sum == 0 ? 0.0f : 1.0f / sum, t_.out.row(i0 + a));
      t_.lse[i0 + a] = sum == 0 ? kMinusInfinity : most_[a] + std::log(sum);
    }
  }

  // --- Backward: p = exp(s − lse), dp = dout·v, ds = p (dp − Σ_j p dp), and Σ_j p dp = dout·out.

  void start_backward() {
    prepare();
    pack_transposed(t_.v, s_.keys, s_.D, v_t_);
    pack_rows(t_.k, {s_.keys, s_.K, Kp_}, 1, t_.padding, k_);
    if (far()) pack_rows(far_rows(t_.k, s_.keys), {s_.keys, s_.K, Kp_}, 1, t_.padding, far_k_);
    pack_rows(t_.dout, {s_.queries, s_.D, Dp_}, 1, nullptr, dout_);
    if (t_.terms.of<&ValueTerm::value>())
      pack_distances(t_.terms.of<&ValueTerm::value>(), s_.D, 1, value_, value_t_);
    dp_.resize(bq_ * ld_);
    if (t_.extras.soft_cap != 0) slope_.resize(bq_ * ld_);
    start_gradients();
  }
  void begin_backward(std::int64_t i0, std::int64_t ni) {
    begin_rows(i0, ni);
    dq_.assign(bq_ * Kp_, 0.0f);
    if (far()) dfar_q_.assign(bq_ * Kp_, 0.0f);
    if (t_.terms.of<&ProfileTerm::profile>()) dprofile_query_.assign(bq_ * Pp(), 0.0f);
    if (t_.terms.of<&ForgetTerm::forget_query>()) dforget_q_.assign(bq_ * Wp(), 0.0f);
  }
  // From the logits to their gradient, and that of what was added to the score but by the network that mixes heads.
  void backward_to_score(const Tile& tile) {
    times_columns(tile, {&dout_[tile.i0 * Dp_], Dp_, 1}, v_t_, s_.D, dp_);
    if (t_.terms.of<&ValueTerm::value>()) value_scores(tile);
    for (std::int64_t a = 0; a < tile.ni; ++a) soften_backward(tile, a);
    // logits_ now holds p, dp_ holds ds.
    if (!separate()) return;
    std::copy_n(dp_.begin(), tile.ni * ld_, dscore_.begin());
    if (t_.terms.of<&CountedTerm::counted>())
      each_row(tile, [&](const Seen& r) { count_.backward(r, &dp_[r.a * ld_], dscore(r.a)); });
  }
  const float* ds(std::int64_t a) const { return &dp_[a * ld_]; }
  float* dscore(std::int64_t a) { return &dscore_[a * ld_]; }
  void backward(const Tile& tile) {
    const float* dout = &dout_[tile.i0 * Dp_];
    columns_times(tile, logits_.data(), dout, Dp_, &dv_[tile.j0 * Dp_]);
    score_backward(tile);
    if (t_.terms.of<&ValueTerm::value>() && t_.dterms.of<&ValueTerm::value>()) value_backward(tile);
    if (t_.places) return cross_backward_by_places(tile);
    // dq is scaled when it is written, and query_cross_ carries 1/scale.
    if (t_.terms.of<&QueryCrossTerm::query_cross>())
      of_query_backward(tile, query_cross(), dp_, dq_, dquery_cross_);
    if (t_.terms.of<&ProfileTerm::profile>())
      of_query_backward(tile, profiles(), dp_, dprofile_query_, dprofile_);
    if (t_.terms.of<&KeyCrossTerm::key_cross>()) key_cross_backward(tile);
  }
  void end_backward(std::int64_t i0, std::int64_t ni) {
    if (t_.terms.of<&CountedTerm::counted>()) reads_backward(ni);
    for (std::int64_t a = 0; a < ni; ++a) {
      write_row(&dq_[a * Kp_], s_.K, s_.scale, t_.dq.row(i0 + a));
      write_far(dfar_q_, a, s_.scale, t_.dq.row(i0 + a));
    }
    const auto collect = [&](float* to, const Scratch& rows, std::int64_t width, std::int64_t padded) {
      for (std::int64_t n = 0; to && n < ni * width; ++n)
        to[(i0 + shift_) * width + n] += rows[n / width * padded + n % width];
    };
    collect(t_.dterms.of<&ForgetTerm::forget_query>(), dforget_q_, t_.given->forget_width, Wp());
    collect(t_.dterms.of<&ProfileTerm::profile_query>(), dprofile_query_, t_.given->profile_width, Pp());
  }
  void finish_backward() {
    if (t_.extras.dsink) *t_.extras.dsink = sink_gradient();
    for (std::int64_t j = 0; j < s_.keys; ++j) {
      write_row(&dk_[j * Kp_], s_.K, 1, t_.dk.row(j));
      write_far(dfar_k_, j, 1, t_.dk.row(j));
      write_row(&dv_[j * Dp_], s_.D, 1, t_.dv.row(j));
    }
    finish_gradients();
  }

 private:
  // Whether weights are divided by their sum.
  bool summed() const { return !sticks() && !t_.extras.of_weights; }
  // The gradient of the score is not that of the logits.
  bool separate() const { return mixed_ || t_.terms.of<&CountedTerm::counted>() || far(); }
  // No logit can be anything but a number, given the numbers that were packed.
  bool sure() const { return tame_ && !mixed_ && !rules() && !sticks(); }
  // What was not added before a stick was broken.
  RowBias late_bias(const Tile& tile, std::int64_t a) { return sticks() ? RowBias{} : row_bias(tile, a); }
  bool late_extras() const { return t_.extras.of_pairs && !sticks(); }

  // No logit of columns from..n is NaN or +∞, or has overflowed to −∞: only what is added may be −∞, to hide a key. (Where a
  // stick was broken, all that is behind: a key `may_hide`, because it may have nothing.)
  bool all_defined(const RowBias& bias, const float* s, std::int64_t from, std::int64_t n, bool may_hide) {
    auto defined = all_lanes();
    for (std::int64_t b = from / N_ * N_; b < n; b += N_) {
      V v = hn::LoadU(F(), s + b);
      v = bias(may_hide ? v : no_infinity(v), b);
      if (b < from) v = hn::IfThenZeroElse(hn::FirstN(F(), from - b), v);
      defined = hn::And(defined, hn::Lt(first(v, n - b), set(-kMinusInfinity)));
    }
    return hn::AllTrue(F(), defined);
  }

  // Online softmax of row a: the tile's logits become exp(s − m); the sum and the output so far are rescaled
  // when the maximum m grows. Columns that the row does not see become 0. A logit that is no number makes m NaN, and
  // so the sum and the output.
  void soften(const Tile& tile, std::int64_t a, float& most, float& total, float* out) {
    float* s = &logits_[a * ld_];
    const std::int64_t from = hidden(tile, a), n = visible(tile, a), end = round_up(tile.nj, 2 * N_);
    RowBias bias = late_bias(tile, a);
    const V lowest = set(kMinusInfinity);
    V top = lowest;
    bool defined;
    if (t_.extras.instead.data) {
      const float* instead = at(t_.extras.instead, tile, a);
      std::copy(instead + from, instead + std::max(from, n), s + from);
      defined = all_defined(bias = {}, s, from, n, true);
    } else if (late_extras()) {
      defined = add_extras(tile, {a, from, n}, std::exchange(bias, {}));
    } else {
      defined = sure() || all_defined(bias, s, from, n, sticks());
    }
    for (std::int64_t b = 0; b < n; b += N_) {
      V v = bias(hn::LoadU(F(), s + b), b);
      if (b + N_ > n) v = hn::IfThenElse(hn::FirstN(F(), n - b), v, lowest);
      if (b < from) v = hn::IfThenElse(hn::FirstN(F(), from - b), lowest, v);
      hn::StoreU(v, F(), s + b);
      top = hn::Max(top, v);
    }
    if (t_.extras.logits.data)
      std::copy(s + from, s + std::max(from, n), at(t_.extras.logits, tile, a) + from);
    const float high = summed() ? std::max(most, hn::GetLane(hn::MaxOfLanes(F(), top))) : most;
    const float now = defined ? high : std::numeric_limits<float>::quiet_NaN();
    V sum_now = hn::Zero(F());
    std::int64_t b = 0;
    if (now != kMinusInfinity) {
      for (; b < n; b += N_) {
        const V p = weight(hn::Sub(hn::LoadU(F(), s + b), set(now)));
        hn::StoreU(p, F(), s + b);
        sum_now = hn::Add(sum_now, p);
      }
      const float shrink = tame_ && most - now < kNothing ? 0.0f : std::exp(most - now);
      total = summed() ? total * shrink + sum(sum_now) : total * shrink;
      if (shrink != 1.0f) {
        for (std::int64_t c = 0; c < Dp_; c += N_)
          hn::StoreU(hn::Mul(set(shrink), hn::LoadU(F(), out + c)), F(), out + c);
      }
      most = now;
    }
    for (; b < end; b += N_) hn::StoreU(hn::Zero(F()), F(), s + b);
  }

  void add_values_by_places(const Tile& tile) {
    each_row(tile, [&](const Seen& r) {
      const std::int32_t* at = columns(tile, r);
      for (std::int64_t b = r.from; b < r.n; ++b) {
        add(logits(r.a)[b], &value_[at[b] * Dp_], Dp_, &out_[r.a * Dp_]);
      }
    });
  }
  // y += x·factor
  void add(float factor, const float* x, std::int64_t n, float* y) const {
    for (std::int64_t c = 0; c < n; c += N_)
      hn::StoreU(hn::MulAdd(set(factor), hn::LoadU(F(), x + c), hn::LoadU(F(), y + c)), F(), y + c);
  }

  // --- Gradients

  void start_gradients() {
    dk_.assign(s_.keys * Kp_, 0.0f);
    dv_.assign(s_.keys * Dp_, 0.0f);
    if (t_.dterms.of<&ByDistanceTerm::by_distance>()) dby_distance_.assign(span_, 0.0f);
    if (t_.dterms.of<&ByTokenTerm::by_key>()) dby_key_.assign(keys_, 0.0f);
    if (t_.dterms.of<&QueryCrossTerm::query_cross>()) dquery_cross_.assign(span_ * Kp_, 0.0f);
    if (t_.dterms.of<&KeyCrossTerm::key_cross>()) dkey_cross_.assign(span_ * Kp_, 0.0f);
    if (t_.dterms.of<&ProfileTerm::profile>()) dprofile_.assign(span_ * Pp(), 0.0f);
    if (t_.dterms.of<&TiltTerm::tilt_key>()) dtilt_key_.assign(keys_, 0.0f);
    if (t_.terms.of<&ForgetTerm::forget_query>()) dforget_k_.assign(s_.keys * Wp(), 0.0f);
    if (t_.terms.of<&CountedTerm::counted>()) dcounted_.assign(count_rows() * Kp_, 0.0f);
    if (far()) dfar_k_.assign(s_.keys * Kp_, 0.0f);
    if (separate()) dscore_.resize(bq_ * ld_);
    if (t_.dterms.of<&ValueTerm::value>()) dvalue_.assign(span_ * Dp_, 0.0f);
  }

  void value_scores(const Tile& tile) {
    const float* dout = &dout_[tile.i0 * Dp_];
    if (t_.places) {
      return each_row(tile, [&](const Seen& r) {
        const std::int32_t* at = columns(tile, r);
        for (std::int64_t b = r.from; b < r.n; ++b)
          dp_[r.a * ld_ + b] += dot(dout + r.a * Dp_, &value_[at[b] * Dp_], Dp_);
      });
    }
    each_panel(tile, [&](const Panel& panel) {
      product({panel.m, panel.width, s_.D}, {dout + panel.a0 * Dp_, Dp_, 1}, value_t_.data() + panel.start,
              span_, band_.data(), ldg_, false);
      from_band(panel, dp_.data());
    });
  }
  void value_backward(const Tile& tile) {
    const float* dout = &dout_[tile.i0 * Dp_];
    if (t_.places) {
      return each_row(tile, [&](const Seen& r) {
        const std::int32_t* at = columns(tile, r);
        for (std::int64_t b = r.from; b < r.n; ++b)
          add(logits(r.a)[b], dout + r.a * Dp_, Dp_, &dvalue_[at[b] * Dp_]);
      });
    }
    each_panel(tile, [&](const Panel& panel) {
      to_band(panel, logits_.data());
      product({panel.width, Dp_, panel.m}, {band_.data(), 1, ldg_}, dout + panel.a0 * Dp_, Dp_,
              dvalue_.data() + panel.start * Dp_, Dp_, true);
    });
  }

  // Row a: logits_ from s to p, dp_ from dp to ds.
  void soften_backward(const Tile& tile, std::int64_t a) {
    float *s = &logits_[a * ld_], *dp = &dp_[a * ld_];
    const std::int64_t i = tile.i0 + a, end = round_up(tile.nj, 2 * N_);
    const float lse = t_.lse[i];
    const std::int64_t n = lse == kMinusInfinity ? 0 : visible(tile, a), from = hidden(tile, a);
    RowBias bias = late_bias(tile, a);
    const bool may_hide = late_extras();
    if (may_hide) add_extras(tile, {a, from, n}, std::exchange(bias, {}));
    // No sum divides what the stick leaves; 0·lse is NaN where the row is.
    const V mean = set(sticks() ? 0 * lse : dot(t_.dout.row(i), t_.out.row(i), s_.D));
    std::int64_t b = 0;
    for (; b < n; b += N_) {
      V p = first(weight(hn::Sub(bias(hn::LoadU(F(), s + b), b), set(lse))), n - b);
      V ds = first(hn::Mul(p, hn::Sub(hn::LoadU(F(), dp + b), mean)), n - b);
      if (b < from) {
        p = hn::IfThenZeroElse(hn::FirstN(F(), from - b), p);
        ds = hn::IfThenZeroElse(hn::FirstN(F(), from - b), ds);
      }
      if (may_hide) {
        const Mask hides = hn::Eq(hn::LoadU(F(), s + b), set(kMinusInfinity));
        p = hn::IfThenZeroElse(hides, p), ds = hn::IfThenZeroElse(hides, ds);
      }
      hn::StoreU(p, F(), s + b);
      hn::StoreU(ds, F(), dp + b);
    }
    if (std::isnan(lse)) {  // of NaN hn::Exp made 0; ds is NaN by the mean
      each_run(tile, a, [&](std::int64_t begin, std::int64_t run_end) {
        if (begin < run_end) std::fill(s + begin, s + run_end, lse);
      });
    }
    for (; b < end; b += N_) {
      hn::StoreU(hn::Zero(F()), F(), s + b);
      hn::StoreU(hn::Zero(F()), F(), dp + b);
    }
    if (from >= n) return;
    if (sticks()) stick_.backward({a, from, n}, dp);
    if (t_.extras.of_pairs) extras_backward(tile, {a, from, n}, dp);
    bias_backward(tile, {a, from, n});
    if (rules()) rules_backward(tile, {a, from, n});
  }

  // The weight of the sink, exp(sink − lse), has no value: its ds is −p Σ_j p dp.
  double sink_gradient() const {
    double sum = 0;
    for (std::int64_t i = 0; i < s_.queries; ++i) {
      if (t_.lse[i] == kMinusInfinity) continue;
      sum -= double(std::exp(t_.extras.sink - t_.lse[i])) * double(dot(t_.dout.row(i), t_.out.row(i), s_.D));
    }
    return sum;
  }
  void bias_backward(const Tile& tile, const Seen& r) {
    const float* ds = &dp_[r.a * ld_];
    float* by_key = t_.dterms.of<&ByTokenTerm::by_key>() ? &dby_key_[tile.j0] : nullptr;
    float* by_distance = t_.dterms.of<&ByDistanceTerm::by_distance>() && !t_.places
                             ? &dby_distance_[band_of(tile, r.a)]
                             : nullptr;
    if (by_key || by_distance || t_.dterms.of<&ByTokenTerm::by_query>()) {
      V row_sum = hn::Zero(F());
      for (std::int64_t b = 0; b < r.n; b += N_) {
        const V d = hn::LoadU(F(), ds + b);
        if (by_distance) hn::StoreU(hn::Add(d, hn::LoadU(F(), by_distance + b)), F(), by_distance + b);
        if (by_key) hn::StoreU(hn::Add(d, hn::LoadU(F(), by_key + b)), F(), by_key + b);
        row_sum = hn::Add(row_sum, d);
      }
      if (t_.dterms.of<&ByTokenTerm::by_query>())
        t_.dterms.of<&ByTokenTerm::by_query>()[tile.i0 + r.a] += sum(row_sum);
    }
    if (!t_.dterms.of<&ByDistanceTerm::by_distance>() || !t_.places) return;
    const std::int32_t* at = columns(tile, r);
    for (std::int64_t b = r.from; b < r.n; ++b) dby_distance_[at[b]] += ds[b];
  }
  void rules_backward(const Tile& tile, const Seen& r) {
    const float* ds = &dp_[r.a * ld_];
    if (t_.terms.of<&ForgetTerm::forget_query>()) forget_.backward(gates(tile, r), ds);
    if (curve_) curve_backward(tile, r, ds);
    if (!t_.terms.of<&TiltTerm::tilt>()) return;
    const float *delta = distances(tile, r), *key = &tilt_key_[tile.j0];
    const std::int64_t token = tile.i0 + r.a + shift_;
    const V query = set(t_.terms.of<&TiltTerm::tilt_query>()[token]),
            slope = set(*t_.terms.of<&TiltTerm::tilt>());
    V of_slope = hn::Zero(F()), of_query = of_slope;
    r.each_vector([&](std::int64_t b) {
      const V d = hn::Mul(first(hn::LoadU(F(), ds + b), r.n - b), hn::LoadU(F(), delta + b));
      // What a hidden key holds may be no number.
      const V gates = hn::IfThenZeroElse(hn::Eq(d, hn::Zero(F())), hn::Add(query, hn::LoadU(F(), key + b)));
      of_slope = hn::MulAdd(d, gates, of_slope);
      of_query = hn::Add(d, of_query);
      if (!t_.dterms.of<&TiltTerm::tilt_key>()) return;
      float* to = &dtilt_key_[tile.j0 + b];
      hn::StoreU(hn::MulAdd(d, slope, hn::LoadU(F(), to)), F(), to);
    });
    dtilt_ += double(sum(of_slope));
    if (t_.dterms.of<&TiltTerm::tilt_query>())
      t_.dterms.of<&TiltTerm::tilt_query>()[token] += *t_.terms.of<&TiltTerm::tilt>() * sum(of_query);
  }
  // d ln(1 + rate·n)/d rate = n/(1 + rate·n)
  void curve_backward(const Tile& tile, const Seen& r, const float* ds) {
    const std::int64_t token = tile.i0 + r.a + shift_;
    curve_->backward(r, curve_x(tile, r), ds, dx_.data());
    const float *warped = row(warp_, tile, r), *delta = distances(tile, r);
    V of_factor = hn::Zero(F()), of_rate = of_factor;
    r.each_vector([&](std::int64_t b) {
      const V d = first(hn::LoadU(F(), &dx_[b]), r.n - b), n = hn::Abs(hn::LoadU(F(), delta + b));
      of_factor = hn::MulAdd(d, hn::LoadU(F(), warped + b), of_factor);
      of_rate = hn::MulAdd(d, hn::Div(n, hn::MulAdd(set(warp_.rate), n, set(1))), of_rate);
    });
    if (t_.dterms.of<&CurveTerm::curve_by_token>())
      t_.dterms.of<&CurveTerm::curve_by_token>()[token] += sum(of_factor);
    drate_ += double(sum(of_rate)) * double(t_.terms.of<&CurveTerm::curve_by_token>()[token]);
  }

  // What ds gives to q and k, each product its keys, and to what the gates are made from.
  void score_backward(const Tile& tile) {
    Scratch& ds = separate() ? dscore_ : dp_;
    const Reach reach = far() ? reach_of(tile) : Reach::near;
    if (reach == Reach::both) split(tile);
    if (reach != Reach::far) {
      columns_times(tile, ds.data(), q_.data(), Kp_, &dk_[tile.j0 * Kp_]);
      rows_times(tile, ds.data(), &k_[tile.j0 * Kp_], Kp_, dq_.data());
    }
    if (reach != Reach::near) {
      const float* far = reach == Reach::far ? ds.data() : far_.data();
      columns_times(tile, far, far_q_.data(), Kp_, &dfar_k_[tile.j0 * Kp_]);
      rows_times(tile, far, &far_k_[tile.j0 * Kp_], Kp_, dfar_q_.data());
    }
    if (!t_.terms.of<&ForgetTerm::forget_query>()) return;
    Scratch& dz = forget_.z();
    const std::int64_t end = round_up(tile.nj, 2 * N_);
    for (std::int64_t a = 0; a < tile.ni; ++a) {
      const Seen r = seen(tile, a);
      std::fill_n(&dz[a * ld_], std::min(r.from, r.n), 0.0f);
      std::fill(&dz[a * ld_] + r.n, &dz[a * ld_] + end, 0.0f);
    }
    columns_times(tile, dz.data(), forget_q_.data(), Wp(), &dforget_k_[tile.j0 * Wp()]);
    rows_times(tile, dz.data(), &forget_k_[tile.j0 * Wp()], Wp(), dforget_q_.data());
  }
  // far_ takes from dscore_ what belongs to far keys.
  void split(const Tile& tile) {
    std::fill_n(far_.begin(), tile.ni * ld_, 0.0f);
    each_row(tile, [&](const Seen& r) {
      float *near = dscore(r.a), *other = &far_[r.a * ld_];
      const float* delta = distances(tile, r);
      r.each_vector([&](std::int64_t b) {
        const V d = first(hn::LoadU(F(), near + b), r.n - b);
        const auto is_far = hn::Ge(hn::LoadU(F(), delta + b), set(float(t_.given->far_from)));
        hn::StoreU(hn::IfThenElseZero(is_far, d), F(), other + b);
        hn::StoreU(hn::IfThenZeroElse(is_far, d), F(), near + b);
      });
    });
  }
  // dq is scaled when it is written, and counted_ carries 1/scale.
  void reads_backward(std::int64_t ni) {
    const std::int64_t rows = count_rows(), step = reads_step();
    product({ni, Kp_, rows}, {count_.dreads.data(), step, 1}, counted_.data(), Kp_, dq_.data(), Kp_, true);
    product({rows, Kp_, ni}, {count_.dreads.data(), 1, step}, q_.data(), Kp_, dcounted_.data(), Kp_, true);
  }

  void key_cross_backward(const Tile& tile) {
    each_columns(tile, [&](const Columns& c) {
      std::fill_n(key_band_.begin(), c.n * ldg_, 0.0f);
      for (std::int64_t a = c.a0; a < tile.ni; ++a) {
        const float* ds = &dp_[a * ld_ + c.b0];
        float* band = &key_band_[tile.ni - 1 - a];
        for (std::int64_t b = 0; b < c.n; ++b) band[b * (ldg_ + 1)] = ds[b];
      }
      product({c.n, Kp_, c.width}, {key_band_.data(), ldg_, 1}, key_cross_.data() + c.start * Kp_, Kp_,
              &dk_[(tile.j0 + c.b0) * Kp_], Kp_, true);
      if (!t_.dterms.of<&KeyCrossTerm::key_cross>()) return;
      product({c.width, Kp_, c.n}, {key_band_.data(), 1, ldg_}, &k_[(tile.j0 + c.b0) * Kp_], Kp_,
              dkey_cross_.data() + c.start * Kp_, Kp_, true);
    });
  }

  void cross_backward_by_places(const Tile& tile) {
    if (!t_.terms.of<&QueryCrossTerm::query_cross>() && !t_.terms.of<&KeyCrossTerm::key_cross>() &&
        !t_.terms.of<&ProfileTerm::profile>())
      return;
    each_row(tile, [&](const Seen& r) {
      const std::int32_t* at = columns(tile, r);
      const float *ds = &dp_[r.a * ld_], *q = &q_[r.a * Kp_];
      for (std::int64_t b = r.from; b < r.n; ++b) {
        const std::int64_t j = tile.j0 + b, x = at[b] * Kp_;
        if (ds[b] == 0) continue;  // what a hidden key holds may be no number
        if (t_.terms.of<&QueryCrossTerm::query_cross>()) add(ds[b], &query_cross_[x], Kp_, &dq_[r.a * Kp_]);
        if (t_.dterms.of<&QueryCrossTerm::query_cross>()) add(ds[b], q, Kp_, &dquery_cross_[x]);
        if (t_.terms.of<&ProfileTerm::profile>())
          add(ds[b], &profile_[at[b] * Pp()], Pp(), &dprofile_query_[r.a * Pp()]);
        if (t_.dterms.of<&ProfileTerm::profile>())
          add(ds[b], &profile_query_[r.a * Pp()], Pp(), &dprofile_[at[b] * Pp()]);
        if (t_.terms.of<&KeyCrossTerm::key_cross>()) add(ds[b], &key_cross_[x], Kp_, &dk_[j * Kp_]);
        if (t_.dterms.of<&KeyCrossTerm::key_cross>()) add(ds[b], &k_[j * Kp_], Kp_, &dkey_cross_[x]);
      }
    });
  }

  void finish_gradients() {
    struct Width {
      std::int64_t given, padded;
    };
    const auto collect = [&](float* to, const Scratch& from, const Width& width, float factor) {
      if (!to) return;
      each_distance([&](std::int64_t r, std::int64_t x) {
        for (std::int64_t c = 0; c < width.given; ++c)
          to[r * width.given + c] += factor * from[x * width.padded + c];
      });
    };
    collect(t_.dterms.of<&ByDistanceTerm::by_distance>(), dby_distance_, {1, 1}, 1);
    collect(t_.dterms.of<&QueryCrossTerm::query_cross>(), dquery_cross_, {s_.K, Kp_}, 1 / s_.scale);
    collect(t_.dterms.of<&KeyCrossTerm::key_cross>(), dkey_cross_, {s_.K, Kp_}, 1);
    collect(t_.dterms.of<&ProfileTerm::profile>(), dprofile_, {t_.given->profile_width, Pp()}, 1);
    collect(t_.dterms.of<&ValueTerm::value>(), dvalue_, {s_.D, Dp_}, 1);
    for (std::int64_t j = 0; t_.dterms.of<&ForgetTerm::forget_key>() && j < s_.keys; ++j) {
      for (std::int64_t c = 0; c < t_.given->forget_width; ++c)
        t_.dterms.of<&ForgetTerm::forget_key>()[j * t_.given->forget_width + c] += dforget_k_[j * Wp() + c];
    }
    for (std::int64_t p = 0; t_.dterms.of<&CountedTerm::counted>() && p < count_rows(); ++p) {
      for (std::int64_t c = 0; c < s_.D; ++c)
        t_.dterms.of<&CountedTerm::counted>()[p * s_.D + c] += dcounted_[p * Kp_ + c] / s_.scale;
    }
    if (curve_)
      curve_->collect(t_.dterms.of<&CurveTerm::curve_slope>(), t_.dterms.of<&CurveTerm::curve_intercept>());
    if (t_.dterms.of<&CurveTerm::curve_rate>()) *t_.dterms.of<&CurveTerm::curve_rate>() += float(drate_);
    if (t_.dterms.of<&TiltTerm::tilt>()) *t_.dterms.of<&TiltTerm::tilt>() += float(dtilt_);
    for (std::int64_t j = 0; t_.dterms.of<&TiltTerm::tilt_key>() && j < s_.keys; ++j)
      t_.dterms.of<&TiltTerm::tilt_key>()[j] += dtilt_key_[j];
    if (t_.dterms.of<&ByTokenTerm::by_key>()) {
      for (std::int64_t j = 0; j < s_.keys; ++j) t_.dterms.of<&ByTokenTerm::by_key>()[j] += dby_key_[j];
    }
  }

  const bool mixed_;
  Scratch out_, most_, total_, dp_, dscore_;
  Scratch dq_, dk_, dv_, dby_distance_, dby_key_, dquery_cross_, dkey_cross_, dvalue_;
  Scratch dprofile_query_, dprofile_;
  Scratch dfar_q_, dfar_k_, dforget_q_, dforget_k_, dcounted_, dtilt_key_;
  double drate_ = 0, dtilt_ = 0;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
