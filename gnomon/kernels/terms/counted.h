#ifndef GNOMON_KERNELS_TERMS_COUNTED_H_
#define GNOMON_KERNELS_TERMS_COUNTED_H_
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// s[h,i,j] += q[h,i]·counted[P], interpolated between rows, where P = min(Σ_{u≥j} σ(score[h,i,u]), count − 1) over the keys
// u that i sees. Of q the first D channels. CoPE
struct CountedTerm {
  Floats counted;  // (count,D)

  static constexpr TermFacts kFacts{
      .name = "counted", .once = "count keys by gates", .reads = TermReads::scores, .divides_by_scale = true};
  static constexpr std::array kArrays{
      ArrayOf<CountedTerm>{"counted", &CountedTerm::counted, {Dim::own, Dim::D}}};
  std::int64_t own(const AttendShape& s) const { return std::int64_t(counted.size()) / s.D; }
  void check(const AttendShape& s) const {
    const auto size = std::int64_t(counted.size());
    if (size != 0 && (size % s.D || size < 2 * s.D || s.D > s.K))
      throw Error(Fault::usage,
                  text("attend: terms.counted has ", size,
                       " numbers; allowed are 2 or more rows of D = ", s.D, ", with D at most K = ", s.K));
  }
  bool operator==(const CountedTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// The place P of a key is how many gates are open from it on; what the query reads at P is added. reads holds a row for
// each query, of what it reads at 0, 1, ...; from `most` on it reads what is there.
class Count {
 public:
  void resize(std::int64_t rows, std::int64_t step, std::int64_t most, std::int64_t reads_step) {
    ld_ = step, gates_.resize(rows * step), fraction_.resize(rows * step);
    low_.assign(std::size_t(rows * step), 0);
    most_ = most, ldr_ = reads_step;
    reads.resize(rows * ldr_), dreads.resize(rows * ldr_);
    beyond_.resize(std::size_t(rows));
  }
  void start(std::int64_t rows) { along_.start(rows), std::fill(dreads.begin(), dreads.end(), 0.0f); }
  void begin() { along_.begin(); }
  void gate(const Seen& r, const float* score, const std::uint8_t* padding) {
    float* g = &gates_[r.a * ld_];
    r.each_vector([&](std::int64_t b) { hn::StoreU(sigmoid(hn::LoadU(F(), score + b)), F(), g + b); });
    for (std::int64_t b = r.from; padding && b < r.n; ++b) {
      if (padding[b]) g[b] = 0;
    }
  }
  void learn(const Seen& r) { along_.total[r.a] += sum_of(&gates_[r.a * ld_], r); }
  void add(const Seen& r, float* s) {
    const float *g = &gates_[r.a * ld_], *read = &reads[r.a * ldr_];
    float* fraction = &fraction_[r.a * ld_];
    std::int32_t* low = &low_[std::size_t(r.a * ld_)];
    double left = along_.left[r.a];
    std::int64_t b = r.from;
    for (const double most = double(most_); b < r.n && left >= most; ++b) left -= double(g[b]);
    const Seen beyond{r.a, r.from, b}, within{r.a, b, r.n};
    for (; b < r.n; ++b) {
      const double place = std::max(0.0, std::min(left, double(most_)));
      low[b] = std::int32_t(place);
      fraction[b] = float(place - double(low[b]) + 0 * left);  // NaN: no place, and what is read there is NaN
      left -= double(g[b]);
    }
    along_.left[r.a] = left, beyond_[std::size_t(r.a)] = beyond.n;
    for (b = beyond.from; b < beyond.n; ++b) s[b] += read[most_];
    within.each_vector([&](std::int64_t c) {
      const auto at = hn::LoadU(I(), low + c);
      const V here = hn::GatherIndex(F(), read, at), next = hn::GatherIndex(F(), read, after(at)),
              f = hn::LoadU(F(), fraction + c);
      const V read_there = hn::MulAdd(f, next, hn::Mul(hn::Sub(set(1), f), here));
      hn::StoreU(hn::Add(hn::LoadU(F(), s + c), read_there), F(), s + c);
    });
  }
  // dscore gains what goes through the gates; dreads what goes to the readings.
  void backward(const Seen& r, const float* ds, float* dscore) {
    const float *g = &gates_[r.a * ld_], *read = &reads[r.a * ldr_];
    const float* fraction = &fraction_[r.a * ld_];
    const std::int32_t* low = &low_[std::size_t(r.a * ld_)];
    float* dread = &dreads[r.a * ldr_];
    const std::int64_t first = beyond_[std::size_t(r.a)];
    if (first > r.from) dread[most_] += float(sum_of(ds, {r.a, r.from, first}));
    double dsum = along_.dsum[r.a];  // a gate counts for every key before it
    for (std::int64_t b = first; b < r.n; ++b) {
      const std::int64_t at = low[b], next = std::min<std::int64_t>(at + 1, most_);
      const float f = fraction[b], d = ds[b];
      if (std::isnan(f)) std::fill_n(dread, ldr_, f);  // any of them might be the one
      dread[at] += (1 - f) * d, dread[next] += f * d;
      dsum += double(d * (read[next] - read[at]));
      dscore[b] += float(dsum) * g[b] * (1 - g[b]);
    }
    along_.dsum[r.a] = dsum;
  }
  Scratch reads, dreads;

 private:
  using I = hn::RebindToSigned<F>;
  hn::Vec<I> after(hn::Vec<I> at) const {
    return hn::Min(hn::Add(at, hn::Set(I(), 1)), hn::Set(I(), std::int32_t(most_)));
  }
  std::int64_t most_ = 0, ldr_ = 0, ld_ = 0;
  Scratch gates_, fraction_;  // of P
  Along along_;
  std::vector<std::int32_t> low_;     // whole part of P
  std::vector<std::int64_t> beyond_;  // the column of each row before which P is `most`
};

// q is packed with the scale of the logits, which the table does not have; dq is scaled when it is written.
template <>
class AtWork<CountedTerm> : public TermAtWork {
 public:
  explicit AtWork(Distances& head) : TermAtWork(head) {
    const float* given = t_.terms.of<&CountedTerm::counted>();
    rows_.assign(reached_ * Kp_, 0.0f), transposed_.assign(s_.D * step_, 0.0f);
    for (std::int64_t p = 0; p < reached_; ++p) {
      for (std::int64_t c = 0; c < s_.D; ++c)
        rows_[p * Kp_ + c] = transposed_[c * step_ + p] = given[p * s_.D + c] / s_.scale;
    }
    head_.check_tame(rows_.data(), reached_ * Kp_);
    count_.resize(bq_, ld_, rows_given_ - 1, step_);
  }
  void begin_rows(std::int64_t, std::int64_t ni) {
    count_.start(bq_);
    product({ni, reached_, s_.D}, {head_.q_.data(), Kp_, 1}, transposed_.data(), step_, count_.reads.data(),
            step_, false);
  }
  void learn(const Tile& tile) {
    head_.each_row(tile, [&](const Seen& r) { gate(tile, r), count_.learn(r); });
  }
  void begin_sums() { count_.begin(); }
  void by_score(const Tile& tile) {
    head_.each_row(tile, [&](const Seen& r) { gate(tile, r), count_.add(r, head_.logits(r.a)); });
  }

  void start_gradients() { drows_.assign(reached_ * Kp_, 0.0f); }
  void to_score(const Tile& tile) {
    head_.each_row(
        tile, [&](const Seen& r) { count_.backward(r, &head_.dp_[r.a * ld_], &head_.dscore_[r.a * ld_]); });
  }
  void end_rows(std::int64_t, std::int64_t ni) {
    const float* dreads = count_.dreads.data();
    product({ni, Kp_, reached_}, {dreads, step_, 1}, rows_.data(), Kp_, head_.dq_.data(), Kp_, true);
    product({reached_, Kp_, ni}, {dreads, 1, step_}, head_.q_.data(), Kp_, drows_.data(), Kp_, true);
  }
  void finish() {
    float* to = t_.dterms.of<&CountedTerm::counted>();
    for (std::int64_t p = 0; to && p < reached_; ++p) {
      for (std::int64_t c = 0; c < s_.D; ++c) to[p * s_.D + c] += drows_[p * Kp_ + c] / s_.scale;
    }
  }

 private:
  void gate(const Tile& tile, const Seen& r) { count_.gate(r, head_.logits(r.a), head_.hides(tile, r)); }
  // Rows of the table, those that a query can reach, and their place in a row of readings.
  const std::int64_t rows_given_ = t_.given->CountedTerm::own(s_),
                     reached_ = std::min(rows_given_, s_.keys + 2), step_ = round_up(reached_, 2 * lanes());
  Count count_;
  Scratch rows_, transposed_, drows_;
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
