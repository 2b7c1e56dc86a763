// Groups of query heads, places of the queries, and what the caller asks of logits (soft-cap, bias, mask, sinks), against
// attention written plainly in double: alone and together, forward and gradients, every SIMD target.
#include <cmath>
#include <limits>
#include <vector>

#include "gnomon/core/parallel.h"
#include "gnomon/kernels/attend.h"
#include "tests/unit/door.h"
#include "tests/unit/support.h"

namespace gnomon {
namespace {

class AttendExtras : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttendExtras, testing::ValuesIn(simd_targets()), target_name);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum Asked : unsigned { kCap = 1, kBias = 2, kMask = 4, kSinks = 8, kTerms = 16, kPadding = 32 };
constexpr unsigned kEverything = 63;

// Which of the axes B, H and queries a bias or mask has of its own; the others share its numbers.
struct Own {
  bool batch = true, head = true, query = true;
};

struct Problem {
  AttendShape s;
  Extras extras;
  Terms terms;
  Floats q, k, v, dout, bias, sinks;
  std::vector<std::uint8_t> mask, padding;

  Problem(const AttendShape& shape, unsigned asked, Own own = {}) : s(shape) {
    const std::int64_t G = s.of_keys().H;
    q = normals(s.B * s.queries * s.H * s.K, 1), k = normals(s.B * s.keys * G * s.K, 2);
    v = normals(s.B * s.keys * G * s.D, 3), dout = normals(s.B * s.queries * s.H * s.D, 4);
    if (asked & kCap) extras.soft_cap = 1.5f;
    if (asked & kSinks) sinks = normals(s.H, 5);
    if (asked & kBias) bias = normals(s.B * s.H * s.queries * s.keys, 6);
    for (std::size_t n = 0; n < bias.size(); n += 7) bias[n] = -kInfinity;
    if (asked & kMask) mask.resize(std::size_t(s.B * s.H * s.queries * s.keys));
    for (std::size_t n = 0; n < mask.size(); ++n) mask[n] = n % 5 ? 7 : 0;
    for (std::int64_t j = 0; s.queries > 1 && !mask.empty() && j < s.keys; ++j)
      mask[std::size_t(s.keys + j)] = 0;  // query 1 of the first head sees nothing
    if (asked & kPadding) padding.resize(std::size_t(s.B * s.keys));
    for (std::size_t n = 0; n < padding.size(); ++n) padding[n] = n % 4 == 1;
    if (asked & kTerms) add_terms();
    const auto steps = [&](auto& x) {
      x.query = own.query ? s.keys : 0, x.head = own.head ? s.queries * s.keys : 0;
      x.batch = own.batch ? s.H * s.queries * s.keys : 0;
    };
    steps(extras.bias), steps(extras.mask);
  }
  void add_terms() {
    terms.first_distance = s.place(0) - (s.keys - 1);
    terms.distances = s.queries + s.keys - 1;
    const std::int64_t R = terms.distances;
    terms.by_distance = normals(s.H * R, 10), terms.value = normals(s.H * R * s.D, 11);
    terms.by_query = normals(s.B * s.H * s.queries, 12), terms.by_key = normals(s.B * s.H * s.keys, 13);
    terms.query_cross = normals(s.H * R * s.K, 14, 0.3), terms.key_cross = normals(s.H * R * s.K, 15, 0.3);
  }
  Extras asked() const {
    Extras x = extras;
    x.bias.data = bias.empty() ? nullptr : bias.data(), x.mask.data = mask.empty() ? nullptr : mask.data();
    x.sinks = sinks.empty() ? nullptr : sinks.data();
    return x;
  }
  template <class T>
  static Heads<T> heads(T* data, std::int64_t tokens, std::int64_t H, std::int64_t width) {
    return {data, tokens * H * width, H * width, width};
  }
  Heads<const float> rows_q() const { return heads(q.data(), s.queries, s.H, s.K); }
  Heads<const float> rows_k() const { return heads(k.data(), s.keys, s.of_keys().H, s.K); }
  Heads<const float> rows_v() const { return heads(v.data(), s.keys, s.of_keys().H, s.D); }

  // --- The definition

  double term(const Floats& a, std::int64_t h, std::int64_t delta, std::int64_t width, std::int64_t c) const {
    return a.empty() ? 0.0 : double(a[(h * terms.distances + delta - terms.first_distance) * width + c]);
  }
  double logit(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const Extras x = asked();
    const std::int64_t place = s.place(0) + i, of = h / (s.H / s.of_keys().H), delta = place - j;
    const double hidden = -std::numeric_limits<double>::infinity();
    if (s.causal && j > place) return hidden;
    if (!padding.empty() && padding[b * s.keys + j]) return hidden;
    if (x.mask.data && x.mask.row(b, h, i)[j] == 0) return hidden;
    const float *qi = rows_q().row(b, i, h), *kj = rows_k().row(b, j, of);
    double sum = term(terms.by_distance, h, delta, 1, 0);
    if (!terms.by_query.empty())
      sum += double(terms.by_query[(b * s.H + h) * s.queries + i]) + terms.by_key[(b * s.H + h) * s.keys + j];
    for (std::int64_t c = 0; c < s.K; ++c) {
      sum += double(s.scale) * qi[c] * kj[c] + double(qi[c]) * term(terms.query_cross, h, delta, s.K, c) +
             double(kj[c]) * term(terms.key_cross, h, delta, s.K, c);
    }
    if (x.soft_cap != 0) sum = double(x.soft_cap) * std::tanh(sum / double(x.soft_cap));
    return x.bias.data ? sum + double(x.bias.row(b, h, i)[j]) : sum;
  }
  // A row of the definition: its output, and the log of the sum.
  double row(std::int64_t b, std::int64_t h, std::int64_t i, std::vector<double>& out) const {
    const std::int64_t of = h / (s.H / s.of_keys().H);
    double total = sinks.empty() ? 0 : std::exp(double(sinks[h]));
    out.assign(s.D, 0);
    std::vector<double> weights(s.keys);
    for (std::int64_t j = 0; j < s.keys; ++j) total += weights[j] = std::exp(logit(b, h, i, j));
    for (std::int64_t j = 0; j < s.keys; ++j) {
      if (weights[j] == 0) continue;
      for (std::int64_t d = 0; d < s.D; ++d)
        out[d] += weights[j] / total *
                  (double(rows_v().row(b, j, of)[d]) + term(terms.value, h, s.place(0) + i - j, s.D, d));
    }
    return std::log(total);
  }
  template <class Body>
  void each_row(const Body& f) const {
    for (std::int64_t b = 0; b < s.B; ++b)
      for (std::int64_t h = 0; h < s.H; ++h)
        for (std::int64_t i = 0; i < s.queries; ++i) f(b, h, i);
  }
  double loss() const {
    double sum = 0;
    std::vector<double> out;
    each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      row(b, h, i, out);
      const float* g = heads(dout.data(), s.queries, s.H, s.D).row(b, i, h);
      for (std::int64_t d = 0; d < s.D; ++d) sum += out[d] * double(g[d]);
    });
    return sum;
  }
};

struct Fused {
  Floats out, lse, dq, dk, dv, dbias, dsinks;
  Terms dterms;
  explicit Fused(Problem p) {
    p.s.padding = p.padding.empty() ? nullptr : p.padding.data();
    const AttendShape& s = p.s;
    const std::int64_t G = s.of_keys().H;
    out.resize(p.dout.size()), lse.resize(s.B * s.H * s.queries);
    dq.resize(p.q.size()), dk.assign(p.k.size(), 9), dv.assign(p.v.size(), 9);
    dbias.resize(p.bias.size()), dsinks.resize(p.sinks.size());
    dterms = p.terms.zeros();
    ExtrasGrad dextras;
    dextras.bias = {p.bias.empty() ? nullptr : dbias.data(), p.extras.bias.batch, p.extras.bias.head,
                    p.extras.bias.query};
    dextras.sinks = p.sinks.empty() ? nullptr : dsinks.data();
    attend(s, p.rows_q(), p.rows_k(), p.rows_v(), p.terms, p.heads(out.data(), s.queries, s.H, s.D),
           lse.data(), p.asked());
    attend_backward(
        s,
        {p.rows_q(), p.rows_k(), p.rows_v(), p.heads<const float>(out.data(), s.queries, s.H, s.D),
         lse.data(), p.heads<const float>(p.dout.data(), s.queries, s.H, s.D), p.asked()},
        p.terms,
        {p.heads(dq.data(), s.queries, s.H, s.K), p.heads(dk.data(), s.keys, G, s.K),
         p.heads(dv.data(), s.keys, G, s.D), &dterms, dextras});
  }
};

void expect_forward(const Problem& p) {
  const Fused f(p);
  std::vector<double> out;
  p.each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
    SCOPED_TRACE(testing::Message() << "b " << b << " h " << h << " i " << i);
    const double lse = p.row(b, h, i, out);
    const float found = f.lse[(b * p.s.H + h) * p.s.queries + i];
    if (std::isinf(lse)) {
      EXPECT_EQ(found, lse);
    } else {
      EXPECT_NEAR(found, lse, 1e-5);
    }
    for (std::int64_t d = 0; d < p.s.D; ++d)
      EXPECT_NEAR(p.heads(f.out.data(), p.s.queries, p.s.H, p.s.D).row(b, i, h)[d], out[d], 1e-5);
  });
}
void expect_gradients(Problem p) {
  const Fused f(p);
  const auto loss = [&] { return p.loss(); };
  expect_gradient(p.q, f.dq, loss, 7, 1e-3);
  expect_gradient(p.k, f.dk, loss, 5, 1e-3);
  expect_gradient(p.v, f.dv, loss, 5, 1e-3);
  expect_gradient(p.sinks, f.dsinks, loss, 1, 1e-3);
  expect_gradient(p.terms.by_distance, f.dterms.by_distance, loss, 2, 1e-3);
  expect_gradient(p.terms.by_query, f.dterms.by_query, loss, 3, 1e-3);
  expect_gradient(p.terms.by_key, f.dterms.by_key, loss, 5, 1e-3);
  expect_gradient(p.terms.query_cross, f.dterms.query_cross, loss, 41, 1e-3);
  expect_gradient(p.terms.key_cross, f.dterms.key_cross, loss, 41, 1e-3);
  expect_gradient(p.terms.value, f.dterms.value, loss, 41, 1e-3);
  for (std::size_t n = 0; n < p.bias.size(); n += 3) {
    if (std::isinf(p.bias[n])) {
      ASSERT_EQ(f.dbias[n], 0);  // of a key that is hidden
    } else if (p.extras.bias.batch || n < p.bias.size() / p.s.B) {
      const float keep = p.bias[n];
      p.bias[n] = keep + 1e-3f;
      const double above = loss(), high = double(p.bias[n]);
      p.bias[n] = keep - 1e-3f;
      const double slope = (above - loss()) / (high - double(p.bias[n]));
      p.bias[n] = keep;
      ASSERT_NEAR(f.dbias[n], slope, 1e-3 * std::max(1.0, std::abs(slope))) << "bias " << n;
    }
  }
}

AttendShape shape(std::int64_t queries, std::int64_t keys, bool causal) {
  return {.B = 2, .H = 4, .queries = queries, .keys = keys, .K = 9, .D = 10, .scale = 0.3f, .causal = causal};
}
// Each alone, and all together.
const unsigned kSets[] = {0, kCap, kBias, kMask, kSinks, kTerms, kCap | kTerms, kCap | kPadding, kEverything};

TEST_P(AttendExtras, ForwardIsTheDefinition) {
  for (const unsigned asked : kSets) {
    for (const bool causal : {true, false}) {
      for (const std::int64_t kv_heads : {0, 1, 2}) {
        SCOPED_TRACE(testing::Message() << "asked " << asked << " causal " << causal << " kv " << kv_heads);
        AttendShape s = shape(37, 37, causal);
        s.kv_heads = kv_heads;
        for (const std::int64_t tile : {0, 5, 32}) {
          s.query_tile = s.key_tile = tile;
          expect_forward({s, asked});
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(AttendExtras, GradientsAreCentralDifferencesOfTheDefinition) {
  for (const unsigned asked : kSets) {
    for (const bool causal : {true, false}) {
      SCOPED_TRACE(testing::Message() << "asked " << asked << " causal " << causal);
      AttendShape s = shape(11, 11, causal);
      s.kv_heads = 2, s.query_tile = 5, s.key_tile = 4;
      expect_gradients({s, asked});
      if (HasFailure()) return;
    }
  }
}

// What becomes weights is seen as the definition has it; put back, it changes no bit; as logarithms of weights, with other
// numbers that hide and show, it is a plain product.
TEST_P(AttendExtras, LogitsAreSeenAndReplaced) {
  for (const unsigned asked : kSets) {
    for (const std::int64_t tile : {0, 5, 32}) {
      SCOPED_TRACE(testing::Message() << "asked " << asked << " tile " << tile);
      AttendShape s = shape(37, 37, true);
      s.kv_heads = 2, s.query_tile = s.key_tile = tile;
      Problem p(s, asked);
      p.s.padding = p.padding.empty() ? nullptr : p.padding.data();
      const std::int64_t row = s.keys, head = s.queries * row, batch = s.H * head;
      Floats logits(std::size_t(s.B * batch), -kInfinity), lse(std::size_t(s.B * s.H * s.queries)),
          out(p.dout.size()), again(out.size());
      const auto run = [&](const Extras& x, Floats& to) {
        attend(p.s, p.rows_q(), p.rows_k(), p.rows_v(), p.terms, p.heads(to.data(), s.queries, s.H, s.D),
               lse.data(), x);
      };
      Extras x = p.asked();
      x.logits = {logits.data(), batch, head, row};
      run(x, out);
      p.each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
        for (std::int64_t j = 0; j < s.keys; ++j) {
          const double want = p.logit(b, h, i, j), found = double(x.logits.row(b, h, i)[j]);
          ASSERT_TRUE(found == want || std::abs(found - want) < 2e-5) << found << " for " << want;
        }
      });
      x.logits = {}, x.instead = {logits.data(), batch, head, row};
      run(x, again);
      ASSERT_EQ(out, again);
      p.terms.value.clear();
      Floats weights(logits.size());
      for (std::size_t n = 0; n < weights.size(); ++n)
        weights[n] =
            std::int64_t(n) % row <= std::int64_t(n) / row % s.queries && n % 3 ? float(n % 7) : 0.0f;
      for (std::size_t n = 0; n < weights.size(); ++n) logits[n] = std::log(weights[n]);
      x.of_weights = true;
      run(x, again);
      p.each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
        for (std::int64_t d = 0; d < s.D; ++d) {
          double want = 0;
          for (std::int64_t j = 0; j < s.keys; ++j) {
            const bool shown =
                p.padding.empty() || !p.padding[std::size_t(b * s.keys + j)];  // of the rest v is 0
            want += shown ? double(weights[std::size_t(b * batch + h * head + i * row + j)]) *
                                double(p.rows_v().row(b, j, h / 2)[d])
                          : 0;
          }
          ASSERT_NEAR(p.heads(again.data(), s.queries, s.H, s.D).row(b, i, h)[d], want, 1e-3);
        }
      });
    }
  }
}

TEST_P(AttendExtras, BiasAndMaskMayBeShared) {
  for (int axes = 0; axes < 8; ++axes) {
    SCOPED_TRACE(axes);
    const Own own{(axes & 1) != 0, (axes & 2) != 0, (axes & 4) != 0};
    expect_forward({shape(19, 19, true), kBias | kMask, own});
    expect_gradients({shape(7, 7, true), kBias | kMask | kCap, own});
    if (HasFailure()) return;
  }
}

// Queries before, among and after the keys; more of them than keys.
TEST_P(AttendExtras, QueriesStandWhereTheCallerSays) {
  for (const bool causal : {true, false}) {
    for (const std::int64_t first : {-6, 0, 3, 20}) {
      for (const auto& [queries, keys] : {std::pair{9, 5}, {5, 12}, {1, 1}}) {
        for (const unsigned asked : {0u, unsigned(kTerms), kEverything}) {
          SCOPED_TRACE(testing::Message() << "causal " << causal << " first " << first << " queries "
                                          << queries << " keys " << keys << " asked " << asked);
          AttendShape s = shape(queries, keys, causal);
          s.first = first, s.kv_heads = 2;
          for (const std::int64_t tile : {0, 3}) {
            s.query_tile = s.key_tile = tile;
            expect_forward({s, asked});
            expect_gradients({s, asked});
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(AttendExtras, WithoutKeysRowsAreZero) {
  for (const unsigned asked : {0u, unsigned(kSinks)}) {
    AttendShape s = shape(3, 0, true);
    s.first = 0;
    const Problem p(s, asked);
    const Fused f(p);
    for (const float x : f.out) EXPECT_EQ(x, 0);
    for (const float x : f.dq) EXPECT_EQ(x, 0);
    for (std::size_t n = 0; n < f.lse.size(); ++n)
      EXPECT_EQ(f.lse[n], asked ? p.sinks[n / 3 % 4] : -kInfinity);
  }
  for (const auto& field : {&AttendShape::B, &AttendShape::queries}) {
    AttendShape s = shape(5, 5, true);
    s.*field = 0;
    const Fused f(Problem(s, kEverything));
    EXPECT_TRUE(f.out.empty());
    for (const float x : f.dk) EXPECT_EQ(x, 0);
  }
}

TEST_P(AttendExtras, TheBitsDoNotDependOnTheThreads) {
  AttendShape s = shape(33, 33, true);
  s.kv_heads = 2;
  const Problem p(s, kEverything, {false, false, true});
  const int threads = thread_count();
  set_thread_count(1);
  const Fused one(p);
  set_thread_count(3);
  const Fused three(p);
  set_thread_count(threads);
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.dq, three.dq);
  EXPECT_EQ(one.dk, three.dk);
  EXPECT_EQ(one.dv, three.dv);
  EXPECT_EQ(one.dbias, three.dbias);
  EXPECT_EQ(one.dsinks, three.dsinks);
}

// Keys that mask or bias hide may hold anything; a bias or a sink that is no number is told.
TEST_P(AttendExtras, HiddenKeysStayInvisible) {
  const AttendShape s = shape(21, 21, false);
  for (const unsigned asked : {unsigned(kMask), unsigned(kBias), kCap | kBias | kMask | kSinks}) {
    Problem clean(s, asked);
    for (std::int64_t n = 0; n < s.B * s.H * s.queries; ++n) {
      if (asked & kMask) clean.mask[n * s.keys + 4] = 0;
      if (asked & kBias) clean.bias[n * s.keys + 4] = -kInfinity;
    }
    Problem dirty = clean;
    for (std::int64_t b = 0; b < s.B; ++b) {
      for (std::int64_t c = 0; c < s.H * s.K; ++c)
        dirty.k[(b * s.keys + 4) * s.H * s.K + c] = c % 2 ? kNaN : 1e30f;
      for (std::int64_t c = 0; c < s.H * s.D; ++c) dirty.v[(b * s.keys + 4) * s.H * s.D + c] = kNaN;
      for (std::int64_t n = 0; asked & kMask && asked & kBias && n < s.H * s.queries; ++n)
        dirty.bias[(b * s.H * s.queries + n) * s.keys + 4] = kNaN;
    }
    const Fused a(clean), b(dirty);
    for (std::size_t n = 0; n < a.out.size(); ++n) ASSERT_NEAR(a.out[n], b.out[n], 1e-6);
    for (std::size_t n = 0; n < a.dq.size(); ++n) ASSERT_NEAR(a.dq[n], b.dq[n], 1e-5);
    for (std::size_t n = 0; n < a.dk.size(); ++n) ASSERT_NEAR(a.dk[n], b.dk[n], 1e-5);
    for (std::size_t n = 0; n < a.dv.size(); ++n) ASSERT_NEAR(a.dv[n], b.dv[n], 1e-5);
  }
}

TEST_P(AttendExtras, NanIsTold) {
  const AttendShape s = shape(21, 21, true);
  const std::int64_t i = 15, j = 3, row = i;  // of the first head of the first sequence
  for (const float bad : {kNaN, kInfinity}) {
    Problem p(s, kBias | kCap);
    p.bias[row * s.keys + j] = bad;
    p.bias[row * s.keys + i + 1] = kNaN;  // in the future
    p.bias[(row + 1) * s.keys + i + 2] = kNaN;
    const Fused clean(Problem(s, kBias | kCap)), f(p);
    for (std::size_t n = 0; n < f.lse.size(); ++n) EXPECT_EQ(std::isnan(f.lse[n]), std::int64_t(n) == row);
    EXPECT_TRUE(std::isnan(f.out[i * s.H * s.D]));
    EXPECT_TRUE(std::isnan(f.dbias[row * s.keys + j]));
    EXPECT_EQ(f.dbias[row * s.keys + i + 1], 0);
    EXPECT_TRUE(std::isnan(f.dk[j * s.H * s.K]));
    EXPECT_TRUE(std::isnan(f.dv[j * s.H * s.D]));
    EXPECT_EQ(f.dv[(i + 1) * s.H * s.D], clean.dv[(i + 1) * s.H * s.D]);
    Problem sunk(s, kSinks);
    sunk.sinks[1] = bad;
    const Fused g(sunk);
    for (std::size_t n = 0; n < g.lse.size(); ++n)
      EXPECT_EQ(std::isnan(g.lse[n]), std::int64_t(n) / s.queries % s.H == 1);
    EXPECT_TRUE(std::isnan(g.out[s.D]) && std::isnan(g.dsinks[1]));
  }
  Problem overflows(s, kCap);  // the cap does not hide it
  for (std::int64_t c = 0; c < s.K; ++c) overflows.q[c] = overflows.k[c] = 1e30f;
  EXPECT_TRUE(std::isnan(Fused(overflows).lse[0]));
  Problem none(s, kSinks);
  none.sinks.assign(4, -kInfinity);
  EXPECT_EQ(Fused(none).out, Fused(Problem(s, 0)).out);
}

TEST(DoorAttendExtras, OneChangeEachIsRefused) {
  struct Wrong {
    const char* words;
    void (*change)(Problem&);
  };
  const Wrong wrongs[] = {
      {"kv_heads is 3; allowed are 0 and the divisors", [](Problem& p) { p.s.kv_heads = 3; }},
      {"kv_heads is -1", [](Problem& p) { p.s.kv_heads = -1; }},
      {"first is 9223372036854775807", [](Problem& p) { p.s.first = kMost; }},
      {"first is -9223372036854775808", [](Problem& p) { p.s.first = kLeast; }},
      {"queries is 6; allowed are 0 to 5", [](Problem& p) { p.s.queries = 6; }},
      {"the queries stand at 1..5, allowed are 0 to 4",
       [](Problem& p) { p.s.first = 1, p.terms.first_key.assign(5, 0); }},
      {"soft_cap is nan", [](Problem& p) { p.extras.soft_cap = kNaN; }},
      {"soft_cap is -1", [](Problem& p) { p.extras.soft_cap = -1; }},
      {"soft_cap is 1.0", [](Problem& p) { p.extras.soft_cap = 1e-42f; }},
      {"rows of bias are -1 numbers apart", [](Problem& p) { p.extras.bias.head = -1; }},
      {"last number of mask", [](Problem& p) { p.extras.mask.query = std::int64_t{1} << 62; }},
      {"rows of dbias are 2 numbers apart and overlap", [](Problem& p) { p.extras.bias.query = 2; }},
  };
  for (const Wrong& w : wrongs) {
    Problem p(shape(5, 5, true), kEverything & ~kTerms);
    w.change(p);
    refused(w.words, [&] { Fused{p}; });
  }
  const Problem p(shape(5, 5, true), kEverything);
  const auto backward = [&](const Extras& extras, const ExtrasGrad& dextras) {
    Floats rows(200 * 8), lse(64);
    const auto w = p.heads(rows.data(), 5, 4, 10);
    const auto r = p.heads<const float>(rows.data(), 5, 4, 10);
    attend_backward(p.s, {r, r, r, r, lse.data(), r, extras}, {}, {w, w, w, nullptr, dextras});
  };
  Floats room(400);
  refused("dsinks is given without sinks", [&] { backward({}, {.sinks = room.data()}); });
  refused("dbias is given without bias", [&] { backward({}, {.bias = {room.data()}}); });
}

// Places that are said are looked up one by one: the same numbers.
TEST(AttendExtras, PlacesGoWithAllOfThem) {
  for (const bool causal : {true, false}) {
    Problem p(shape(9, 9, causal), kEverything);
    p.s.kv_heads = 0;
    const Fused tiles(p);
    for (std::int64_t t = 0; t < 9; ++t) p.terms.places.push_back(double(t));
    const Fused found(p);
    const auto same = [](const Floats& a, const Floats& b) {
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t n = 0; n < a.size(); ++n) ASSERT_NEAR(a[n], b[n], 2e-5) << n;
    };
    same(tiles.out, found.out), same(tiles.dq, found.dq), same(tiles.dk, found.dk), same(tiles.dv, found.dv);
    same(tiles.dbias, found.dbias), same(tiles.dsinks, found.dsinks);
    same(tiles.dterms.by_distance, found.dterms.by_distance), same(tiles.dterms.value, found.dterms.value);
  }
}

TEST(DoorAttendExtras, ABrokenStickKnowsNone) {
  for (const unsigned asked : {kCap, kBias, kMask, kSinks}) {
    Problem p(shape(5, 5, true), asked);
    p.terms.weights = Weights::stick;
    refused("where a stick is broken", [&] { Fused{p}; });
  }
}

}  // namespace
}  // namespace gnomon
