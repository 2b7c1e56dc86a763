#ifndef GNOMON_KERNELS_TERMS_CARRY_H_
#define GNOMON_KERNELS_TERMS_CARRY_H_
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/terms/kind.h"

namespace gnomon {

// The score: scale·q_i·A_i·A_{i−1} ··· A_{j+1}·k_j. A_l = 1 − strength_l·axis_l·axis_lᵀ (PaTH), or e^gate_l channel by channel
// (Wall), whose gates are not above 0. Keys before the query alone.
struct CarryTerm {
  Floats carry_axis, carry_strength;  // (B,H,tokens,K), (B,H,tokens)
  Floats carry_gate;                  // (B,H,tokens,K)

  static constexpr TermFacts kFacts{
      .name = "carry", .once = "change the score token by token", .reads = TermReads::rows};
  static constexpr std::array kArrays{
      ArrayOf<CarryTerm>{"carry_axis",
                         &CarryTerm::carry_axis,
                         {Dim::sequences, Dim::heads, Dim::tokens, Dim::K},
                         &CarryTerm::carry_axis},
      ArrayOf<CarryTerm>{"carry_strength",
                         &CarryTerm::carry_strength,
                         {Dim::sequences, Dim::heads, Dim::tokens},
                         &CarryTerm::carry_axis},
      ArrayOf<CarryTerm>{
          "carry_gate", &CarryTerm::carry_gate, {Dim::sequences, Dim::heads, Dim::tokens, Dim::K}}};
  bool given() const { return !carry_axis.empty() || !carry_gate.empty(); }
  void check(const AttendShape& s) const {
    if (!given()) return;
    if (!carry_axis.empty() && !carry_gate.empty())
      throw Error(Fault::usage,
                  "attend: terms.carry_axis and terms.carry_gate are both given; allowed is one of them");
    if (!s.causal)
      throw Error(Fault::usage,
                  "attend: a score that goes from token to token needs a causal mask; causal is false");
    if (s.beside != 0)
      throw Error(Fault::usage, text("attend: beside is ", s.beside,
                                     "; with a score that goes from token to token it is 0"));
  }
  bool operator==(const CarryTerm&) const = default;
};

}  // namespace gnomon
#endif

#ifdef GNOMON_TERMS_AT_WORK  // attend_terms-inl.h
HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// The head asks for its score, and for what follows from the gradient of the score. Tokens lie in chunks. Within one, scores are
// computed on the way (carry_chunks-inl.h). Beyond it they are products: keys go on to the end of their chunk, queries back to the
// start of theirs and then, chunk by chunk, to the end of each earlier one. Of the rows of a tile all of these are kept.
template <>
class AtWork<CarryTerm> : public CarriedChunks {
 public:
  explicit AtWork(Distances& head) : CarriedChunks(head) {}
  void begin_rows(std::int64_t i0, std::int64_t ni) {
    rows_ = {i0, i0 + ni};
    at_.resize(chunks_.size() * std::size_t(bq_ * Kp_));
    for (std::int64_t b = last_chunk() - 1; b >= first_chunk(); --b) {
      const Chunk &here = chunk(b), &next = chunk(b + 1);
      const Run all = here.beyond.within(rows_), enter = next.own.within(all),
                pass_it = next.across.within(rows_);
      if (!enter.empty()) std::copy_n(&q_start_[enter.begin * Kp_], enter.size() * Kp_, at(b, enter.begin));
      if (!pass_it.empty()) pass(next, pass_it.size(), at(b + 1, pass_it.begin), at(b, pass_it.begin));
      if (!all.empty()) head_.check_tame(at(b, all.begin), all.size() * Kp_);
    }
  }
  void score(const Tile& tile) {
    each_chunk(tile, [&](std::int64_t b, const Run& keys) {
      float* s = head_.logits_.data() + keys.begin - tile.j0;
      const Run beyond = chunk(b).beyond.within(rows_), own = chunk(b).own.within(rows_);
      if (!beyond.empty())
        product({beyond.size(), keys.size(), s_.K}, {at(b, beyond.begin), Kp_, 1}, &k_end_t_[keys.begin],
                keys_, s + (beyond.begin - tile.i0) * ld_, ld_, false);
      for (std::int64_t i = own.begin; i < own.end; ++i) {
        const Run seen = keys.within({0, i + shift_ + 1});
        if (!seen.empty()) std::copy_n(&local_[local(i, keys)], seen.size(), s + (i - tile.i0) * ld_);
      }
    });
  }

  void start_gradients() { CarriedChunks::start_gradients(); }
  void begin_gradients() {
    dq_.assign(std::size_t(bq_ * Kp_), 0.0f);
    chunk_ = first_chunk();
  }
  // From ds, a tile that is 0 where a key is hidden.
  void score_backward(const Tile& tile, const float* ds) {
    each_chunk(tile, [&](std::int64_t b, const Run& keys) {
      if (b < chunk_) return;
      go_on_to(b);
      beyond_backward(tile, ds, chunk(b).beyond.within(rows_), keys);
      const Run own = chunk(b).own.within(rows_);
      for (std::int64_t i = own.begin; i < own.end; ++i)
        std::copy_n(ds + (i - tile.i0) * ld_ + keys.begin - tile.j0, keys.size(), &dlocal_[local(i, keys)]);
    });
  }
  void end_rows(std::int64_t, std::int64_t) { go_on_to(last_chunk()); }
  // When all tiles are through: into the rows of dq, and dk (keys, padded).
  void rows_backward(float* dk) { chunks_backward(dk); }

 private:
  const Chunk& chunk(std::int64_t b) const { return chunks_[std::size_t(b)]; }
  // Of which the rows of the tile see keys.
  std::int64_t first_chunk() const { return head_.first_of(rows_.begin) / c_; }
  std::int64_t last_chunk() const { return (rows_.end - 1 + shift_) / c_; }
  // Query i at the end of chunk b, and the gradient of that where it has come to.
  float* at(std::int64_t b, std::int64_t i) { return &at_[(b * bq_ + i - rows_.begin) * Kp_]; }
  float* dq(std::int64_t i) { return &dq_[(i - rows_.begin) * Kp_]; }
  // Where the scores of query i with keys of its chunk begin.
  std::int64_t local(std::int64_t i, const Run& keys) const { return i * c_ + keys.begin % c_; }
  template <class Body>
  void each_chunk(const Tile& tile, const Body& f) {
    const std::int64_t end = tile.j0 + tile.nj;
    for (std::int64_t j = tile.j0, next; j < end; j = next) {
      next = std::min(end, chunk(j / c_).tokens.end);
      f(j / c_, Run{j, next});
    }
  }
  // The gradients of the rows of the tile go on from the end of one chunk to that of the next. Those of its own queries stay.
  void go_on_to(std::int64_t b) {
    while (chunk_ < b) {
      const Chunk& next = chunk(++chunk_);
      const Run own = next.own.within(rows_), across = next.across.within(rows_);
      if (!own.empty()) std::copy_n(dq(own.begin), own.size() * Kp_, &dq_start_[own.begin * Kp_]);
      if (!across.empty()) pass_back(next, across.size(), at(chunk_, across.begin), dq(across.begin));
    }
  }
  // Products as in the head: where 0·x may not be 0, each row goes alone over what it sees.
  void beyond_backward(const Tile& tile, const float* ds, const Run& rows, const Run& keys) {
    const auto multiply = [&](const Run& of_rows, const Run& of_keys) {
      const float* w = ds + (of_rows.begin - tile.i0) * ld_ + of_keys.begin - tile.j0;
      product({of_keys.size(), Kp_, of_rows.size()}, {w, 1, ld_}, at(keys.begin / c_, of_rows.begin), Kp_,
              &dk_end_[of_keys.begin * Kp_], Kp_, true);
      product({of_rows.size(), Kp_, of_keys.size()}, {w, ld_, 1}, &k_end_[of_keys.begin * Kp_], Kp_,
              dq(of_rows.begin), Kp_, true);
    };
    if (rows.empty()) return;
    if (head_.tame_) return multiply(rows, keys);
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      head_.each_run(tile, i - tile.i0, [&](std::int64_t from, std::int64_t n) {
        const Run seen = keys.within({tile.j0 + from, tile.j0 + n});
        if (!seen.empty()) multiply({i, i + 1}, seen);
      });
    }
  }
  Run rows_{0, 0};  // of the tile
  Scratch at_, dq_;
  std::int64_t chunk_ = 0;  // dq_ is at its end
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
