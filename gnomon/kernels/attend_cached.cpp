// Attention to a key cache. A sequence's slots are cut into pieces, so that one sequence with one head of keys has work for
// several threads; each piece gives its own softmax, and these are put together in order.
#include "gnomon/kernels/attend_cached.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/attend_check.h"
#include "gnomon/kernels/cached_head.h"
#include "gnomon/kernels/terms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/attend_cached.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/attend_cached-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
void AttendCachedHead(const CachedTask& task) { CachedHead(task).forward(); }
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(AttendCachedHead);

// One call: what it was given, checked, and its tasks.
class CachedAttention {
 public:
  CachedAttention(const AttendShape& s, const CachedQueries& q, const KeyCache& cache, const Terms& terms,
                  const Extras& extras)
      : s_(s), q_(q), cache_(cache), terms_(terms), extras_(extras) {
    check_cache();
    AttendShape nowhere = s;  // what arrays over distances must reach is asked below, of the positions
    nowhere.causal = true, nowhere.first = -s.queries;
    check_shape(nowhere);
    check_heads(s, "q", q.rows, {s.queries, s.K});
    if (!q.first_key.empty()) check_size("attend_cached", "first_key", q.first_key.size(), s.B * s.queries);
    check_terms(nowhere, terms);
    check_extras(nowhere, terms, extras);
    if (extras.logits.data || extras.instead.data)
      throw Error(Fault::usage, "attend_cached: extras.logits or extras.instead is given; allowed is null");
    if (terms.over_distances()) check_distances();
  }

  void run(Heads<float> out, float* lse) const {
    const std::int64_t heads = cache_.shape_.heads, group = s_.H / heads, rows = s_.queries * group;
    const std::vector<std::int64_t> begins = pieces_seen();
    const std::int64_t pieces = std::int64_t(begins.size()), tasks = s_.B * heads * pieces;
    Scratch most(tasks * rows), sum(tasks * rows), values(tasks * rows * cache_.Dp_);
    parallel_for(tasks, [&](std::int64_t n) {
      const std::int64_t begin = begins[n % pieces], g = n / pieces % heads, b = n / pieces / heads;
      CachedTask task = task_of(b, g);
      task.begin = begin, task.end = std::min(round_up(used(), kBlock), begin + kPiece);
      task.most = &most[n * rows], task.sum = &sum[n * rows], task.out = &values[n * rows * cache_.Dp_];
      HWY_DYNAMIC_DISPATCH(AttendCachedHead)(task);
    });
    parallel_for(s_.B * s_.H, [&](std::int64_t n) {
      const std::int64_t b = n / s_.H, h = n % s_.H, first = (b * heads + h / group) * pieces;
      for (std::int64_t i = 0; i < s_.queries; ++i) {
        const auto row = [&](std::int64_t piece) { return (first + piece) * rows + i * group + h % group; };
        // The largest logit, the sink among them; NaN once it is met.
        float top = extras_.sinks ? extras_.sinks[h] : -std::numeric_limits<float>::infinity(), total = 0;
        for (std::int64_t p = 0; p < pieces; ++p)
          top = std::isnan(most[row(p)]) ? most[row(p)] : std::max(top, most[row(p)]);
        float* to = out.row(b, i, h);
        std::fill_n(to, s_.D, 0.0f);
        if (extras_.sinks && extras_.sinks[h] != -std::numeric_limits<float>::infinity())
          total = std::exp(extras_.sinks[h] - top);
        for (std::int64_t p = 0; p < pieces; ++p) {
          if (sum[row(p)] == 0) continue;
          const float weight = std::exp(most[row(p)] - top);
          total += weight * sum[row(p)];
          for (std::int64_t d = 0; d < s_.D; ++d) to[d] += weight * values[row(p) * cache_.Dp_ + d];
        }
        const float factor = total == 0 ? 0.0f : 1 / total;
        for (std::int64_t d = 0; d < s_.D; ++d) to[d] *= factor;
        lse[n * s_.queries + i] =
            total == 0 ? -std::numeric_limits<float>::infinity() : top + std::log(total);
      }
    });
  }

 private:
  std::int64_t used() const {  // slots of the fullest sequence
    std::int64_t most = 0;
    for (const auto& sequence : cache_.sequences_) most = std::max(most, sequence.total);
    return std::min(most, cache_.slots_);
  }
  // Where the pieces begin of which a query of any sequence sees a slot: what a window hides is no task.
  std::vector<std::int64_t> pieces_seen() const {
    const std::int64_t slots = cache_.slots_, pieces = (used() + kPiece - 1) / kPiece;
    std::vector<bool> seen(std::size_t(pieces), false);
    const auto mark = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin / kPiece; begin < end && p <= (end - 1) / kPiece; ++p) seen[p] = true;
    };
    for (std::int64_t b = 0; b < s_.B; ++b) {
      const CachedTask task = task_of(b, 0);
      std::int64_t first = task.total, end = task.oldest;
      for (std::int64_t i = 0; i < s_.queries; ++i) {
        if (task.first_of(i) >= task.end_of(i)) continue;
        first = std::min(first, task.first_of(i)), end = std::max(end, task.end_of(i));
      }
      if (first >= end) continue;
      const std::int64_t from = first % slots, past = from + end - first;  // the ring closes at `slots`
      mark(from, std::min(past, slots)), mark(0, past - slots);
    }
    std::vector<std::int64_t> begins;
    for (std::int64_t p = 0; p < pieces; ++p) {
      if (seen[p]) begins.push_back(p * kPiece);
    }
    return begins;
  }

  void check_cache() const {
    const auto& c = cache_.shape_;
    const std::int64_t keys = cache_.keys();
    check_extents("attend_cached", {{"B", s_.B, c.B, c.B},
                                    {"the number of heads of keys", s_.of_keys().H, c.heads, c.heads},
                                    {"K", s_.K, c.K, c.K},
                                    {"D", s_.D, c.D, c.D},
                                    {"keys", s_.keys, keys, keys},
                                    {"queries", s_.queries, 0, cache_.appended_},
                                    {"beside", s_.beside, 0, 0}});
    const auto refuse = [](std::string_view what) {
      throw Error(Fault::usage, text("attend_cached: ", what));
    };
    if (s_.firsts || s_.left >= 0 || s_.right >= 0)
      refuse("firsts, left or right is given; allowed is none of them");
    if (s_.first)
      refuse("first is given; allowed is none, because the queries stand where they were appended");
    if (s_.padding) refuse("padding is given; allowed is null, because the cache holds no padding");
    if (!terms_.places.empty() || any_term(terms_, [](const TermKind& kind) { return !kind.cached; }))
      refuse(
          "terms have other arrays; allowed are arrays over distances of the cached positions, by_query and "
          "by_key");
    if (!terms_.first_key.empty() || !terms_.end_key.empty())
      refuse(
          "terms have first_key or end_key; use the cache's window, first_key of the queries or a mask "
          "instead");
  }

  void check_distances() const {
    const std::int64_t last = terms_.first_distance + terms_.distances - 1;
    for (std::int64_t b = 0; b < s_.B; ++b) {
      if (!cache_.sequences_[b].whole)
        throw Error(Fault::usage, text("attend_cached: terms are over distances, but positions of sequence ",
                                       b, " are not whole numbers; allowed are whole numbers"));
      const CachedTask task = task_of(b, 0);
      const auto position = [&](std::int64_t index) { return task.positions[index % task.slots]; };
      for (std::int64_t i = 0; i < s_.queries; ++i) {
        const std::int64_t first = task.first_of(i), end = task.end_of(i);
        if (first >= end) continue;
        const double here = position(task.queries[i]);
        const double least = here - position(end - 1), most = here - position(first);
        if (double(terms_.first_distance) <= least && most <= double(last)) continue;
        throw Error(Fault::usage,
                    text("attend_cached: terms cover the distances ", terms_.first_distance, "..", last,
                         "; attention needs ", std::int64_t(least), "..", std::int64_t(most)));
      }
    }
  }

  static CachedStages stages_of(const Terms& terms) {
    CachedStages given{.over_distances = terms.over_distances()};
    each_record(terms, [&]<class Kind>(const Kind&) {
      if (!TermRows<Kind>::given(terms)) return;
      given.late |= CachedLate<Kind>, given.products |= CachedProduct<Kind>,
          given.values |= CachedValue<Kind>;
    });
    return given;
  }

  // Everything but the slots and where their result goes.
  CachedTask task_of(std::int64_t b, std::int64_t g) const {
    const KeyCache::Sequence& sequence = cache_.sequences_[b];
    CachedTask t{};
    t.shape = s_;
    t.b = b, t.group = s_.H / cache_.shape_.heads, t.first_head = g * t.group;
    t.q = q_.rows;
    t.k = &cache_.k_[cache_.key_block(b, g, 0)], t.v = &cache_.v_[cache_.value_row(b, g, 0)];
    t.positions = &cache_.positions_[b * cache_.slots_];
    t.slots = cache_.slots_, t.Dp = cache_.Dp_;
    t.total = sequence.total, t.oldest = sequence.total - sequence.stored;
    t.window = cache_.shape_.window, t.tame = sequence.tame;
    t.queries = cache_.last_.data() + b * cache_.appended_ + cache_.appended_ - s_.queries;
    t.first_key = q_.first_key.empty() ? nullptr : q_.first_key.data() + b * s_.queries;
    t.terms = &terms_, t.given = given_, t.extras = &extras_;
    return t;
  }

  const AttendShape& s_;
  const CachedQueries& q_;
  const KeyCache& cache_;
  const Terms& terms_;
  const CachedStages given_ = stages_of(terms_);
  const Extras& extras_;
};

void attend_cached(const AttendShape& s, const CachedQueries& q, const KeyCache& cache, const Terms& terms,
                   const Extras& extras, Heads<float> out, float* lse) {
  const CachedAttention call(s, q, cache, terms, extras);
  check_heads(s, "out", out, {s.queries, s.D});
  check_pointers("attend_cached", s.B * s.H * s.queries, {{"lse", lse}});
  call.run(out, lse);
}

}  // namespace gnomon
#endif
