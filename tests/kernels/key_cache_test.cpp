// The key cache: what is decoded against it is what attention says of the whole sequence.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gnomon/core/parallel.h"
#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/attend_cached.h"
#include "gnomon/spec/scheme.h"
#include "tests/support/door.h"
#include "tests/support/support.h"

namespace gnomon {
namespace {

class Cache : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Cache, testing::ValuesIn(simd_targets()), target_name);

constexpr std::int64_t B = 2, H = 6, G = 2, K = 20, D = 18;  // sequences, query heads, heads of keys, widths
constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum Asked : unsigned { kDistance = 1, kCross = 2, kQueryKey = 4, kExtras = 8 };

// A whole sequence of T tokens, and the same decoded step by step.
struct Text {
  std::int64_t T;
  Floats q, k, v, bias, sinks = {0.5f, -1, 2, -kInfinity, 0, 1};
  std::vector<std::uint8_t> mask;
  Terms terms;
  bool extras;

  Text(std::int64_t tokens, unsigned asked) : T(tokens), extras(asked & kExtras) {
    q = normals(B * T * H * K, 1), k = normals(B * T * G * K, 2), v = normals(B * T * G * D, 3);
    terms.distances = T;
    if (asked & kDistance) terms.by_distance = normals(H * T, 4);
    if (asked & kDistance) terms.by_distance[7] = -kInfinity;
    if (asked & kCross)
      terms.query_cross = normals(H * T * K, 5, 0.2), terms.key_cross = normals(H * T * K, 6, 0.2);
    if (asked & kCross) terms.value = normals(H * T * D, 7);
    if (asked & kQueryKey) terms.by_query = normals(B * H * T, 8), terms.by_key = normals(B * H * T, 9);
    if (!extras) return;
    bias = normals(B * H * T * T, 10), mask.resize(std::size_t(T * T));
    for (std::size_t n = 0; n < mask.size(); ++n) mask[n] = n % 6 > 0;
  }
  template <class T_>
  static Heads<T_> heads(T_* data, std::int64_t tokens, std::int64_t count, std::int64_t width) {
    return {data, tokens * count * width, count * width, width};
  }
  AttendShape shape(std::int64_t queries, std::int64_t keys) const {
    AttendShape s{
        .B = B, .H = H, .queries = queries, .keys = keys, .K = K, .D = D, .scale = 0.2f, .causal = true};
    s.kv_heads = G;
    return s;
  }
  // Queries from token `first` on.
  Extras asked(std::int64_t first) const {
    if (!extras) return {};
    return {.soft_cap = 3,
            .bias = {bias.data() + first * T, H * T * T, T * T, T},
            .mask = {mask.data() + first * T, 0, 0, T},
            .sinks = sinks.data()};
  }
  struct Answer {
    Floats out, lse;
  };
  Answer whole(const Terms& all) const {
    Answer a{Floats(B * T * H * D), Floats(B * H * T)};
    attend(shape(T, T), heads(q.data(), T, H, K), heads(k.data(), T, G, K), heads(v.data(), T, G, D), all,
           heads(a.out.data(), T, H, D), a.lse.data(), asked(0));
    return a;
  }
  NewKeys keys(std::int64_t first, std::int64_t n) const {
    return {n, {&k[first * G * K], T * G * K, G * K, K}, {&v[first * G * D], T * G * D, G * D, D}};
  }
  // Of the last n tokens of the cache, which are those from `first` on; with `own`, these terms.
  Answer decoded(const KeyCache& cache, std::int64_t first, std::int64_t n,
                 const Terms* own = nullptr) const {
    Answer a{Floats(B * n * H * D), Floats(B * H * n)};
    Terms t = own ? *own : terms;
    const std::int64_t oldest = first + n - cache.keys();
    if (!t.by_query.empty()) {
      Floats of_queries, of_keys;
      for (std::int64_t bh = 0; bh < B * H; ++bh) {
        of_queries.insert(of_queries.end(), &t.by_query[bh * T + first], &t.by_query[bh * T + first] + n);
        of_keys.insert(of_keys.end(), &t.by_key[bh * T + oldest], &t.by_key[bh * T + oldest] + cache.keys());
      }
      t.by_query = of_queries, t.by_key = of_keys;
    }
    Extras x = asked(first);
    if (extras) x.bias.data += oldest, x.mask.data += oldest;
    attend_cached(shape(n, cache.keys()), {{&q[first * H * K], T * H * K, H * K, K}}, cache, t, x,
                  heads(a.out.data(), n, H, D), a.lse.data());
    return a;
  }
  void expect_rows(const Answer& whole, const Answer& some, std::int64_t first, std::int64_t n) const {
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t c = 0; c < H * D; ++c)
          ASSERT_NEAR(some.out[(b * n + i) * H * D + c], whole.out[(b * T + first + i) * H * D + c], 1e-5)
              << "token " << first + i;
        for (std::int64_t h = 0; h < H; ++h) {
          const float want = whole.lse[(b * H + h) * T + first + i], found = some.lse[(b * H + h) * n + i];
          if (std::isinf(want)) {
            ASSERT_EQ(found, want);
          } else {
            ASSERT_NEAR(found, want, 1e-5) << "token " << first + i;
          }
        }
      }
    }
  }
};

TEST_P(Cache, DecodingIsTheWholePass) {
  for (const unsigned asked : {0u, 1u, 2u, 4u, 8u, 15u}) {
    SCOPED_TRACE(asked);
    const Text t(140, asked);
    const auto whole = t.whole(t.terms);
    KeyCache cache({B, G, K, D, t.T});
    std::int64_t first = 0;
    for (const std::int64_t n : {1, 37, 1, 1, 64, 1, 1, 34}) {
      cache.append(t.keys(first, n));
      t.expect_rows(whole, t.decoded(cache, first, n), first, n);
      if (HasFatalFailure()) return;
      first += n;
    }
    EXPECT_EQ(cache.length(1), t.T);
    refused("the cache is full: sequence 0 has 140 tokens and would get 1 more; allowed are 140",
            [&] { cache.append(t.keys(0, 1)); });
  }
}

// Long enough for several pieces.
TEST_P(Cache, LongSequencesAreTheWholePassForEveryNumberOfThreads) {
  const Text t(2300, kDistance | kQueryKey);
  const auto whole = t.whole(t.terms);
  KeyCache cache({B, G, K, D, t.T});
  cache.append(t.keys(0, t.T - 3));
  cache.append(t.keys(t.T - 3, 3));
  const int threads = thread_count();
  const auto one = t.decoded(cache, t.T - 3, 3);
  set_thread_count(3);
  const auto three = t.decoded(cache, t.T - 3, 3);
  set_thread_count(threads);
  t.expect_rows(whole, one, t.T - 3, 3);
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.lse, three.lse);
}

TEST_P(Cache, AWindowIsARing) {
  constexpr std::int64_t window = 50;
  for (const std::int64_t capacity : {70, 96, 150}) {
    for (const unsigned asked : {0u, unsigned(kDistance), 15u}) {
      SCOPED_TRACE(testing::Message() << "capacity " << capacity << " asked " << asked);
      const Text t(330, asked);
      Terms all = t.terms, near = t.terms;
      for (std::int32_t i = 0; i < t.T; ++i)
        all.first_key.push_back(std::max(0, i - std::int32_t(window) + 1));
      if (asked == kDistance) {  // of the window's distances, and no others
        near.distances = window, near.by_distance.clear();
        for (std::int64_t h = 0; h < H; ++h)
          near.by_distance.insert(near.by_distance.end(), &t.terms.by_distance[h * t.T],
                                  &t.terms.by_distance[h * t.T] + window);
      }
      const auto whole = t.whole(all);
      KeyCache cache({B, G, K, D, capacity, window});
      std::int64_t first = 0, step = 0;
      for (std::int64_t n = 1; first + n <= t.T; n = 1 + ++step * 7 % 21) {
        cache.append(t.keys(first, n));
        t.expect_rows(whole, t.decoded(cache, first, n, &near), first, n);
        if (HasFatalFailure()) return;
        first += n;
      }
      EXPECT_EQ(cache.length(0), capacity);
      EXPECT_EQ(cache.position(0, capacity - 1), double(first - 1));
      EXPECT_EQ(cache.position(0, 0), double(first - capacity));
      refused("n is ", [&] { cache.append(t.keys(0, capacity - window + 2)); });
    }
  }
}

// Every sequence as long as it is, whatever stands beside it in the batch.
TEST_P(Cache, PaddingIsNotStored) {
  const Text t(40, kDistance);
  const auto whole = t.whole(t.terms);
  KeyCache cache({B, G, K, D, 40});
  // Sequence 1 is padded at the left of the first call, has no part in the second, and is whole in the third.
  const std::vector<std::uint8_t> padded[] = {{0, 0, 0, 0, 0, 1, 1, 1, 0, 0}, {0, 0, 1, 1}, {0, 0, 0, 0}};
  std::int64_t next[] = {0, 0};
  for (const auto& padding : padded) {
    const std::int64_t n = std::int64_t(padding.size()) / B;
    Floats q(B * n * H * K), k(B * n * G * K, kNaN), v(B * n * G * D, kNaN), out(B * n * H * D, 7),
        lse(B * H * n);
    std::vector<std::int64_t> token(padding.size(), -1);
    for (std::int64_t r = 0; r < B * n; ++r) {
      if (padding[r]) continue;
      const std::int64_t at = r / n * t.T + (token[r] = next[r / n]++);
      std::copy_n(&t.q[at * H * K], H * K, &q[r * H * K]);
      std::copy_n(&t.k[at * G * K], G * K, &k[r * G * K]);
      std::copy_n(&t.v[at * G * D], G * D, &v[r * G * D]);
    }
    const float *fk = k.data(), *fv = v.data(), *fq = q.data();
    cache.append({n, t.heads(fk, n, G, K), t.heads(fv, n, G, D), {}, padding.data()});
    attend_cached(t.shape(n, cache.keys()), {t.heads(fq, n, H, K)}, cache, t.terms, {},
                  t.heads(out.data(), n, H, D), lse.data());
    for (std::int64_t r = 0; r < B * n; ++r) {
      EXPECT_EQ(std::isinf(lse[(r / n * H + 1) * n + r % n]), padding[r] == 1);
      for (std::int64_t c = 0; c < H * D; ++c)
        ASSERT_NEAR(out[r * H * D + c], padding[r] ? 0 : whole.out[(r / n * t.T + token[r]) * H * D + c],
                    1e-5);
    }
  }
  EXPECT_EQ(cache.length(0), 9);
  EXPECT_EQ(cache.length(1), 4);
}

// Distances are those of the positions, also where they leave gaps.
TEST_P(Cache, PositionsMayLeaveGaps) {
  Text t(60, kDistance | kCross);
  std::vector<double> positions;
  for (std::int64_t i = 0; i < t.T; ++i) positions.push_back(double(i < 50 ? i / 2 : i - 10));
  Terms placed = t.terms;
  placed.places.assign(positions.begin(), positions.end());
  Floats wide_k(B * t.T * H * K), wide_v(B * t.T * H * D);  // every head its own keys
  for (std::int64_t n = 0; n < B * t.T * H; ++n) {
    const std::int64_t from = n / H * G + n % H / (H / G);
    std::copy_n(&t.k[from * K], K, &wide_k[n * K]), std::copy_n(&t.v[from * D], D, &wide_v[n * D]);
  }
  AttendShape s = t.shape(t.T, t.T);
  s.kv_heads = 0;
  Text::Answer whole{Floats(B * t.T * H * D), Floats(B * H * t.T)};
  const float *fq = t.q.data(), *fk = wide_k.data(), *fv = wide_v.data();
  attend(s, t.heads(fq, t.T, H, K), t.heads(fk, t.T, H, K), t.heads(fv, t.T, H, D), placed,
         t.heads(whole.out.data(), t.T, H, D), whole.lse.data());
  KeyCache cache({B, G, K, D, t.T});
  for (std::int64_t first = 0; first < t.T; first += 20) {
    NewKeys keys = t.keys(first, 20);
    keys.positions = std::span(positions).subspan(std::size_t(first), 20);
    cache.append(keys);
    t.expect_rows(whole, t.decoded(cache, first, 20), first, 20);
    if (HasFatalFailure()) return;
  }
}

// Keys that were turned under one context and are turned in place to another are those of the other.
TEST_P(Cache, KeysAreTurnedInPlace) {
  const auto encoding = make_encoding("dynamic_ntk(factor=4, original=4096)", {H * K, H, K, 4096, true});
  const auto& map = *part<TurnPart>(*encoding);
  const Turns before = map.turns_at(2048), after = map.turns_at(131072),
              none{before.window, std::vector<double>(K / 2, 0.0)};
  for (const std::int64_t window : {0, 80}) {
    Text t(500, 0);
    std::vector<double> positions;
    for (std::int64_t i = 0; i < t.T; ++i) positions.push_back(double(i * 13));
    const auto turned = [&](const Turns& turns) {
      Text other = t;
      for (std::int64_t b = 0; b < B; ++b)
        rerotate(none, turns, positions, {1, t.T, G, 0, G * K, K}, &other.k[b * t.T * G * K]);
      return other;
    };
    const auto filled = [&](const Text& text) {
      KeyCache cache({B, G, K, D, window ? 100 : 500, window});
      for (std::int64_t first = 0; first < t.T; first += 20) {
        NewKeys keys = text.keys(first, 20);
        keys.positions = std::span(positions).subspan(std::size_t(first), 20);
        cache.append(keys);
      }
      return cache;
    };
    KeyCache moved = filled(turned(before));
    const KeyCache wanted = filled(turned(after));
    const auto stale = t.decoded(moved, 480, 20);
    std::int64_t tokens = 0;
    moved.rewrite_keys([&](const CachedKeys& keys) {
      EXPECT_EQ(keys.positions[0], moved.position(keys.b, tokens % moved.length(0)));
      tokens += keys.rows.T;
      rerotate(before, after, Positions(keys.positions, 1, 1), keys.rows, keys.keys);
    });
    EXPECT_EQ(tokens, B * moved.length(0));
    const auto found = t.decoded(moved, 480, 20), want = t.decoded(wanted, 480, 20);
    float apart = 0;
    for (std::size_t n = 0; n < want.out.size(); ++n) {
      ASSERT_NEAR(found.out[n], want.out[n], 1e-5);
      apart = std::max(apart, std::abs(stale.out[n] - want.out[n]));
    }
    EXPECT_GT(apart, 0.05);  // the control: kept as they were
  }
}

// A number that is none reaches those who see it, and leaves with its key.
TEST_P(Cache, NanIsToldAndLeaves) {
  for (const bool in_key : {true, false}) {
    Text t(120, 0);
    const std::int64_t bad = 30, head = 1;
    (in_key ? t.k[(bad * G + head) * K + 3] : t.v[(bad * G + head) * D + 3]) = kNaN;  // of sequence 0
    KeyCache cache({B, G, K, D, 70, 50});
    for (std::int64_t first = 0; first < t.T; first += 10) {
      cache.append(t.keys(first, 10));
      const auto a = t.decoded(cache, first, 10);
      for (std::int64_t n = 0; n < B * 10 * H * D; ++n) {
        const std::int64_t token = first + n / (H * D) % 10, h = n / D % H, b = n / (10 * H * D);
        const bool sees = b == 0 && h / (H / G) == head && token >= bad && token < bad + 50;
        ASSERT_EQ(std::isnan(a.out[n]), sees && (in_key || n % D == 3)) << "token " << token << " head " << h;
      }
    }
  }
  Text t(20, kExtras);  // hidden by the mask
  for (std::int64_t c = 0; c < G * K; ++c) t.k[5 * G * K + c] = kNaN;
  for (std::int64_t c = 0; c < G * D; ++c) t.v[5 * G * D + c] = kInfinity;
  for (std::int64_t i = 0; i < t.T; ++i) t.mask[i * t.T + 5] = 0;
  KeyCache cache({B, G, K, D, 20});
  cache.append(t.keys(0, 20));
  for (const float x : t.decoded(cache, 0, 20).out) ASSERT_TRUE(std::isfinite(x));
  Text overflows(4, 0);
  overflows.q[0] = 1e30f, overflows.k[0] = -1e30f;
  KeyCache four({B, G, K, D, 4});
  four.append(overflows.keys(0, 4));
  EXPECT_TRUE(std::isnan(overflows.decoded(four, 0, 4).lse[0]));
}

TEST(DoorKeyCache, ExtentsAreWithinBounds) {
  const KeyCacheShape good{B, G, K, D, 8};
  for (const auto& [name, field] : {std::pair{"B", &KeyCacheShape::B},
                                    {"heads", &KeyCacheShape::heads},
                                    {"K", &KeyCacheShape::K},
                                    {"D", &KeyCacheShape::D},
                                    {"capacity", &KeyCacheShape::capacity},
                                    {"window", &KeyCacheShape::window}}) {
    for (const std::int64_t x : {std::int64_t{-1}, kLeast, kMost}) {
      KeyCacheShape s = good;
      s.*field = x;
      refused(text("KeyCache: ", name, " is ", x), [&] { KeyCache{s}; });
    }
  }
  KeyCacheShape s = good;
  s.window = 9;
  refused("window is 9; allowed are 0 to 8", [&] { KeyCache{s}; });
  s = good, s.B = s.capacity = std::int64_t{1} << 30;
  refused("KeyCache: found an array of", [&] { KeyCache{s}; });
}

TEST(DoorKeyCache, WhatIsRefusedChangesNothing) {
  const Text t(8, 0);
  KeyCache cache({B, G, K, D, 8});
  const double three[] = {4, 5, 6};
  NewKeys keys = t.keys(0, 3);
  keys.positions = three;
  cache.append(keys);
  const auto before = t.decoded(cache, 0, 3);
  const auto append = [&](auto change) {
    NewKeys more = t.keys(3, 3);
    change(more);
    cache.append(more);
  };
  const auto refuse = [&](std::string_view words, auto change) { refused(words, [&] { append(change); }); };
  refuse("n is 9; allowed are 0 to 8", [](NewKeys& x) { x.n = 9; });
  refuse("n is -1", [](NewKeys& x) { x.n = -1; });
  refuse("sequence 0 has 3 tokens and would get 6 more", [](NewKeys& x) { x.n = 6; });
  refuse("k is null", [](NewKeys& x) { x.k.data = nullptr; });
  refuse("rows of v are -1", [](NewKeys& x) { x.v.token = -1; });
  for (const auto& [words, last] : {std::pair{"token 2 of sequence 0 is nan", double(kNaN)},
                                    {"is inf; allowed are numbers within", double(kInfinity)},
                                    {"is 7, before the cached ones; allowed are 8 or more", 7}}) {
    const double positions[] = {7, 8, last};
    refuse(words, [&](NewKeys& x) { x.positions = positions; });
  }
  const double earlier[] = {5, 6, 7};
  refuse("token 0 of sequence 0 is 5, before the cached ones; allowed are 6",
         [&](NewKeys& x) { x.positions = earlier; });
  refuse("positions has 2 numbers; allowed are 3 (for all sequences) and 6",
         [&](NewKeys& x) { x.positions = std::span(earlier).first(2); });
  refuse("contexts has 3", [&](NewKeys& x) { x.contexts = earlier; });
  EXPECT_EQ(cache.length(0), 3);
  EXPECT_EQ(cache.context(0), 0);
  EXPECT_EQ(t.decoded(cache, 0, 3).out, before.out);
  refused("the key is 3; allowed are 0 to 2", [&] { cache.position(0, 3); });
  refused("the sequence is 2; allowed are 0 to 1", [&] { cache.length(2); });
  append([&](NewKeys& x) { x.contexts = std::span(earlier).first(2); });
  EXPECT_EQ(cache.position(1, 5), 9);  // follow on
  EXPECT_EQ(cache.context(1), 6);
}

TEST(DoorKeyCache, AttentionFitsItsCache) {
  Text t(8, kDistance);
  KeyCache cache({B, G, K, D, 8});
  cache.append(t.keys(0, 8));
  struct Call {
    AttendShape s;
    Terms terms;
    Extras extras;
  };
  Floats out(B * 8 * H * D), lse(B * H * 8);
  const auto refuse = [&](std::string_view words, auto change) {
    Call c{t.shape(8, 8), t.terms, {}};
    change(c);
    const float* q = t.q.data();
    refused(words, [&] {
      attend_cached(c.s, {t.heads(q, 8, H, K)}, cache, c.terms, c.extras, t.heads(out.data(), 8, H, D),
                    lse.data());
    });
  };
  const std::vector<std::uint8_t> padding(16);
  refuse("B is 3; allowed are 2 to 2", [](Call& c) { c.s.B = 3; });
  refuse("heads of keys is 3; allowed are 2 to 2", [](Call& c) { c.s.kv_heads = 3; });
  refuse("heads of keys is 6; allowed are 2 to 2", [](Call& c) { c.s.kv_heads = 0; });
  refuse("kv_heads is 2; allowed are 0 and the divisors", [](Call& c) { c.s.H = 5; });
  refuse("K is 19; allowed are 20 to 20", [](Call& c) { c.s.K = 19; });
  refuse("D is 19; allowed are 18 to 18", [](Call& c) { c.s.D = 19; });
  refuse("keys is 7; allowed are 8 to 8", [](Call& c) { c.s.keys = 7; });
  refuse("queries is 9; allowed are 0 to 8", [](Call& c) { c.s.queries = 9; });
  refuse("beside is 1", [](Call& c) { c.s.beside = 1; });
  refuse("scale is nan", [](Call& c) { c.s.scale = kNaN; });
  refuse("first is given", [](Call& c) { c.s.first = 0; });
  refuse("padding is given", [&](Call& c) { c.s.padding = padding.data(); });
  refuse("terms have other arrays", [](Call& c) { c.terms.places.assign(8, 0); });
  refuse("terms have first_key or end_key", [](Call& c) { c.terms.end_key.assign(8, 0); });
  refuse("soft_cap is -1", [](Call& c) { c.extras.soft_cap = -1; });
  refuse("attention needs 0..7", [](Call& c) { c.terms.distances = 7, c.terms.by_distance.resize(42); });
  refuse("attention needs -7..0", [](Call& c) { c.s.causal = false; });
  refuse("terms.by_distance has 47", [](Call& c) { c.terms.by_distance.pop_back(); });
  const double halves[] = {9.5};
  KeyCache half({B, G, K, D, 8});
  NewKeys one = t.keys(0, 1);
  one.positions = halves;
  half.append(one);
  refused("positions of sequence 0 are not whole numbers", [&] { t.decoded(half, 0, 1); });
}

}  // namespace
}  // namespace gnomon
