#include "gnomon/kernels/key_cache.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/cached_head.h"

namespace gnomon {
namespace {

constexpr double kFarthest = 0x1p53;
constexpr float kTame = 0x1p50f;  // as is_tame in simd-inl.h

const KeyCacheShape& checked(const KeyCacheShape& s) {
  check_extents("KeyCache", {{"B", s.B, 1, kMostTokens},
                             {"heads", s.heads, 1, kMostHeads},
                             {"K", s.K, 1, kMostWidth},
                             {"D", s.D, 1, kMostWidth},
                             {"capacity", s.capacity, 1, kMostTokens},
                             {"window", s.window, 0, s.capacity}});
  count_numbers("KeyCache", {s.B, s.heads, s.capacity + kBlock, s.K + s.D + kWidest});
  return s;
}
// Of the n new tokens of sequence b, those that are no padding (B,n).
std::int64_t tokens_of(std::int64_t b, std::int64_t n, const std::uint8_t* padding) {
  return padding ? std::count(padding + b * n, padding + (b + 1) * n, 0) : n;
}

}  // namespace

KeyCache::KeyCache(const KeyCacheShape& shape, std::string made_for)
    : shape_(checked(shape)),
      made_for_(std::move(made_for)),
      slots_(round_up(shape.capacity, kBlock)),
      Dp_(round_up(shape.D, kWidest)),
      k_(shape.B * shape.heads * slots_ * shape.K),
      v_(shape.B * shape.heads * slots_ * Dp_),
      positions_(shape.B * slots_),
      sequences_(shape.B) {}

const KeyCache::Sequence& KeyCache::at(std::int64_t b) const {
  check_extents("KeyCache", {{"the index of the sequence", b, 0, shape_.B - 1}});
  return sequences_[b];
}
std::int64_t KeyCache::length(std::int64_t b) const { return at(b).stored; }
std::int64_t KeyCache::keys() const {
  std::int64_t most = 0;
  for (const Sequence& s : sequences_) most = std::max(most, s.stored);
  return most;
}
std::int64_t KeyCache::keys_with(std::int64_t n, const std::uint8_t* padding) const {
  std::int64_t most = 0;
  for (std::int64_t b = 0; b < shape_.B; ++b)
    most = std::max(most, std::min(shape_.capacity, sequences_[b].stored + tokens_of(b, n, padding)));
  return most;
}
std::int64_t KeyCache::key_of(std::int64_t b, std::int64_t i) const {
  check_extents("KeyCache", {{"the index of the token", i, 0, appended_ - 1}});
  const Sequence& s = at(b);
  const std::int64_t index = last_[b * appended_ + i];
  return index < 0 ? -1 : index - (s.total - s.stored);
}
double KeyCache::position(std::int64_t b, std::int64_t j) const {
  const Sequence& s = at(b);
  check_extents("KeyCache", {{"the index of the key", j, 0, s.stored - 1}});
  return positions_[b * slots_ + slot(s.total - s.stored + j)];
}
double KeyCache::context(std::int64_t b) const { return at(b).context; }
std::int64_t KeyCache::key_block(std::int64_t b, std::int64_t h, std::int64_t slot) const {
  return ((b * shape_.heads + h) * slots_ + slot / kBlock * kBlock) * shape_.K;
}
std::int64_t KeyCache::value_row(std::int64_t b, std::int64_t h, std::int64_t slot) const {
  return ((b * shape_.heads + h) * slots_ + slot) * Dp_;
}

void KeyCache::check_rows_and_room(const NewKeys& x) const {
  const std::int64_t room = shape_.window ? shape_.capacity - shape_.window + 1 : shape_.capacity;
  check_extents("KeyCache::append", {{"n", x.n, 0, room}});
  const auto rows = [&](std::string_view name, const Heads<const float>& from, std::int64_t width) {
    check_rows(
        "KeyCache::append",
        {name, from.data, width, {{{shape_.B, from.batch}, {x.n, from.token}, {shape_.heads, from.head}}}},
        false);
  };
  rows("k", x.k, shape_.K), rows("v", x.v, shape_.D);
  if (!x.contexts.empty()) check_size("KeyCache::append", "contexts", x.contexts.size(), shape_.B);
  for (std::int64_t b = 0; shape_.window == 0 && b < shape_.B; ++b) {
    const std::int64_t more = tokens_of(b, x.n, x.padding);
    if (sequences_[b].stored + more <= shape_.capacity) continue;
    throw Error(Fault::usage,
                text("KeyCache::append: the cache is full: sequence ", b, " has ", sequences_[b].stored,
                     " tokens and would get ", more, " more; allowed are ", shape_.capacity));
  }
}

std::vector<double> KeyCache::positions_of(const NewKeys& x) const {
  const std::int64_t n = x.n, given = std::int64_t(x.positions.size());
  if (given != 0 && given != n && given != shape_.B * n)
    throw Error(Fault::usage, text("KeyCache::append: positions has ", counted(std::size_t(given), "number"),
                                   "; allowed are ", n, " (for all sequences) and ", shape_.B * n));
  std::vector<double> all(shape_.B * n);
  for (std::int64_t b = 0; b < shape_.B; ++b) {
    double last = sequences_[b].last;
    bool first = sequences_[b].total == 0;
    for (std::int64_t t = 0; t < n; ++t) {
      if (x.padding && x.padding[b * n + t]) continue;
      const double p = given ? x.positions[given == n ? t : b * n + t] : last + 1;
      if (!(std::abs(p) <= kFarthest))
        throw Error(Fault::usage, text("KeyCache::append: the position of token ", t, " of sequence ", b,
                                       " is ", p, "; allowed are numbers within ±2^53"));
      if (!first && p < last)
        throw Error(Fault::usage,
                    text("KeyCache::append: the position of token ", t, " of sequence ", b, " is ", p,
                         ", before the cached ones; allowed are ", last, " or more"));
      all[b * n + t] = last = p, first = false;
    }
  }
  return all;
}

void KeyCache::append(const NewKeys& x) {
  check_rows_and_room(x);
  const std::vector<double> positions = positions_of(x);
  last_.assign(shape_.B * x.n, -1);
  appended_ = x.n;
  parallel_for(shape_.B, [&](std::int64_t b) {
    Sequence& s = sequences_[b];
    if (!x.contexts.empty()) s.context = x.contexts[b];
    for (std::int64_t t = 0; t < x.n; ++t) {
      if (x.padding && x.padding[b * x.n + t]) continue;
      const double p = positions[b * x.n + t];
      store(b, slot(s.total), x, t);
      positions_[b * slots_ + slot(s.total)] = s.last = p;
      s.whole = s.whole && p == std::floor(p);
      last_[b * x.n + t] = s.total++;
      s.stored = std::min(s.stored + 1, shape_.capacity);
    }
  });
}

void KeyCache::store(std::int64_t b, std::int64_t slot, const NewKeys& x, std::int64_t t) {
  for (std::int64_t h = 0; h < shape_.heads; ++h) {
    const float *key = x.k.row(b, t, h), *value = x.v.row(b, t, h);
    float *column = &k_[key_block(b, h, slot) + slot % kBlock], *row = &v_[value_row(b, h, slot)];
    for (std::int64_t c = 0; c < shape_.K; ++c) column[c * kBlock] = key[c];
    bool tame = true;
    for (std::int64_t d = 0; d < shape_.D; ++d) row[d] = value[d], tame &= std::abs(value[d]) < kTame;
    sequences_[b].tame = sequences_[b].tame && tame;
  }
}

void KeyCache::copy_rows(std::int64_t b, Floats& keys, Floats& values) const {
  const std::int64_t n = length(b), K = shape_.K, D = shape_.D, first = at(b).total - n;
  keys.resize(std::size_t(shape_.heads * n * K)), values.resize(std::size_t(shape_.heads * n * D));
  for (std::int64_t h = 0; h < shape_.heads; ++h) {
    for (std::int64_t t = 0; t < n; ++t) {
      const std::int64_t s = slot(first + t), row = h * n + t;
      const float* column = &k_[key_block(b, h, s) + s % kBlock];
      for (std::int64_t c = 0; c < K; ++c) keys[row * K + c] = column[c * kBlock];
      std::copy_n(&v_[value_row(b, h, s)], D, &values[row * D]);
    }
  }
}

void KeyCache::rewrite_keys(const std::function<void(const CachedKeys&)>& f) {
  constexpr std::int64_t kTokens = 256;  // at a time: rows enough for f, and little memory
  const std::int64_t H = shape_.heads, K = shape_.K;
  Scratch rows(kTokens * H * K);
  std::vector<double> positions(kTokens);
  for (std::int64_t b = 0; b < shape_.B; ++b) {
    const Sequence& s = sequences_[b];
    for (std::int64_t first = s.total - s.stored; first < s.total; first += kTokens) {
      const std::int64_t n = std::min(kTokens, s.total - first);
      // copy(column of the cache, number of a row) for every number of these keys.
      const auto each = [&](const auto& copy) {
        for (std::int64_t t = 0; t < n; ++t) {
          const std::int64_t at = slot(first + t);
          for (std::int64_t h = 0; h < H; ++h) {
            float *column = &k_[key_block(b, h, at) + at % kBlock], *row = &rows[(t * H + h) * K];
            for (std::int64_t c = 0; c < K; ++c) copy(column[c * kBlock], row[c]);
          }
        }
      };
      for (std::int64_t t = 0; t < n; ++t) positions[t] = positions_[b * slots_ + slot(first + t)];
      each([](const float& column, float& row) { row = column; });
      f({b, std::span(positions).first(std::size_t(n)), {1, n, H, 0, H * K, K}, rows.data()});
      each([](float& column, const float& row) { column = row; });
    }
  }
}

}  // namespace gnomon
