// The chunks of tokens that a score goes through, in one head: included once per SIMD target.
#if defined(GNOMON_KERNELS_CARRY_CHUNKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GNOMON_KERNELS_CARRY_CHUNKS_INL_H_
#undef GNOMON_KERNELS_CARRY_CHUNKS_INL_H_
#else
#define GNOMON_KERNELS_CARRY_CHUNKS_INL_H_
#endif
#include "gnomon/kernels/carry-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

// A chunk, and the queries (counted from the first of the call) to which it matters: those in it; those after it that see a key of
// it; of these, those that see a key before it.
struct Chunk {
  Run tokens, own, beyond, across;
  std::int64_t first_key;  // the first that a query of `beyond` sees
};

// Once for each head: keys at the end of their chunk, queries at the start of theirs, the scores within each chunk, and the
// product of the operators of a whole one. O(tokens·(K + chunk) + chunks·K²) numbers. A row goes past tokens between what sees
// each other alone, so numbers of other documents do not touch it.
class CarriedChunks : public TermAtWork {
 protected:
  explicit CarriedChunks(Distances& head)
      : TermAtWork(head),
        c_(std::clamp<std::int64_t>(round_up(s_.K, 16), 16, 64)),
        operators_(t_, s_.keys, s_.K) {
    make_chunks();
    head_.pack_rows(t_.k, {s_.keys, s_.K, Kp_}, 1, t_.padding, k_);
    k_end_t_.assign(std::size_t(s_.K * keys_), 0.0f);
    q_start_.assign(std::size_t(s_.queries * Kp_), 0.0f);
    local_.assign(std::size_t(s_.queries * c_), 0.0f);
    product_.assign(std::size_t(std::int64_t(chunks_.size()) * product_size()), 0.0f);
    y_.resize(std::size_t(s_.K * c_)), whole_.resize(std::size_t(s_.K * Kp_));
    along_.assign(std::size_t(c_ * c_), 0.0f), along_whole_.assign(std::size_t(c_ * Kp_), 0.0f);
    scores_.resize(std::size_t(c_ * c_));
    for (const Chunk& chunk : chunks_) carry_keys(chunk), carry_queries(chunk);
    head_.check_tame(k_end_t_.data(), std::int64_t(k_end_t_.size()));
    head_.check_tame(q_start_.data(), std::int64_t(q_start_.size()));
  }
  std::int64_t chunk_of(std::int64_t token) const { return token / c_; }
  std::size_t index(const Chunk& chunk) const { return std::size_t(chunk.tokens.begin / c_); }

  // Rows of queries go past a whole chunk, each padded: from its end to its start.
  void pass(const Chunk& chunk, std::int64_t rows, const float* from, float* to) const {
    const float* whole = product_of(chunk);
    if (!operators_.fades()) return product({rows, s_.K, s_.K}, {from, Kp_, 1}, whole, Kp_, to, Kp_, false);
    for (std::int64_t n = 0; n < rows * Kp_; n += lanes())
      hn::StoreU(hn::Mul(hn::LoadU(F(), from + n), hn::LoadU(F(), whole + n % Kp_)), F(), to + n);
  }
  // The gradient dq of the rows at its start becomes that of the rows `from` at its end.
  void pass_back(const Chunk& chunk, std::int64_t rows, const float* from, float* dq) {
    if (operators_.fades()) return pass(chunk, rows, dq, dq);
    const std::size_t at = index(chunk) * std::size_t(product_size());
    product({s_.K, s_.K, rows}, {from, 1, Kp_}, dq, Kp_, &dproduct_[at], Kp_, true);
    if (passed_ != std::int64_t(index(chunk)))
      transpose({product_of(chunk), Kp_, s_.K, s_.K}, product_t_.data(), Kp_),
          passed_ = std::int64_t(index(chunk));
    returned_.resize(std::size_t(rows * Kp_));
    product({rows, s_.K, s_.K}, {dq, Kp_, 1}, product_t_.data(), Kp_, returned_.data(), Kp_, false);
    std::copy_n(returned_.begin(), rows * Kp_, dq);
  }

  void start_gradients() {
    k_end_.assign(std::size_t(s_.keys * Kp_), 0.0f), dk_end_.assign(k_end_.size(), 0.0f);
    transpose({k_end_t_.data(), keys_, s_.K, s_.keys}, k_end_.data(), Kp_);
    dq_start_.assign(q_start_.size(), 0.0f), dlocal_.assign(local_.size(), 0.0f);
    dproduct_.assign(operators_.fades() ? 0 : product_.size(), 0.0f);
    product_t_.assign(std::size_t(s_.K * Kp_), 0.0f), passed_ = -1;
    dy_.resize(y_.size()), dscores_.resize(scores_.size());
  }
  // From the gradients of what was made once: to the operators; added to the rows of dq, scaled, and to dk (keys, padded), which
  // hold what other terms give.
  void chunks_backward(float* dk) {
    own_dq_.assign(q_start_.size(), 0.0f), own_dk_.assign(k_.size(), 0.0f);
    for (const Chunk& chunk : chunks_) queries_backward(chunk), keys_backward(chunk);
    if (operators_.fades()) gates_backward();
    for (std::int64_t i = 0; i < s_.queries; ++i) {
      for (std::int64_t c = 0; c < s_.K; ++c) t_.dq.row(i)[c] += own_dq_[i * Kp_ + c];
    }
    for (std::int64_t n = 0; n < s_.keys * Kp_; ++n) dk[n] += own_dk_[n];
  }

  const std::int64_t c_;  // tokens of a chunk
  std::vector<Chunk> chunks_;
  Scratch k_end_t_, k_end_, q_start_, local_;
  Scratch dk_end_, dq_start_, dlocal_;

 private:
  // --- Which queries see what. The first key that a query sees does not fall with the query.
  std::int64_t first_at(std::int64_t token) const {
    return std::clamp<std::int64_t>(token - shift_, 0, s_.queries);
  }
  // Queries that stand at `token` or after it and see a key before `end`.
  Run queries(std::int64_t token, std::int64_t end) const {
    std::int64_t low = first_at(token), high = s_.queries;
    const std::int64_t begin = low;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (head_.first_of(middle) < end)
        low = middle + 1;
      else
        high = middle;
    }
    return {begin, low};
  }
  void make_chunks() {
    for (std::int64_t begin = 0; begin < s_.keys; begin += c_) {
      const std::int64_t end = std::min(begin + c_, s_.keys);
      Chunk chunk{
          {begin, end}, {first_at(begin), first_at(end)}, queries(end, end), queries(end, begin), end};
      if (!chunk.beyond.empty()) chunk.first_key = std::max(begin, head_.first_of(chunk.beyond.begin));
      chunks_.push_back(chunk);
    }
  }

  std::int64_t product_size() const { return operators_.fades() ? Kp_ : s_.K * Kp_; }
  const float* product_of(const Chunk& chunk) const {
    return &product_[index(chunk) * std::size_t(product_size())];
  }
  Lanes y() { return {y_.data(), c_, s_.K}; }
  Lanes dy() { return {dy_.data(), c_, s_.K}; }
  Lanes whole() { return {whole_.data(), Kp_, s_.K}; }
  // Lanes that rows take beside each other: rows of a run of tokens, each `step` numbers after the one before.
  void spread(const Strided<const float>& rows, const Run& at, float* to) const {
    for (std::int64_t c = 0; c < s_.K; ++c) std::fill_n(to + c * c_, c_, 0.0f);
    if (!at.empty()) transpose({rows.data, rows.step, at.size(), s_.K}, to + at.begin, c_);
  }

  // --- Keys, and the unit vectors, go past the tokens after them to the end of the chunk.
  Run keys_before(const Chunk& chunk, std::int64_t m) const {
    return {chunk.first_key - chunk.tokens.begin, m};
  }
  void start_keys(const Chunk& chunk) {
    const std::int64_t begin = chunk.tokens.begin;
    spread({&k_[begin * Kp_], Kp_}, {0, chunk.tokens.size()}, y_.data());
    std::fill(whole_.begin(), whole_.end(), 0.0f);
    for (std::int64_t c = 0; c < s_.K; ++c) whole_[std::size_t(c * Kp_ + c)] = 1;
  }
  void go_keys(const Chunk& chunk) {
    const Run units{0, chunk.across.empty() || operators_.fades() ? 0 : s_.K};
    for (std::int64_t m = 0; m < chunk.tokens.size(); ++m) {
      const std::int64_t t = chunk.tokens.begin + m;
      operators_.apply(t, y(), keys_before(chunk, m), &along_[m * c_]);
      operators_.apply(t, whole(), units, &along_whole_[m * Kp_]);
    }
  }
  void carry_keys(const Chunk& chunk) {
    if (chunk.beyond.empty()) return;
    const std::int64_t begin = chunk.tokens.begin;
    start_keys(chunk), go_keys(chunk);
    for (std::int64_t c = 0; c < s_.K; ++c)
      std::copy_n(&y_[c * c_], chunk.tokens.size(), &k_end_t_[c * keys_ + begin]);
    float* to = &product_[index(chunk) * std::size_t(product_size())];
    if (!operators_.fades()) return void(std::copy(whole_.begin(), whole_.end(), to));
    std::fill_n(to, s_.K, 1.0f);
    for (std::int64_t t = begin; t < chunk.tokens.end; ++t) {
      for (std::int64_t c = 0; c < s_.K; ++c) to[c] *= operators_.fade(t)[c];
    }
  }
  void keys_backward(const Chunk& chunk) {
    if (chunk.beyond.empty()) return;
    const std::int64_t begin = chunk.tokens.begin, n = chunk.tokens.size();
    spread({&dk_end_[begin * Kp_], Kp_}, {0, n}, dy_.data());
    start_keys(chunk);
    y().clear_idle({0, n}, dy(), {nullptr, 0, 0});
    if (!operators_.fades()) go_keys(chunk);
    const Run units{0, chunk.across.empty() || operators_.fades() ? 0 : s_.K};
    const Lanes dwhole{units.empty() ? nullptr : &dproduct_[index(chunk) * std::size_t(product_size())], Kp_,
                       s_.K};
    for (std::int64_t m = n; m-- > 0;) {
      operators_.apply_back(begin + m, y(), dy(), keys_before(chunk, m), &along_[m * c_]);
      operators_.apply_back(begin + m, whole(), dwhole, units, &along_whole_[m * Kp_]);
    }
    for (std::int64_t m = 0; m < n; ++m) {
      for (std::int64_t c = 0; c < s_.K; ++c) own_dk_[(begin + m) * Kp_ + c] += dy_[c * c_ + m];
    }
  }

  // --- Queries go past the tokens before them to the start of the chunk, and meet a key after each.
  Run lanes_of(const Chunk& chunk) const { return chunk.own.moved(shift_ - chunk.tokens.begin); }
  // The lanes of the queries that see the key t, and of those that go past the token t.
  Run that_see(const Chunk& chunk, std::int64_t t) const {
    return queries(t, t + 1).within(chunk.own).moved(shift_ - chunk.tokens.begin);
  }
  Run that_pass(const Chunk& chunk, std::int64_t t) const {
    return queries(t, t).within(chunk.own).moved(shift_ - chunk.tokens.begin);
  }
  void start_queries(const Chunk& chunk) {
    const Run at = lanes_of(chunk);
    spread({t_.q.row(chunk.own.begin), t_.q.step}, at, y_.data());
    for (float& x : y_) x *= s_.scale;
  }
  // meet(m, lanes that see key m of the chunk)
  template <class Meet>
  void go_queries(const Chunk& chunk, const Meet& meet) {
    for (std::int64_t m = chunk.tokens.size(); m-- > 0;) {
      const std::int64_t t = chunk.tokens.begin + m;
      if (const Run see = that_see(chunk, t); !see.empty()) meet(m, see);
      operators_.apply(t, y(), that_pass(chunk, t), &along_[m * c_]);
    }
  }
  void carry_queries(const Chunk& chunk) {
    if (chunk.own.empty()) return;
    const Run at = lanes_of(chunk);
    start_queries(chunk);
    std::fill(scores_.begin(), scores_.end(), 0.0f);
    go_queries(chunk, [&](std::int64_t m, const Run& see) {
      y().dots(see, &k_[(chunk.tokens.begin + m) * Kp_], &scores_[m * c_]);
    });
    transpose({&scores_[at.begin], c_, chunk.tokens.size(), at.size()}, &local_[chunk.own.begin * c_], c_);
    transpose({&y_[at.begin], c_, s_.K, at.size()}, &q_start_[chunk.own.begin * Kp_], Kp_);
  }
  void queries_backward(const Chunk& chunk) {
    if (chunk.own.empty()) return;
    const Run at = lanes_of(chunk);
    const std::int64_t begin = chunk.tokens.begin, own = chunk.own.begin, n = chunk.tokens.size();
    spread({&dq_start_[own * Kp_], Kp_}, at, dy_.data());
    std::fill(dscores_.begin(), dscores_.end(), 0.0f);
    transpose({&dlocal_[own * c_], c_, at.size(), n}, &dscores_[at.begin], c_);
    start_queries(chunk);
    y().clear_idle(at, dy(), {dscores_.data(), c_, n});
    go_queries(chunk, [&](std::int64_t m, const Run& see) {
      y().sum(see, &dscores_[m * c_], &own_dk_[(begin + m) * Kp_]);
    });
    for (std::int64_t m = 0; m < n; ++m) {
      operators_.apply_back(begin + m, y(), dy(), that_pass(chunk, begin + m), &along_[m * c_]);
      if (const Run see = that_see(chunk, begin + m); !see.empty())
        dy().add(see, &dscores_[m * c_], &k_[(begin + m) * Kp_]);
    }
    for (std::int64_t r = at.begin; r < at.end; ++r) {
      float* dq = &own_dq_[(own + r - at.begin) * Kp_];
      for (std::int64_t c = 0; c < s_.K; ++c) dq[c] = s_.scale * dy_[c * c_ + r];
    }
  }

  // With G the running sum of gates, a pair has e^(G_i − G_j): so dG = q·dq of a query and −k·dk of a key, channel by channel.
  void gates_backward() const {
    float* dgate = t_.dterms.of<&CarryTerm::carry_gate>();
    if (!dgate) return;
    // A gradient of 0 counts as 0 beside what is no number.
    const auto share = [](float x, float dx) { return dx == 0 ? 0.0 : double(x) * double(dx); };
    std::vector<double> sum(std::size_t(s_.K));
    for (std::int64_t t = s_.keys; t-- > 0;) {
      const std::int64_t i = t - shift_;
      for (std::int64_t c = 0; c < s_.K; ++c) {
        double& of_channel = sum[std::size_t(c)];
        if (i >= 0 && i < s_.queries) of_channel += share(t_.q.row(i)[c], own_dq_[i * Kp_ + c]);
        of_channel -= share(k_[t * Kp_ + c], own_dk_[t * Kp_ + c]);
        dgate[t * s_.K + c] += float(of_channel);
      }
    }
  }

  Operators operators_;
  Scratch k_, product_, dproduct_, product_t_, returned_;
  Scratch own_dq_, own_dk_;      // (queries, padded), (keys, padded)
  Scratch y_, dy_, whole_;       // of a chunk: rows beside each other, and the product so far
  Scratch along_, along_whole_;  // axis·y as the rows go past each token
  Scratch scores_, dscores_;     // (keys, queries) of a chunk
  std::int64_t passed_ = -1;     // the chunk whose product lies transposed
};

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
