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
    logits_.clear_margin();
    rows_times(tile, logits_.data(), &v_[tile.j0 * Dp_], Dp_, out_.data());
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.give(tile); }) kind.give(tile);
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
    pack_keys();
    dp_.resize((bq_ + rows_beside_) * ld_, margin_ + rows_beside_ * ld_), mean_.resize(bq_);
    if (t_.extras.soft_cap != 0) slope_.resize(bq_ * ld_);
    start_gradients();
  }
  void begin_backward(std::int64_t i0, std::int64_t ni) {
    begin_rows(i0, ni);
    pack_rows({t_.dout.row(i0), t_.dout.step}, {ni, s_.D, Dp_}, 1, nullptr, dout_);
    dq_.assign(bq_ * Kp_, 0.0f);
    // No sum divides what the stick leaves; 0·lse is NaN where the row is.
    for (std::int64_t a = 0; a < ni; ++a)
      mean_[a] = sticks() ? 0 * t_.lse[i0 + a] : dot(t_.dout.row(i0 + a), t_.out.row(i0 + a), s_.D);
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.begin_gradients(); }) kind.begin_gradients();
    });
  }
  // From the logits to their gradient, and that of what was added to the score but by the network that mixes heads.
  void backward_to_score(const Tile& tile) {
    times_columns(tile, {dout_.data(), Dp_, 1}, v_t_, s_.D, dp_.data());
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.give_back(tile); }) kind.give_back(tile);
    });
    for (std::int64_t a = 0; a < tile.ni; ++a) soften_backward(tile, a);
    logits_.clear_margin(), dp_.clear_margin();
    // logits_ now holds p, dp_ holds ds.
    if (!separate()) return;
    std::copy_n(dp_.data(), tile.ni * ld_, dscore_.begin());
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.to_score(tile); }) kind.to_score(tile);
    });
  }
  const float* ds(std::int64_t a) const { return &dp_[a * ld_]; }
  float* dscore(std::int64_t a) { return &dscore_[a * ld_]; }
  void backward(const Tile& tile) {
    columns_times(tile, logits_.data(), dout_.data(), Dp_, &dv_[tile.j0 * Dp_]);
    score_backward(tile);
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.backward(tile); }) kind.backward(tile);
    });
  }
  void end_backward(std::int64_t i0, std::int64_t ni) {
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.end_rows(i0, ni); }) kind.end_rows(i0, ni);
    });
    const auto& far = kinds_.of<FarTerm>();
    for (std::int64_t a = 0; a < ni; ++a) {
      float* to = t_.dq.row(i0 + a);
      write_row(&dq_[a * Kp_], s_.K, s_.scale, to);
      if (far) far->write_query(a, to);
      if (!far) std::fill_n(to + s_.K, s_.beside, 0.0f);
    }
  }
  void finish_backward() {
    if (t_.extras.dsink) *t_.extras.dsink = sink_gradient();
    if (auto& carry = kinds_.of<CarryTerm>()) carry->rows_backward(dk_.data());
    const auto& far = kinds_.of<FarTerm>();
    for (std::int64_t j = 0; j < s_.keys; ++j) {
      float* to = t_.dk.row(j);
      write_row(&dk_[j * Kp_], s_.K, 1, to);
      if (far) far->write_key(j, to);
      if (!far) std::fill_n(to + s_.K, s_.beside, 0.0f);
      write_row(&dv_[j * Dp_], s_.D, 1, t_.dv.row(j));
    }
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.finish(); }) kind.finish();
    });
  }

 private:
  // Behind what it sees, a row becomes 0 up to here.
  std::int64_t end_of_row(const Tile& tile) const {
    return by_distance_ ? ld_ : round_up(tile.nj, 2 * lanes());
  }
  // Whether weights are divided by their sum.
  bool summed() const { return !sticks() && !t_.extras.of_weights; }
  // The gradient of the score is not that of the logits.
  bool separate() const {
    return mixed_ || kinds_.has<FarTerm>() ||
           kinds_.any([]<class Kind>(const Kind&) { return GivesToScore<Kind>; });
  }
  // No logit can be anything but a number, given the numbers that were packed.
  bool sure() const {
    return tame_ && !mixed_ && !adds_to_rows_ && !sticks() &&
           !kinds_.any([]<class Kind>(const Kind&) { return AddsByScore<Kind>; });
  }
  // What was not added before a stick was broken.
  Late late_bias(const Tile& tile, std::int64_t a) { return sticks() ? Late{} : kinds_.late(tile, a); }
  bool late_extras() const { return t_.extras.of_pairs && !sticks(); }

  // No logit of columns from..n is NaN or +∞, or has overflowed to −∞: only what is added may be −∞, to hide a key. (Where a
  // stick was broken, all that is behind: a key `may_hide`, because it may have nothing.)
  bool all_defined(const Late& bias, const float* s, std::int64_t from, std::int64_t n, bool may_hide) {
    auto defined = all_lanes();
    for (std::int64_t b = from / lanes() * lanes(); b < n; b += lanes()) {
      V v = hn::LoadU(F(), s + b);
      v = bias(may_hide ? v : no_infinity(v), b);
      if (b < from) v = hn::IfThenZeroElse(hn::FirstN(F(), from - b), v);
      defined = hn::And(defined, hn::Lt(first(v, n - b), set(-kMinusInfinity)));
    }
    return hn::AllTrue(F(), defined);
  }

  // What row r looks at gets what is added late, the rest of its vectors −∞; the largest in each lane.
  V look(const Seen& r, const Late& bias, float* s) const {
    const V lowest = set(kMinusInfinity);
    V top = lowest;
    std::int64_t b = 0;
    const auto keep = [&](V v) {
      hn::StoreU(v, F(), s + b);
      top = hn::Max(top, v);
    };
    for (; b < r.from; b += lanes()) {
      const V v =
          hn::IfThenElse(hn::FirstN(F(), std::size_t(r.from - b)), lowest, bias(hn::LoadU(F(), s + b), b));
      keep(r.n - b < lanes() ? hn::IfThenElse(hn::FirstN(F(), std::size_t(r.n - b)), v, lowest) : v);
    }
    for (; b + lanes() <= r.n; b += lanes()) keep(bias(hn::LoadU(F(), s + b), b));
    if (b < r.n)
      keep(hn::IfThenElse(hn::FirstN(F(), std::size_t(r.n - b)), bias(hn::LoadU(F(), s + b), b), lowest));
    return top;
  }

  // Online softmax of row a: the tile's logits become exp(s − m); the sum and the output so far are rescaled
  // when the maximum m grows. Columns that the row does not see become 0. A logit that is no number makes m NaN, and
  // so the sum and the output.
  void soften(const Tile& tile, std::int64_t a, float& most, float& total, float* out) {
    float* s = &logits_[a * ld_];
    const std::int64_t from = hidden(tile, a), n = visible(tile, a), end = end_of_row(tile);
    Late bias = late_bias(tile, a);
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
    const V top = look({a, from, n}, bias, s);
    if (t_.extras.logits.data)
      std::copy(s + from, s + std::max(from, n), at(t_.extras.logits, tile, a) + from);
    const float high = summed() ? std::max(most, hn::GetLane(hn::MaxOfLanes(F(), top))) : most;
    const float now = defined ? high : std::numeric_limits<float>::quiet_NaN();
    V sum_now = hn::Zero(F());
    std::int64_t b = 0;
    if (now != kMinusInfinity) {
      for (; b < n; b += lanes()) {
        const V p = weight(hn::Sub(hn::LoadU(F(), s + b), set(now)));
        hn::StoreU(p, F(), s + b);
        sum_now = hn::Add(sum_now, p);
      }
      const float rise = now - most;
      const float shrink = rise == 0 ? 1.0f : tame_ && -rise < kNothing ? 0.0f : std::exp(-rise);
      total = summed() ? total * shrink + sum(sum_now) : total * shrink;
      if (shrink != 1.0f) {
        for (std::int64_t c = 0; c < Dp_; c += lanes())
          hn::StoreU(hn::Mul(set(shrink), hn::LoadU(F(), out + c)), F(), out + c);
      }
      most = now;
    }
    for (; b < end; b += lanes()) hn::StoreU(hn::Zero(F()), F(), s + b);
  }

  // --- Gradients

  void start_gradients() {
    dk_.assign(s_.keys * Kp_, 0.0f);
    dv_.assign(s_.keys * Dp_, 0.0f);
    if (separate()) dscore_.resize(bq_ * ld_);
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.start_gradients(); }) kind.start_gradients();
    });
  }

  // Row a: logits_ from s to p, dp_ from dp to ds.
  void soften_backward(const Tile& tile, std::int64_t a) {
    float *s = &logits_[a * ld_], *dp = &dp_[a * ld_];
    const std::int64_t i = tile.i0 + a, end = end_of_row(tile);
    const float lse = t_.lse[i];
    const std::int64_t n = lse == kMinusInfinity ? 0 : visible(tile, a), from = hidden(tile, a);
    Late bias = late_bias(tile, a);
    const bool may_hide = late_extras();
    if (may_hide) add_extras(tile, {a, from, n}, std::exchange(bias, {}));
    const V mean = set(mean_[a]);
    const auto both = [&](std::int64_t b) HWY_ATTR {
      const V p = weight(hn::Sub(bias(hn::LoadU(F(), s + b), b), set(lse)));
      return std::pair(p, hn::Mul(p, hn::Sub(hn::LoadU(F(), dp + b), mean)));
    };
    std::int64_t b = 0;
    for (; from == 0 && !may_hide && b + lanes() <= n; b += lanes()) {
      const auto [p, ds] = both(b);
      hn::StoreU(p, F(), s + b), hn::StoreU(ds, F(), dp + b);
    }
    for (; b < n; b += lanes()) {
      auto [p, ds] = both(b);
      Mask looks = hn::FirstN(F(), std::size_t(n - b));
      if (b < from) looks = hn::AndNot(hn::FirstN(F(), std::size_t(from - b)), looks);
      if (may_hide) looks = hn::AndNot(hn::Eq(hn::LoadU(F(), s + b), set(kMinusInfinity)), looks);
      hn::StoreU(hn::IfThenElseZero(looks, p), F(), s + b);
      hn::StoreU(hn::IfThenElseZero(looks, ds), F(), dp + b);
    }
    if (std::isnan(lse)) {  // of NaN hn::Exp made 0; ds is NaN by the mean
      each_run(tile, a, [&](std::int64_t begin, std::int64_t run_end) {
        if (begin < run_end) std::fill(s + begin, s + run_end, lse);
      });
    }
    for (; b < end; b += lanes()) {
      hn::StoreU(hn::Zero(F()), F(), s + b);
      hn::StoreU(hn::Zero(F()), F(), dp + b);
    }
    if (from >= n) return;
    const Seen r{a, from, n};
    if (sticks()) kinds_.of<StickTerm>()->unbreak(r, dp);
    if (t_.extras.of_pairs) extras_backward(tile, r, dp);
    kinds_.each([&](auto& kind) {
      if constexpr (requires { kind.backward(tile, r, dp); }) kind.backward(tile, r, dp);
    });
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
  // What ds gives to q and k, each product its keys.
  void score_backward(const Tile& tile) {
    const float* ds = separate() ? dscore_.data() : dp_.data();
    if (auto& carry = kinds_.of<CarryTerm>()) return carry->score_backward(tile, ds);
    auto& far = kinds_.of<FarTerm>();
    if (far) far->score_backward(tile);
    if (far && far->reach_of(tile) == Reach::far) return;
    columns_times(tile, ds, q_.data(), Kp_, &dk_[tile.j0 * Kp_]);
    rows_times(tile, ds, &k_[tile.j0 * Kp_], Kp_, dq_.data());
  }

  const bool mixed_;
  Scratch most_, total_, mean_;  // of the rows of a tile; mean: Σ_j p dp
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
