// Attention of heads that go through the tiles together: included once per SIMD target, by attend.cpp.
#if defined(GNOMON_KERNELS_ATTEND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_ATTEND_INL_H_
#undef GNOMON_KERNELS_ATTEND_INL_H_
#else
#define GNOMON_KERNELS_ATTEND_INL_H_
#endif
#include <optional>
#include <span>

#include "gnomon/kernels/attend_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// One head, or all heads of a sequence that a network mixes: tile by tile, each stage of all heads before the next. Both
// directions begin anew with what the tasks then say.
class Together {
 public:
  explicit Together(std::span<const HeadTask> tasks) : tasks_(tasks) {
    heads_.reserve(tasks.size());
    for (const HeadTask& task : tasks) heads_.emplace_back(task);
  }
  void forward() {
    for (Head& h : heads_) h.start_forward();
    start_mixer();
    each_rows([&](std::int64_t i0, std::int64_t ni) {
      for (Head& h : heads_) h.begin_forward(i0, ni);
      learn(i0, ni);
      heads_[0].each_tile(i0, ni, [&](const Tile& tile) {
        compute_logits(tile);
        for (Head& h : heads_) h.forward(tile);
      });
      for (Head& h : heads_) h.end_forward(i0, ni);
    });
  }
  void backward() {
    for (Head& h : heads_) h.start_backward();
    start_mixer();
    each_rows([&](std::int64_t i0, std::int64_t ni) {
      for (Head& h : heads_) h.begin_backward(i0, ni);
      learn(i0, ni);
      heads_[0].each_tile(i0, ni, [&](const Tile& tile) {
        compute_logits(tile);
        for (Head& h : heads_) h.backward_to_score(tile);
        if (mixer_) mixer_->backward(tile, heads_);
        for (Head& h : heads_) h.backward(tile);
      });
      for (Head& h : heads_) h.end_backward(i0, ni);
    });
    for (Head& h : heads_) h.finish_backward();
    if (mixer_) mixer_->finish();
  }

 private:
  template <class Body>
  void each_rows(const Body& f) {
    const std::int64_t rows = heads_[0].query_tile(), queries = heads_[0].shape().queries;
    for (std::int64_t i0 = 0; i0 < queries; i0 += rows) f(i0, std::min(rows, queries - i0));
  }
  void start_mixer() {
    if (heads_[0].mixed()) mixer_.emplace(tasks_[0], heads_[0]);
  }
  // Sums along the keys cross the tiles: what is summed is gone through once before.
  void learn(std::int64_t i0, std::int64_t ni) {
    const Head& head = heads_[0];
    if (head.counts()) {
      head.each_tile(i0, ni, [&](const Tile& tile) {
        for (Head& h : heads_) h.score(tile), h.learn(tile);
      });
    }
    begin_sums();
    if (!head.sticks()) return;
    head.each_tile(i0, ni, [&](const Tile& tile) {
      compute_terms(tile);
      for (Head& h : heads_) h.learn_stick(tile);
    });
    begin_sums();
  }
  void begin_sums() {
    for (Head& h : heads_) h.begin_sums();
  }
  void compute_terms(const Tile& tile) {
    for (Head& h : heads_) h.score(tile);
    if (mixer_) mixer_->read(tile, heads_);
    for (Head& h : heads_) h.add_terms(tile);
    if (mixer_) mixer_->forward(tile, heads_);
  }
  void compute_logits(const Tile& tile) {
    compute_terms(tile);
    if (!heads_[0].sticks()) return;
    for (Head& h : heads_) h.break_stick(tile);
  }

  const std::span<const HeadTask> tasks_;
  std::vector<Head> heads_;
  std::optional<Mixer<Head>> mixer_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
