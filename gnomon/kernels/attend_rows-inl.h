// Attention of one sequence by rows, all heads of a few queries at a time: included once per SIMD target, by
// attend_rows.cpp.
#if defined(GNOMON_KERNELS_ATTEND_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_ROWS_INL_H_
#undef GNOMON_KERNELS_ATTEND_ROWS_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_ROWS_INL_H_
#endif
#include "gnomon/kernels/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

class SequenceRows {
 public:
  explicit SequenceRows(const RowsTask& t)
      : t_(t),
        s_(t.shape),
        N_(lanes()),
        shift_(s_.keys - s_.queries),
        Kp_(round_up(s_.K, N_)),
        Wp_(round_up(s_.K + s_.beside, N_)),
        Dp_(round_up(s_.D, N_)),
        ld_(round_up(s_.keys, 2 * N_) + 2 * N_) {}

  void forward() {
    pack();
    Scratch out(kBlock * Dp_);
    each_block([&](std::int64_t i0, std::int64_t ni) {
      compute_logits(i0, ni, logits_);
      for (std::int64_t a = 0; a < ni; ++a) {
        const QueryRow query = row(i0 + a);
        for (const auto& rule : t_.terms->rules) rule->forward(query, rows(logits_, a));
        for (std::int64_t h = 0; h < s_.H; ++h) soften(query, at(logits_, a, h), lse(h, i0 + a));
      }
      for (std::int64_t h = 0; h < s_.H; ++h) {
        each_part(i0, ni, [&](const Part& p) {
          product({p.m, Dp_, p.n()}, {at(logits_, p.a, h) + p.first, s_.H * ld_, 1},
                  &v_[(h * s_.keys + p.first) * Dp_], Dp_, &out[p.a * Dp_], Dp_, false);
        });
        for (std::int64_t a = 0; a < ni; ++a) {
          float* to = t_.out.row(t_.b, i0 + a, h);
          std::copy_n(&out[a * Dp_], s_.D, to);
          if (!t_.terms->value.empty()) add_values(row(i0 + a), h, at(logits_, a, h), to);
        }
      }
    });
  }

  void backward() {
    pack();
    dp_.resize(logits_.size());
    before_.assign(t_.terms->rules.size(), Scratch(logits_.size()));
    Scratch dq(kBlock * Kp_), dout(kBlock * Dp_), raw(kBlock * s_.H * Wp_);
    each_block([&](std::int64_t i0, std::int64_t ni) {
      compute_logits(i0, ni, logits_);
      std::fill(raw.begin(), raw.end(), 0.0f);
      for (std::int64_t h = 0; h < s_.H; ++h) {
        pack_rows(t_.dout, h, {i0, ni, s_.D, Dp_}, nullptr, dout.data());
        product({ni, seen(i0 + ni - 1), s_.D}, {dout.data(), Dp_, 1}, &v_t_[h * s_.D * ld_], ld_,
                at(dp_, 0, h), s_.H * ld_, false);
      }
      for (std::int64_t a = 0; a < ni; ++a) row_backward(row(i0 + a), a, &raw[a * s_.H * Wp_]);
      for (std::int64_t h = 0; h < s_.H; ++h) {
        pack_rows(t_.dout, h, {i0, ni, s_.D, Dp_}, nullptr, dout.data());
        each_part(i0, ni, [&](const Part& p) {
          const std::int64_t key = h * s_.keys + p.first;
          const float *w = at(logits_, p.a, h) + p.first, *ds = at(dp_, p.a, h) + p.first;
          product({p.n(), Dp_, p.m}, {w, 1, s_.H * ld_}, &dout[p.a * Dp_], Dp_, t_.dv + key * Dp_, Dp_, true);
          product({p.n(), Kp_, p.m}, {ds, 1, s_.H * ld_}, &q_[(h * kBlock + p.a) * Kp_], Kp_,
                  t_.dk + key * Wp_, Wp_, true);
          product({p.m, Kp_, p.n()}, {ds, s_.H * ld_, 1}, &k_[key * Kp_], Kp_, &dq[p.a * Kp_], Kp_, false);
        });
        for (std::int64_t a = 0; a < ni; ++a) {
          float* to = t_.dq.row(t_.b, i0 + a, h);
          const float* own = &raw[(a * s_.H + h) * Wp_];
          for (std::int64_t c = 0; c < s_.K + s_.beside; ++c)
            to[c] = own[c] + (c < s_.K ? s_.scale * dq[a * Kp_ + c] : 0.0f);
        }
      }
    });
  }

 private:
  static constexpr std::int64_t kBlock = 12;  // queries at a time

  template <class Body>
  void each_block(const Body& body) {
    for (std::int64_t i0 = t_.piece * kBlock; i0 < s_.queries; i0 += t_.pieces * kBlock)
      body(i0, std::min(kBlock, s_.queries - i0));
  }
  // Rows a..a+m of a block and the keys first ≤ j < end: the whole block and what its last row sees, whose weights are
  // 0 for who does not; where 0·x may not be 0, each row alone and what it sees.
  struct Part {
    std::int64_t a, m, first, end;
    std::int64_t n() const { return end - first; }
  };
  template <class Body>
  void each_part(std::int64_t i0, std::int64_t ni, const Body& body) const {
    if (tame_) return body(Part{0, ni, 0, seen(i0 + ni - 1)});
    for (std::int64_t a = 0; a < ni; ++a) body(Part{a, 1, row(i0 + a).first, row(i0 + a).end});
  }
  float* at(Scratch& x, std::int64_t a, std::int64_t h) { return &x[(a * s_.H + h) * ld_]; }
  LogitRows rows(Scratch& x, std::int64_t a) { return {at(x, a, 0), ld_}; }
  float& lse(std::int64_t h, std::int64_t i) const { return t_.lse[h * s_.queries + i]; }
  std::int64_t seen(std::int64_t i) const { return row(i).end; }
  QueryRow row(std::int64_t i) const {
    const Terms& t = *t_.terms;
    const std::int64_t token = i + shift_;
    const auto own = [&](const std::vector<std::int32_t>& x) {
      return std::int64_t(x[(std::int64_t(x.size()) > s_.keys ? t_.b * s_.keys : 0) + token]);
    };
    const std::int64_t last = s_.causal ? token + 1 : s_.keys;
    const std::int64_t end = t.end_key.empty() ? last : std::clamp<std::int64_t>(own(t.end_key), 0, last);
    const std::int64_t first = t.first_key.empty() ? 0 : std::clamp<std::int64_t>(own(t.first_key), 0, end);
    return {t_.b, token, first, end, s_.H, t_.q, t_.k, i};
  }
  // Column of the arrays over distances.
  std::int64_t column(const QueryRow& query, std::int64_t j) const {
    const Terms& t = *t_.terms;
    if (t.places.empty()) return query.at - j - t.first_distance;
    const std::int64_t* p = t.places.data() + (std::int64_t(t.places.size()) > s_.keys ? t_.b * s_.keys : 0);
    return p[query.at] - p[j] - t.first_distance;
  }

  // Rows first..first+n of a head. A row that is padding becomes 0: nobody sees it, whatever it holds.
  struct Extents {
    std::int64_t first, n, width, padded;
  };
  void pack_rows(Heads<const float> x, std::int64_t h, const Extents& e, const std::uint8_t* padding,
                 float* to) {
    auto tame = all_lanes();
    for (std::int64_t t = 0; t < e.n; ++t, to += e.padded) {
      const std::int64_t width = padding && padding[t] ? 0 : e.width;
      std::copy_n(x.row(t_.b, e.first + t, h), width, to);
      std::fill(to + width, to + e.padded, 0.0f);
      for (std::int64_t c = 0; c < e.padded; c += N_) tame = hn::And(tame, is_tame(hn::LoadU(F(), to + c)));
    }
    tame_ = tame_ && hn::AllTrue(F(), tame);
  }
  // Of keys.
  void pack_transposed(Heads<const float> x, std::int64_t h, std::int64_t width, float* to) const {
    for (std::int64_t t = 0; t < s_.keys; ++t) {
      const float* from = x.row(t_.b, t, h);
      const bool hide = t_.padding && t_.padding[t];
      for (std::int64_t c = 0; c < width; ++c) to[c * ld_ + t] = hide ? 0.0f : from[c];
    }
    for (std::int64_t c = 0; c < width; ++c) std::fill(to + c * ld_ + s_.keys, to + (c + 1) * ld_, 0.0f);
  }
  void pack() {
    q_.resize(s_.H * kBlock * Kp_), logits_.resize(kBlock * s_.H * ld_);
    k_t_.resize(s_.H * s_.K * ld_), v_.resize(s_.H * s_.keys * Dp_);
    if (t_.dk) k_.resize(s_.H * s_.keys * Kp_), v_t_.resize(s_.H * s_.D * ld_);
    for (std::int64_t h = 0; h < s_.H; ++h) {
      pack_transposed(t_.k, h, s_.K, &k_t_[h * s_.K * ld_]);
      pack_rows(t_.v, h, {0, s_.keys, s_.D, Dp_}, t_.padding, &v_[h * s_.keys * Dp_]);
      if (!t_.dk) continue;
      pack_rows(t_.k, h, {0, s_.keys, s_.K, Kp_}, t_.padding, &k_[h * s_.keys * Kp_]);
      pack_transposed(t_.v, h, s_.D, &v_t_[h * s_.D * ld_]);
    }
  }

  // scale·q·kᵀ and every term, −∞ where a key is hidden or not seen.
  void compute_logits(std::int64_t i0, std::int64_t ni, Scratch& to) {
    const Terms& t = *t_.terms;
    const std::int64_t H = s_.H, R = t.distances;
    for (std::int64_t h = 0; h < H; ++h) {
      float* q = &q_[h * kBlock * Kp_];
      pack_rows(t_.q, h, {i0, ni, s_.K, Kp_}, nullptr, q);
      for (std::int64_t n = 0; n < ni * Kp_; ++n) q[n] *= s_.scale;
      product({ni, seen(i0 + ni - 1), s_.K}, {q, Kp_, 1}, &k_t_[h * s_.K * ld_], ld_, at(to, 0, h), H * ld_,
              false);
      for (std::int64_t a = 0; a < ni; ++a) {
        const QueryRow query = row(i0 + a);
        float* s = at(to, a, h);
        std::fill(s, s + query.first, kLowest);
        std::fill(s + query.end, s + ld_, kLowest);
        const float by_query = t.by_query.empty() ? 0.0f : t.by_query[(t_.b * H + h) * s_.queries + i0 + a];
        const float* by_key = t.by_key.empty() ? nullptr : &t.by_key[(t_.b * H + h) * s_.keys];
        for (std::int64_t j = query.first; j < query.end; ++j) {
          s[j] = no_infinity(s[j]);
          if (!t.by_distance.empty()) s[j] += t.by_distance[h * R + column(query, j)];
          if (by_key) s[j] += by_query + by_key[j];
          if (!by_key) s[j] += by_query;
        }
        if (!t.query_cross.empty() || !t.key_cross.empty()) add_cross(query, h, s);
        for (std::int64_t j = query.first; t_.padding && j < query.end; ++j) {
          if (t_.padding[j]) s[j] = kLowest;
        }
      }
    }
  }
  const float* distance_row(const Floats& array, const QueryRow& query, std::int64_t h, std::int64_t j,
                            std::int64_t width) const {
    return &array[(h * t_.terms->distances + column(query, j)) * width];
  }
  void add_cross(const QueryRow& query, std::int64_t h, float* s) const {
    const Terms& t = *t_.terms;
    for (std::int64_t j = query.first; j < query.end; ++j) {
      if (!t.query_cross.empty())
        s[j] += no_infinity(dot(query.query_head(h), distance_row(t.query_cross, query, h, j, s_.K), s_.K));
      if (!t.key_cross.empty())
        s[j] += no_infinity(dot(query.key_head(h, j), distance_row(t.key_cross, query, h, j, s_.K), s_.K));
    }
  }
  bool softmax() const {
    for (const auto& rule : t_.terms->rules) {
      if (!rule->softmax()) return false;
    }
    return true;
  }

  // s becomes the weights; where nothing is seen they are 0.
  void soften(const QueryRow& query, float* s, float& lse) const {
    float most = kLowest, total = 0;
    bool defined = true;  // no logit is NaN or +∞
    for (std::int64_t j = query.first; j < query.end; ++j) {
      if (t_.padding && t_.padding[j]) s[j] = kLowest;
      most = std::max(most, s[j]);
      defined = defined && s[j] < -kLowest;
    }
    if (!softmax()) {
      lse = 0;
    } else if (!defined) {
      lse = std::numeric_limits<float>::quiet_NaN();
    } else if (most == kLowest) {
      lse = kLowest;
    } else {
      for (std::int64_t j = query.first; j < query.end; ++j) total += std::exp(s[j] - most);
      lse = most + std::log(total);
    }
    weigh(query, lse, s);
  }
  void weigh(const QueryRow& query, float lse, float* s) const {
    std::fill(s, s + query.first, 0.0f);
    std::fill(s + query.end, s + ld_, 0.0f);
    if (lse == kLowest) return std::fill(s + query.first, s + query.end, 0.0f);
    const V most = set(lse);
    for (std::int64_t j = query.first; j < query.end; j += N_) {
      const std::int64_t n = query.end - j;
      store(exp(hn::Sub(load(s + j, n), most)), s + j, n);
    }
  }
  void add_values(const QueryRow& query, std::int64_t h, const float* p, float* out) const {
    for (std::int64_t j = query.first; j < query.end; ++j) {
      const float* value = distance_row(t_.terms->value, query, h, j, s_.D);
      for (std::int64_t d = 0; d < s_.D; ++d) out[d] += p[j] * value[d];
    }
  }

  // Row a of every head: logits_ from s to p, dp_ from dp to the gradient of scale·q·k.
  void row_backward(const QueryRow& query, std::int64_t a, float* raw) {
    const Terms& t = *t_.terms;
    for (std::size_t r = 0; r < t.rules.size(); ++r) {
      std::copy_n(at(logits_, a, 0), s_.H * ld_, at(before_[r], a, 0));
      t.rules[r]->forward(query, rows(logits_, a));
    }
    const bool normalised = softmax();
    for (std::int64_t h = 0; h < s_.H; ++h) {
      float *p = at(logits_, a, h), *ds = at(dp_, a, h);
      for (std::int64_t j = query.first; t_.padding && j < query.end; ++j) {
        if (t_.padding[j]) p[j] = kLowest;
      }
      weigh(query, lse(h, query.query), p);
      const float* dout = t_.dout.row(t_.b, query.query, h);
      const float mean = normalised ? dot(dout, t_.forward_out.row(t_.b, query.query, h), s_.D) : 0.0f;
      if (!t.value.empty()) value_backward(query, h, p, dout, ds);
      for (std::int64_t j = query.first; j < query.end; ++j) ds[j] = p[j] * (ds[j] - mean);
      std::fill(ds, ds + query.first, 0.0f);
      std::fill(ds + query.end, ds + ld_, 0.0f);
    }
    for (std::size_t r = t.rules.size(); r-- > 0;) {
      t.rules[r]->backward(query, rows(before_[r], a), rows(dp_, a),
                           {{raw, Wp_}, t_.dk, s_.keys * Wp_, Wp_, (*t_.drules)[r].data()});
    }
    for (std::int64_t h = 0; h < s_.H; ++h) terms_backward(query, h, at(dp_, a, h), raw + h * Wp_);
  }
  void value_backward(const QueryRow& query, std::int64_t h, const float* p, const float* dout, float* dp) {
    for (std::int64_t j = query.first; j < query.end; ++j) {
      const float* value = distance_row(t_.terms->value, query, h, j, s_.D);
      dp[j] += dot(dout, value, s_.D);
      if (t_.dterms->value.empty()) continue;
      float* dvalue = const_cast<float*>(distance_row(t_.dterms->value, query, h, j, s_.D));
      for (std::int64_t d = 0; d < s_.D; ++d) dvalue[d] += p[j] * dout[d];
    }
  }
  void terms_backward(const QueryRow& query, std::int64_t h, const float* ds, float* dq) {
    const Terms& t = *t_.terms;
    Terms& d = *t_.dterms;
    const std::int64_t R = t.distances;
    float by_query = 0;
    for (std::int64_t j = query.first; j < query.end; ++j) {
      if (t_.padding && t_.padding[j]) continue;
      by_query += ds[j];
      if (!d.by_distance.empty()) d.by_distance[h * R + column(query, j)] += ds[j];
      if (!d.by_key.empty()) d.by_key[(t_.b * s_.H + h) * s_.keys + j] += ds[j];
      if (!t.query_cross.empty())
        cross_backward(query, h, j, ds[j], {&t.query_cross, &d.query_cross}, query.query_head(h), dq);
      if (!t.key_cross.empty())
        cross_backward(query, h, j, ds[j], {&t.key_cross, &d.key_cross}, query.key_head(h, j),
                       t_.dk + (h * s_.keys + j) * Wp_);
    }
    if (!d.by_query.empty()) d.by_query[(t_.b * s_.H + h) * s_.queries + query.query] += by_query;
  }
  struct Cross {
    const Floats* array;
    Floats* gradient;
  };
  // ds·x·array[δ]: x is q or k of this head.
  void cross_backward(const QueryRow& query, std::int64_t h, std::int64_t j, float ds, const Cross& cross,
                      const float* x, float* dx) const {
    const float* row = distance_row(*cross.array, query, h, j, s_.K);
    for (std::int64_t c = 0; c < s_.K; ++c) dx[c] += ds * row[c];
    if (cross.gradient->empty()) return;
    float* drow = const_cast<float*>(distance_row(*cross.gradient, query, h, j, s_.K));
    for (std::int64_t c = 0; c < s_.K; ++c) drow[c] += ds * x[c];
  }

  static float dot(const float* a, const float* b, std::int64_t n) {
    V total = hn::Zero(F());
    for (std::int64_t c = 0; c < n; c += lanes())
      total = hn::MulAdd(load(a + c, n - c), load(b + c, n - c), total);
    return sum(total);
  }

  static constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const RowsTask& t_;
  const AttendShape& s_;
  const std::int64_t N_, shift_, Kp_, Wp_, Dp_;
  const std::int64_t ld_;  // distance between rows of logits, and of what is packed transposed
  bool tame_ = true;       // so far, every row that was packed
  Scratch q_, k_, k_t_, v_, v_t_, logits_, dp_;
  std::vector<Scratch> before_;  // what each rule found
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
