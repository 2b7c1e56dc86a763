#ifndef GNOMON_KERNELS_TERMS_VALUE_H_
#define GNOMON_KERNELS_TERMS_VALUE_H_
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// o[h,i] += Σ_j p[h,i,j] value[h,δ], of the weights p. Shaw
struct ValueTerm {
  Floats value;  // (H,R,D)

  static constexpr TermFacts kFacts{.name = "value"};
  static constexpr std::array kArrays{
      ArrayOf<ValueTerm>{"value", &ValueTerm::value, {Dim::heads, Dim::distances, Dim::D}}};
  void cached_value(const CachedPair& pair, float p, float* out) const {
    if (p == 0) return;
    const float* row = &value[pair.at * pair.s.D];
    for (std::int64_t d = 0; d < pair.s.D; ++d) out[d] += p * row[d];
  }
  bool operator==(const ValueTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

template <>
class AtWork<ValueTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head) : TermAtWork(head) {
    head_.pack_distances(t_.terms.of<&ValueTerm::value>(), s_.D, 1, rows_, transposed_);
    head_.by_distance_ = true;
  }
  void give(const Tile& tile) {
    if (t_.places) {
      return each_pair(tile, [&](std::int64_t a, std::int64_t b, std::int64_t x) {
        head_.add(head_.logits(a)[b], &rows_[x], Dp_, &head_.out_[a * Dp_]);
      });
    }
    head_.each_panel(tile, [&](const Panel& panel) {
      product({panel.m, Dp_, panel.width}, {head_.by_distance(head_.logits_, panel), ld_ + 1, 1},
              rows_.data() + panel.start * Dp_, Dp_, &head_.out_[panel.a0 * Dp_], Dp_, true);
    });
  }

  void start_gradients() {
    if (gradient()) drows_.assign(span_ * Dp_, 0.0f);
  }
  void give_back(const Tile& tile) {
    const float* dout = head_.dout_.data();
    if (t_.places) {
      return each_pair(tile, [&](std::int64_t a, std::int64_t b, std::int64_t x) {
        head_.dp_[a * ld_ + b] += head_.dot(dout + a * Dp_, &rows_[x], Dp_);
      });
    }
    head_.each_panel(tile, [&](const Panel& panel) {
      product({panel.m, panel.width, s_.D}, {dout + panel.a0 * Dp_, Dp_, 1}, transposed_.data() + panel.start,
              span_, head_.by_distance(head_.dp_, panel), ld_ + 1, true);
    });
  }
  void backward(const Tile& tile) {
    if (!gradient()) return;
    const float* dout = head_.dout_.data();
    if (t_.places) {
      return each_pair(tile, [&](std::int64_t a, std::int64_t b, std::int64_t x) {
        head_.add(head_.logits(a)[b], dout + a * Dp_, Dp_, &drows_[x]);
      });
    }
    head_.each_panel(tile, [&](const Panel& panel) {
      product({panel.width, Dp_, panel.m}, {head_.by_distance(head_.logits_, panel), 1, ld_ + 1},
              dout + panel.a0 * Dp_, Dp_, drows_.data() + panel.start * Dp_, Dp_, true);
    });
  }
  void finish() { head_.collect_distances(gradient(), drows_, {s_.D, Dp_}, 1); }

 private:
  float* gradient() const { return t_.dterms.of<&ValueTerm::value>(); }
  // f(row, column, where the row of its distance begins), with places.
  template <class Body>
  void each_pair(const Tile& tile, const Body& f) {
    head_.each_row(tile, [&](const Seen& r) {
      const std::int32_t* at = head_.columns(tile, r);
      for (std::int64_t b = r.from; b < r.n; ++b) f(r.a, b, at[b] * Dp_);
    });
  }
  Scratch rows_, transposed_, drows_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
