// Products of numbers of each query with rows over distances, for terms that have them: included once per SIMD target.
#if defined(GNOMON_KERNELS_ATTEND_CROSS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_CROSS_INL_H_
#undef GNOMON_KERNELS_ATTEND_CROSS_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_CROSS_INL_H_
#endif
#include "gnomon/kernels/attend_distances-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// s[a,b] += numbers[a]·rows[δ]. Numbers are of the queries of a tile: (queries,padded), 0 beyond the width.
class QueriesByDistance : public TermAtWork {
 public:
  // Rows (R,width), times `factor`.
  QueriesByDistance(Distances& head, const float* rows, std::int64_t width, float factor)
      : TermAtWork(head), width_(width), padded_(round_up(width, N_)) {
    head_.pack_distances(rows, width, factor, rows_, transposed_);
    head_.by_distance_ = true;
  }
  std::int64_t padded() const { return padded_; }
  void add(const Tile& tile, const Scratch& numbers) {
    if (t_.places) {
      return head_.each_row(tile, [&](const Seen& r) {
        const std::int32_t* at = head_.columns(tile, r);
        float* s = head_.logits(r.a);
        for (std::int64_t b = r.from; b < r.n; ++b)
          s[b] += head_.dot(&numbers[r.a * padded_], &rows_[at[b] * padded_], padded_);
      });
    }
    head_.each_panel(tile, [&](const Panel& panel) {
      product({panel.m, panel.width, width_}, {&numbers[panel.a0 * padded_], padded_, 1},
              transposed_.data() + panel.start, span_, head_.by_distance(head_.logits_, panel), ld_ + 1,
              true);
    });
  }

  // The gradient of the rows is asked for.
  void start_gradients() { drows_.assign(span_ * padded_, 0.0f); }
  // From the gradient of the logits. What a hidden key holds may be no number.
  void backward(const Tile& tile, const Scratch& numbers, Scratch& dnumbers) {
    if (t_.places) {
      return head_.each_row(tile, [&](const Seen& r) {
        const std::int32_t* at = head_.columns(tile, r);
        const float* ds = &head_.dp_[r.a * ld_];
        for (std::int64_t b = r.from; b < r.n; ++b) {
          if (ds[b] == 0) continue;
          head_.add(ds[b], &rows_[at[b] * padded_], padded_, &dnumbers[r.a * padded_]);
          if (!drows_.empty()) head_.add(ds[b], &numbers[r.a * padded_], padded_, &drows_[at[b] * padded_]);
        }
      });
    }
    head_.each_panel(tile, [&](const Panel& panel) {
      const float* ds = head_.by_distance(head_.dp_, panel);
      product({panel.m, padded_, panel.width}, {ds, ld_ + 1, 1}, rows_.data() + panel.start * padded_,
              padded_, &dnumbers[panel.a0 * padded_], padded_, true);
      if (drows_.empty()) return;
      product({panel.width, padded_, panel.m}, {ds, 1, ld_ + 1}, &numbers[panel.a0 * padded_], padded_,
              drows_.data() + panel.start * padded_, padded_, true);
    });
  }
  // Adds to the gradient of the rows (R,width), or nothing to null.
  void finish(float* to, float factor) const {
    head_.collect_distances(to, drows_, {width_, padded_}, factor);
  }

 private:
  const std::int64_t width_, padded_;
  Scratch rows_, transposed_, drows_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
