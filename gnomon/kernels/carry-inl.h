// Rows that go from token to token, side by side: included once per SIMD target.
#if defined(GNOMON_KERNELS_CARRY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_CARRY_INL_H_
#undef GNOMON_KERNELS_CARRY_INL_H_
#else
#define GNOMON_KERNELS_CARRY_INL_H_
#endif
#include "gnomon/kernels/attend_distances-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Numbers begin..end of a run.
struct Run {
  std::int64_t begin, end;
  bool empty() const { return begin >= end; }
  std::int64_t size() const { return end - begin; }
  Run within(const Run& other) const { return {std::max(begin, other.begin), std::min(end, other.end)}; }
  Run moved(std::int64_t by) const { return {begin + by, end + by}; }
};

// Rows of `width` channels side by side, a row in each lane: channel c of row r is data[c·step + r]; a step is whole vectors.
struct Lanes {
  float* data;
  std::int64_t step, width;
  // f(first lane, an integral constant: how many vectors) for the vectors that rows of the run lie in.
  template <class Body>
  static HWY_INLINE void each_group(const Run& rows, const Body& f) {
    std::int64_t b = rows.begin / lanes() * lanes();
    for (; b + 3 * lanes() < rows.end; b += 4 * lanes()) f(b, std::integral_constant<int, 4>());
    for (; b < rows.end; b += lanes()) f(b, std::integral_constant<int, 1>());
  }
  static HWY_INLINE Mask of_run(const Run& rows, std::int64_t b) {
    const auto below = [&](std::int64_t end) HWY_ATTR {
      return hn::FirstN(F(), std::size_t(std::clamp<std::int64_t>(end - b, 0, lanes())));
    };
    return hn::AndNot(below(rows.begin), below(rows.end));
  }

  // to[r] = Σ_c w[c]·x[c,r] for the rows of a run, 0 for what is beside them in their vectors.
  void dots(const Run& rows, const float* w, float* to) const {
    each_group(rows, [&](std::int64_t b, auto vectors) HWY_ATTR {
      constexpr int W = decltype(vectors)::value;
      V sums[W];
      GNOMON_UNROLL
      for (int u = 0; u < W; ++u) sums[u] = hn::Zero(F());
      const float* x = data + b;
      for (std::int64_t c = 0; c < width; ++c, x += step) {
        const V factor = set(w[c]);
        GNOMON_UNROLL
        for (int u = 0; u < W; ++u) sums[u] = hn::MulAdd(factor, hn::LoadU(F(), x + u * lanes()), sums[u]);
      }
      GNOMON_UNROLL
      for (int u = 0; u < W; ++u) {
        const std::int64_t at = b + u * lanes();
        hn::StoreU(hn::IfThenElseZero(of_run(rows, at), sums[u]), F(), to + at);
      }
    });
  }
  // x[c,r] += factor[r]·w[c]. A row whose factor is 0 stays as it is, whatever w holds.
  void add(const Run& rows, const float* factor, const float* w) const {
    each_group(rows, [&](std::int64_t b, auto vectors) HWY_ATTR {
      constexpr int W = decltype(vectors)::value;
      V of_row[W];
      GNOMON_UNROLL
      for (int u = 0; u < W; ++u) of_row[u] = hn::LoadU(F(), factor + b + u * lanes());
      float* x = data + b;
      for (std::int64_t c = 0; c < width; ++c, x += step) {
        const V of_channel = set(w[c]);
        GNOMON_UNROLL
        for (int u = 0; u < W; ++u) {
          float* at = x + u * lanes();
          const V old = hn::LoadU(F(), at);
          hn::StoreU(
              hn::IfThenElse(hn::Eq(of_row[u], hn::Zero(F())), old, hn::MulAdd(of_row[u], of_channel, old)),
              F(), at);
        }
      }
    });
  }
  // to[c] += Σ_r factor[r]·x[c,r]. A row whose factor is 0 adds nothing, whatever it holds.
  void sum(const Run& rows, const float* factor, float* to) const {
    each_group(rows, [&](std::int64_t b, auto vectors) HWY_ATTR {
      constexpr int W = decltype(vectors)::value;
      V of_row[W];
      GNOMON_UNROLL
      for (int u = 0; u < W; ++u) of_row[u] = hn::LoadU(F(), factor + b + u * lanes());
      const float* x = data + b;
      for (std::int64_t c = 0; c < width; ++c, x += step) {
        V total = hn::Zero(F());
        GNOMON_UNROLL
        for (int u = 0; u < W; ++u) {
          const V held = hn::LoadU(F(), x + u * lanes());
          total = hn::MulAdd(of_row[u], hn::IfThenZeroElse(hn::Eq(of_row[u], hn::Zero(F())), held), total);
        }
        to[c] += HWY_NAMESPACE::sum(total);
      }
    });
  }
  // x[c,r] *= w[c]
  void scale(const Run& rows, const float* w) const {
    each_group(rows, [&](std::int64_t b, auto vectors) HWY_ATTR {
      constexpr int W = decltype(vectors)::value;
      float* x = data + b;
      for (std::int64_t c = 0; c < width; ++c, x += step) {
        const V factor = set(w[c]);
        GNOMON_UNROLL
        for (int u = 0; u < W; ++u) {
          float* at = x + u * lanes();
          const V old = hn::LoadU(F(), at);
          hn::StoreU(hn::IfThenElse(of_run(rows, b + u * lanes()), hn::Mul(old, factor), old), F(), at);
        }
      }
    });
  }
  // Rows whose gradient, that of their channels and that in `also` (rows m of as many lanes), is all 0 become 0: they take part in
  // no sum, whatever they held.
  void clear_idle(const Run& rows, const Lanes& gradient, const Lanes& also) const {
    const auto adds = [](const Lanes& x, std::int64_t r) {
      for (std::int64_t c = 0; c < x.width; ++c) {
        if (x.data[c * x.step + r] != 0) return true;
      }
      return false;
    };
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      if (adds(gradient, r) || adds(also, r)) continue;
      for (std::int64_t c = 0; c < width; ++c) data[c * step + r] = 0;
    }
  }
};

// What the tokens of one head do to a row that goes past them, in terms/carry.h: y − strength·(axis·y)·axis, or e^gate·y channel
// by channel. Both are symmetric.
class Operators {
 public:
  Operators(const HeadTask& t, std::int64_t tokens, std::int64_t width)
      : width_(width),
        axis_(t.terms.of<&CarryTerm::carry_axis>()),
        strength_(t.terms.of<&CarryTerm::carry_strength>()),
        daxis_(t.dterms.of<&CarryTerm::carry_axis>()),
        dstrength_(t.dterms.of<&CarryTerm::carry_strength>()) {
    if (axis_) return;
    const float* gate = t.terms.of<&CarryTerm::carry_gate>();
    fade_.resize(std::size_t(tokens * width));
    for (std::int64_t n = 0; n < tokens * width; n += lanes())
      store(exp(load(gate + n, tokens * width - n)), &fade_[n], tokens * width - n);
  }
  bool fades() const { return !axis_; }
  const float* fade(std::int64_t t) const { return &fade_[t * width_]; }

  // Rows of a run go past token t. `along` (lanes) keeps axis·y for the way back.
  void apply(std::int64_t t, const Lanes& y, const Run& rows, float* along) {
    if (rows.empty()) return;
    if (fades()) return y.scale(rows, fade(t));
    y.dots(rows, axis(t), along);
    y.add(rows, times(-strength_[t], rows, along), axis(t));
  }
  // And back: dy becomes the gradient of the rows before the token. With axes y becomes what it was before, by what was taken
  // away; with gates it stays.
  void apply_back(std::int64_t t, const Lanes& y, const Lanes& dy, const Run& rows, const float* along) {
    if (rows.empty()) return;
    if (fades()) return dy.scale(rows, fade(t));
    y.add(rows, times(strength_[t], rows, along), axis(t));
    back_.assign(std::size_t(width_), 0.0f);
    dy.sum(rows, times(-strength_[t], rows, along), back_.data());
    dalong_.resize(std::size_t(y.step));
    dy.dots(rows, axis(t), dalong_.data());
    double dstrength = 0;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      if (dalong_[r] != 0) dstrength -= double(along[r]) * double(dalong_[r]);
    }
    const float* dy_along = times(-strength_[t], rows, dalong_.data());
    y.sum(rows, dy_along, back_.data());
    dy.add(rows, dy_along, axis(t));
    if (dstrength_) dstrength_[t] += float(dstrength);
    for (std::int64_t c = 0; daxis_ && c < width_; ++c) daxis_[t * width_ + c] += back_[c];
  }

 private:
  const float* axis(std::int64_t t) const { return axis_ + t * width_; }
  // For the rows of a run, and 0 for what is beside them in their vectors, whatever the factor is.
  const float* times(float factor, const Run& rows, const float* x) {
    scaled_.resize(std::size_t(round_up(rows.end, lanes())));
    for (std::int64_t b = rows.begin / lanes() * lanes(); b < rows.end; b += lanes()) {
      const V product = hn::Mul(set(factor), hn::LoadU(F(), x + b));
      hn::StoreU(hn::IfThenElseZero(Lanes::of_run(rows, b), product), F(), &scaled_[b]);
    }
    return scaled_.data();
  }
  const std::int64_t width_;
  const float *axis_, *strength_;
  float *daxis_, *dstrength_;
  Scratch fade_, scaled_, dalong_, back_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
