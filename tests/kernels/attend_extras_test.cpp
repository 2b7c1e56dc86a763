// Groups of query heads, places of the queries, and what the caller asks of logits (soft-cap, bias, mask, sinks), against
// attention written plainly in double: alone and together, of softmax and of broken sticks, forward and gradients, every
// SIMD target.
#include "tests/kernels/attend_extras.h"

#include <utility>

#include "gnomon/core/parallel.h"
#include "tests/support/door.h"

namespace gnomon {
namespace {

class AttendExtras : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, AttendExtras, testing::ValuesIn(simd_targets()), target_name);

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
// The same of a softmax and, where there is a causal mask, of broken sticks, which have no sinks.
std::vector<unsigned> also_of_sticks(const std::vector<unsigned>& sets, bool causal) {
  std::vector<unsigned> all = sets;
  for (const unsigned stick : {kStick, kStickCurrent}) {
    for (const unsigned asked : sets) {
      if (causal && asked != kSinks) all.push_back((asked & ~unsigned(kSinks)) | stick);
    }
  }
  return all;
}
// Each alone, and all together.
std::vector<unsigned> sets(bool causal) {
  return also_of_sticks({0, kCap, kBias, kMask, kSinks, kTerms, kCap | kTerms, kCap | kPadding, kEverything},
                        causal);
}

TEST_P(AttendExtras, ForwardIsTheDefinition) {
  for (const bool causal : {true, false}) {
    for (const unsigned asked : sets(causal)) {
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
  for (const bool causal : {true, false}) {
    for (const unsigned asked : sets(causal)) {
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
  for (const unsigned asked : sets(true)) {
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
        const std::vector<double> shares = p.shares(b, h, i);
        for (std::int64_t j = 0; j < s.keys; ++j) {
          const double want = std::log(shares[std::size_t(j)]), found = double(x.logits.row(b, h, i)[j]);
          ASSERT_TRUE(found == want || std::abs(found - want) < 2e-5) << found << " for " << want;
        }
      });
      x.logits = {}, x.instead = {logits.data(), batch, head, row};
      run(x, again);
      ASSERT_EQ(out, again);
      p.terms.value.clear();
      Floats weights(logits.size());
      for (std::size_t n = 0; n < weights.size(); ++n) {
        const std::int64_t i = std::int64_t(n) / row % s.queries, j = std::int64_t(n) % row;
        weights[n] = j <= (asked & kStick ? i - 1 : i) && n % 3 ? float(n % 7) : 0.0f;
      }
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
    for (const unsigned stick : {0u, unsigned(kStick), unsigned(kStickCurrent)}) {
      expect_forward({shape(19, 19, true), kBias | kMask | stick, own});
      expect_gradients({shape(7, 7, true), kBias | kMask | kCap | stick, own});
    }
    if (HasFailure()) return;
  }
}

// Queries before, among and after the keys; more of them than keys.
TEST_P(AttendExtras, QueriesStandWhereTheCallerSays) {
  for (const bool causal : {true, false}) {
    for (const std::int64_t first : {-6, 0, 3, 20}) {
      for (const auto& [queries, keys] : {std::pair{9, 5}, {5, 12}, {1, 1}}) {
        std::vector<unsigned> sets = also_of_sticks({kEverything}, causal);
        sets.insert(sets.end(), {0, kTerms});
        for (const unsigned asked : sets) {
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
  for (const unsigned asked : {0u, unsigned(kSinks), unsigned(kStick | kMask)}) {
    AttendShape s = shape(3, 0, true);
    s.first = 0;
    const Problem p(s, asked);
    const Fused f(p);
    for (const float x : f.out) EXPECT_EQ(x, 0);
    for (const float x : f.dq) EXPECT_EQ(x, 0);
    for (std::size_t n = 0; n < f.lse.size(); ++n)
      EXPECT_EQ(f.lse[n], asked == kSinks ? p.sinks[n / 3 % 4] : asked ? 0.0f : -kInfinity);
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
  for (const unsigned asked : also_of_sticks({kEverything}, true)) {
    const Problem p(s, asked, {false, false, true});
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
}

// Keys that mask or bias hide may hold anything; a bias or a sink that is no number is told.
TEST_P(AttendExtras, HiddenKeysStayInvisible) {
  for (const bool causal : {true, false}) {
    const AttendShape s = shape(21, 21, causal);
    for (const unsigned asked : also_of_sticks({kMask, kBias, kCap | kBias | kMask | kSinks}, causal)) {
      SCOPED_TRACE(testing::Message() << "asked " << asked << " causal " << causal);
      Problem clean(s, asked);
      clean.terms.by_query = normals(s.B * s.H * s.queries, 12),
      clean.terms.by_key = normals(s.B * s.H * s.keys, 13);
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
      const auto near = [](const Floats& x, const Floats& y, double off) {
        for (std::size_t n = 0; n < x.size(); ++n) ASSERT_NEAR(x[n], y[n], off) << n;
      };
      near(a.out, b.out, 1e-6), near(a.dq, b.dq, 1e-5), near(a.dk, b.dk, 1e-5), near(a.dv, b.dv, 1e-5);
      near(a.dbias, b.dbias, 1e-5), near(a.dterms.by_query, b.dterms.by_query, 1e-5);
      near(a.dterms.by_key, b.dterms.by_key, 1e-5);
      for (float& x : dirty.k) x = std::isnan(x) ? -2e30f : x;  // and other things: to the bit
      const Fused c(dirty);
      EXPECT_EQ(b.out, c.out);
      EXPECT_EQ(b.lse, c.lse);
      EXPECT_EQ(b.dq, c.dq);
      EXPECT_EQ(b.dk, c.dk);
      EXPECT_EQ(b.dv, c.dv);
      EXPECT_EQ(b.dbias, c.dbias);
      EXPECT_EQ(b.dterms, c.dterms);
    }
  }
}

TEST_P(AttendExtras, NanIsTold) {
  const AttendShape s = shape(21, 21, true);
  // Of the first head of the first sequence. A vector of keys stands before j.
  const std::int64_t i = 18, j = 17, row = i;
  for (const float bad : {kNaN, kInfinity}) {
    for (const unsigned asked : also_of_sticks({kBias | kCap}, true)) {
      Problem p(s, asked);
      p.bias[row * s.keys + j] = bad;
      p.bias[row * s.keys + i + 1] = kNaN;  // in the future
      p.bias[(row + 1) * s.keys + i + 2] = kNaN;
      const Fused clean(Problem(s, asked)), f(p);
      for (std::size_t n = 0; n < f.lse.size(); ++n) EXPECT_EQ(std::isnan(f.lse[n]), std::int64_t(n) == row);
      EXPECT_TRUE(std::isnan(f.out[i * s.H * s.D]));
      for (std::int64_t n = row * s.keys; n < (row + 1) * s.keys; ++n) {
        const bool seen = n - row * s.keys <= (asked & kStick ? i - 1 : i) && p.bias[n] != -kInfinity;
        EXPECT_TRUE(seen ? std::isnan(f.dbias[n]) : f.dbias[n] == 0) << n;
      }
      EXPECT_TRUE(std::isnan(f.dk[j * s.H * s.K]));
      EXPECT_TRUE(std::isnan(f.dv[j * s.H * s.D]));
      EXPECT_EQ(f.dv[(i + 1) * s.H * s.D], clean.dv[(i + 1) * s.H * s.D]);
    }
    Problem sunk(s, kSinks);
    sunk.sinks[1] = bad;
    const Fused g(sunk);
    for (std::size_t n = 0; n < g.lse.size(); ++n)
      EXPECT_EQ(std::isnan(g.lse[n]), std::int64_t(n) / s.queries % s.H == 1);
    EXPECT_TRUE(std::isnan(g.out[s.D]) && std::isnan(g.dsinks[1]));
  }
  for (const unsigned asked : {unsigned(kCap), kCap | kStickCurrent}) {
    Problem overflows(s, asked);  // the cap does not hide it
    for (std::int64_t c = 0; c < s.K; ++c) overflows.q[c] = overflows.k[c] = 1e30f;
    EXPECT_TRUE(std::isnan(Fused(overflows).lse[0]));
  }
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
      {"the queries stand at 1..5; allowed are 0 to 4",
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
    for (const unsigned asked : also_of_sticks({kEverything}, causal)) {
      Problem p(shape(9, 9, causal), asked);
      p.s.kv_heads = 0;
      const Fused tiles(p);
      for (std::int64_t t = 0; t < 9; ++t) p.terms.places.push_back(double(t));
      const Fused found(p);
      const auto same = [](const Floats& a, const Floats& b) {
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t n = 0; n < a.size(); ++n) ASSERT_NEAR(a[n], b[n], 2e-5) << n;
      };
      same(tiles.out, found.out), same(tiles.dq, found.dq), same(tiles.dk, found.dk),
          same(tiles.dv, found.dv);
      same(tiles.dbias, found.dbias), same(tiles.dsinks, found.dsinks);
      same(tiles.dterms.by_distance, found.dterms.by_distance), same(tiles.dterms.value, found.dterms.value);
    }
  }
}

TEST(DoorAttendExtras, ABrokenStickHasNoSinks) {
  for (const unsigned stick : {kStick, kStickCurrent}) {
    refused("sinks are given with stick-breaking weights",
            [&] { Fused{Problem(shape(5, 5, true), kSinks | stick)}; });
  }
}

}  // namespace
}  // namespace gnomon
