#ifndef GNOMON_KERNELS_TERMS_TILT_H_
#define GNOMON_KERNELS_TERMS_TILT_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += tilt[h]·δ·(tilt_query[h,i] + tilt_key[h,j]). Additive GRAPE
struct TiltTerm {
  Floats tilt, tilt_query, tilt_key;  // (H), (B,H,tokens) twice

  static constexpr TermFacts kFacts{.name = "tilt", .once = "scale the distance by gates"};
  static constexpr std::array kArrays{
      ArrayOf<TiltTerm>{"tilt", &TiltTerm::tilt, {Dim::heads}, &TiltTerm::tilt},
      ArrayOf<TiltTerm>{
          "tilt_query", &TiltTerm::tilt_query, {Dim::sequences, Dim::heads, Dim::tokens}, &TiltTerm::tilt},
      ArrayOf<TiltTerm>{
          "tilt_key", &TiltTerm::tilt_key, {Dim::sequences, Dim::heads, Dim::keys}, &TiltTerm::tilt}};
  bool operator==(const TiltTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <>
class AtWork<TiltTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head) : TermAtWork(head) {
    const float* given = t_.terms.of<&TiltTerm::tilt_key>();
    key_.assign(keys_, 0.0f);
    for (std::int64_t j = 0; j < s_.keys; ++j) key_[j] = t_.padding && t_.padding[j] ? 0.0f : given[j];
  }
  void add(const Tile& tile, const Seen& r, float* s) {
    const float *delta = head_.distances(tile, r), *key = &key_[tile.j0];
    const V query = set(query_[tile.i0 + r.a + shift_]), slope = set(tilt_);
    r.each_vector([&](std::int64_t b) {
      const V gates = hn::Add(query, hn::LoadU(F(), key + b));
      hn::StoreU(hn::MulAdd(hn::Mul(slope, hn::LoadU(F(), delta + b)), gates, hn::LoadU(F(), s + b)), F(),
                 s + b);
    });
  }

  void start_gradients() {
    if (dkey()) dkey_.assign(keys_, 0.0f);
  }
  void backward(const Tile& tile, const Seen& r, const float* ds) {
    const float *delta = head_.distances(tile, r), *key = &key_[tile.j0];
    const std::int64_t token = tile.i0 + r.a + shift_;
    const V query = set(query_[token]), slope = set(tilt_);
    V of_slope = hn::Zero(F()), of_query = of_slope;
    r.each_vector([&](std::int64_t b) {
      const V d = hn::Mul(first(hn::LoadU(F(), ds + b), r.n - b), hn::LoadU(F(), delta + b));
      // What a hidden key holds may be no number.
      const V gates = hn::IfThenZeroElse(hn::Eq(d, hn::Zero(F())), hn::Add(query, hn::LoadU(F(), key + b)));
      of_slope = hn::MulAdd(d, gates, of_slope);
      of_query = hn::Add(d, of_query);
      if (dkey_.empty()) return;
      float* to = &dkey_[tile.j0 + b];
      hn::StoreU(hn::MulAdd(d, slope, hn::LoadU(F(), to)), F(), to);
    });
    dtilt_ += double(sum(of_slope));
    if (float* to = t_.dterms.of<&TiltTerm::tilt_query>()) to[token] += tilt_ * sum(of_query);
  }
  void finish() {
    if (float* to = t_.dterms.of<&TiltTerm::tilt>()) *to += float(dtilt_);
    for (std::int64_t j = 0; dkey() && j < s_.keys; ++j) dkey()[j] += dkey_[j];
  }

 private:
  float* dkey() const { return t_.dterms.of<&TiltTerm::tilt_key>(); }
  const float tilt_ = *t_.terms.of<&TiltTerm::tilt>();
  const float* query_ = t_.terms.of<&TiltTerm::tilt_query>();
  Scratch key_, dkey_;
  double dtilt_ = 0;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
