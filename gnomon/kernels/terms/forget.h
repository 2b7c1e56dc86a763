#ifndef GNOMON_KERNELS_TERMS_FORGET_H_
#define GNOMON_KERNELS_TERMS_FORGET_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += Σ_l ln σ(forget_query[h,i]·forget_key[h,l]) over the keys j ≤ l < i that i sees. Data-dependent ALiBi
struct ForgetTerm {
  std::int64_t forget_width = 0;
  Floats forget_query, forget_key;  // (B,H,tokens,width) both

  static constexpr TermFacts kFacts{.name = "forget", .once = "sum forget gates along the keys"};
  static constexpr WidthOf<ForgetTerm> kWidth{"forget_width", &ForgetTerm::forget_width};
  static constexpr std::array kArrays{ArrayOf<ForgetTerm>{"forget_query",
                                                          &ForgetTerm::forget_query,
                                                          {Dim::sequences, Dim::heads, Dim::tokens, Dim::own},
                                                          &ForgetTerm::forget_query},
                                      ArrayOf<ForgetTerm>{"forget_key",
                                                          &ForgetTerm::forget_key,
                                                          {Dim::sequences, Dim::heads, Dim::keys, Dim::own},
                                                          &ForgetTerm::forget_query}};
  std::int64_t own(const AttendShape&) const { return forget_width; }
  bool operator==(const ForgetTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// Σ_l ln σ(z_il) over the keys j ≤ l < i.
class Forget {
 public:
  // The gates of a row: of the keys that it sees before its own token, but for those that are hidden.
  struct Gates {
    Seen row;
    std::int64_t own;           // column of its token
    const std::uint8_t* hides;  // by column, or null
    HWY_INLINE Mask at(std::int64_t b) const {
      const Mask before =
          hn::FirstN(F(), std::size_t(std::clamp<std::int64_t>(std::min(own, row.n) - b, 0, lanes())));
      return hides ? hn::And(before, zero_bytes(hides + b, row.n - b)) : before;
    }
  };
  void resize(std::int64_t rows, std::int64_t step) { ld_ = step, z_.resize(rows * step); }
  void start(std::int64_t rows) { along_.start(rows); }
  void begin() { along_.begin(); }
  Scratch& z() { return z_; }
  void learn(const Gates& g) {
    const Seen& r = g.row;
    double& total = along_.total[r.a];
    for (std::int64_t b = r.from; b < r.n; b += lanes()) total += first_lane(sums(g, b));
  }
  void add(const Gates& g, float* s) {
    const Seen& r = g.row;
    double left = along_.left[r.a];
    for (std::int64_t b = r.from; b < r.n; b += lanes()) {
      const V here = sums(g, b);
      left -= first_lane(here);
      hn::StoreU(hn::Add(hn::LoadU(F(), s + b), hn::Add(set(float(left)), here)), F(), s + b);
    }
    along_.left[r.a] = left;
  }
  // A gate counts for every key at or before it: z becomes dz.
  void backward(const Gates& g, const float* ds) {
    const Seen& r = g.row;
    float* z = &z_[r.a * ld_];
    double before = along_.dsum[r.a];
    for (std::int64_t b = r.from; b < r.n; b += lanes()) {
      const V back = sums_from(hn::Reverse(F(), first(hn::LoadU(F(), ds + b), r.n - b)));
      const V up_to = hn::Add(set(float(before)), hn::Reverse(F(), back));
      const V closed = sigmoid(hn::Neg(hn::LoadU(F(), z + b)));
      hn::StoreU(hn::IfThenElseZero(g.at(b), hn::Mul(up_to, closed)), F(), z + b);
      before += first_lane(back);
    }
    along_.dsum[r.a] = before;
  }

 private:
  // Σ ln σ(z) from each lane on.
  HWY_INLINE V sums(const Gates& g, std::int64_t b) const {
    const V z = hn::LoadU(F(), &z_[g.row.a * ld_ + b]);
    return sums_from(hn::IfThenElseZero(g.at(b), hn::Neg(softplus(hn::Neg(z)))));
  }
  std::int64_t ld_ = 0;
  Scratch z_;
  Along along_;
};

template <>
class AtWork<ForgetTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head) : TermAtWork(head) {
    const Strided<float> keys{t_.terms.of<&ForgetTerm::forget_key>(), width_};
    gates_.resize(bq_, ld_);
    head_.pack_rows(keys, {s_.keys, width_, padded_}, 1, t_.padding, k_);
    head_.pack_transposed(keys, s_.keys, width_, k_t_);
  }
  void begin_rows(std::int64_t i0, std::int64_t ni) {
    gates_.start(bq_);
    float* queries = t_.terms.of<&ForgetTerm::forget_query>() + (i0 + shift_) * width_;
    head_.pack_rows({queries, width_}, {ni, width_, padded_}, 1, nullptr, q_);
  }
  void learn(const Tile& tile) {
    begin_tile(tile);
    head_.each_row(tile, [&](const Seen& r) { gates_.learn(of_row(tile, r)); });
  }
  void begin_sums() { gates_.begin(); }
  void begin_tile(const Tile& tile) {
    head_.times_columns(tile, {q_.data(), padded_, 1}, k_t_, width_, gates_.z().data());
  }
  void add(const Tile& tile, const Seen& r, float* s) { gates_.add(of_row(tile, r), s); }

  void start_gradients() { dk_.assign(s_.keys * padded_, 0.0f); }
  void begin_gradients() { dq_.assign(bq_ * padded_, 0.0f); }
  void backward(const Tile& tile, const Seen& r, const float* ds) { gates_.backward(of_row(tile, r), ds); }
  void backward(const Tile& tile) {
    Scratch& dz = gates_.z();
    const std::int64_t end = round_up(tile.nj, 2 * lanes());
    for (std::int64_t a = 0; a < tile.ni; ++a) {
      const Seen r = head_.seen(tile, a);
      // Of a row whose keys are all hidden z is still z: it had no way back.
      const std::int64_t turned = t_.lse[tile.i0 + a] == kMinusInfinity ? 0 : r.n;
      std::fill_n(&dz[a * ld_], std::min(r.from, turned), 0.0f);
      std::fill(&dz[a * ld_] + turned, &dz[a * ld_] + end, 0.0f);
    }
    head_.columns_times(tile, dz.data(), q_.data(), padded_, &dk_[tile.j0 * padded_]);
    head_.rows_times(tile, dz.data(), &k_[tile.j0 * padded_], padded_, dq_.data());
  }
  void end_rows(std::int64_t i0, std::int64_t ni) {
    head_.collect_queries(t_.dterms.of<&ForgetTerm::forget_query>(), dq_, {width_, padded_}, {i0, ni});
  }
  void finish() {
    float* to = t_.dterms.of<&ForgetTerm::forget_key>();
    for (std::int64_t j = 0; to && j < s_.keys; ++j) {
      for (std::int64_t c = 0; c < width_; ++c) to[j * width_ + c] += dk_[j * padded_ + c];
    }
  }

 private:
  // The query's own token may lie outside of the tile.
  Forget::Gates of_row(const Tile& tile, const Seen& r) {
    return {r, tile.i0 + r.a + shift_ - tile.j0, head_.hides(tile, r)};
  }
  const std::int64_t width_ = t_.given->forget_width, padded_ = round_up(width_, lanes());
  Forget gates_;
  Scratch q_, k_, k_t_, dq_, dk_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
