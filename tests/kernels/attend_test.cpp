// Fused attention against its definition in double: shapes, masks, every term, every gradient, every SIMD
// target.
#include "gnomon/kernels/attend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gnomon/core/parallel.h"
#include "tests/support/support.h"

namespace gnomon {
namespace {

class Attend : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Attend, testing::ValuesIn(simd_targets()), target_name);

enum TermSet : unsigned { kDistance = 1, kQueryKey = 2, kQueryCross = 4, kKeyCross = 8, kValue = 16 };

struct Problem {
  AttendShape shape;
  Floats q, k, v, dout;
  Terms terms;
  std::vector<std::uint8_t> padding;

  Problem(AttendShape s, unsigned terms_present, bool padded = false) : shape(s) {
    q = normals(s.B * s.queries * s.H * s.K, 1), k = normals(s.B * s.keys * s.H * s.K, 2);
    v = normals(s.B * s.keys * s.H * s.D, 3), dout = normals(s.B * s.queries * s.H * s.D, 4);
    terms.first_distance = s.causal ? 0 : 1 - s.queries;
    terms.distances = s.keys - terms.first_distance;
    const std::int64_t R = terms.distances;
    if (terms_present & kDistance) terms.by_distance = normals(s.H * R, 5);
    if (terms_present & kQueryKey)
      terms.by_query = normals(s.B * s.H * s.queries, 6), terms.by_key = normals(s.B * s.H * s.keys, 7);
    if (terms_present & kQueryCross) terms.query_cross = normals(s.H * R * s.K, 8, 0.3);
    if (terms_present & kKeyCross) terms.key_cross = normals(s.H * R * s.K, 9, 0.3);
    if (terms_present & kValue) terms.value = normals(s.H * R * s.D, 10);
    if (padded) {
      padding.assign(s.B * s.keys, 0);
      for (std::int64_t j = 0; j < std::min<std::int64_t>(3, s.keys); ++j)
        padding[j] = 1;    // at the left of sequence 0
      padding.back() = 1;  // at the right of the last
      shape.padding = padding.data();
    }
  }

  template <class T>
  Heads<T> heads(T* data, std::int64_t tokens, std::int64_t width) const {
    return {data, tokens * shape.H * width, shape.H * width, width};
  }
  float term(const Floats& a, std::int64_t h, std::int64_t delta, std::int64_t width, std::int64_t c) const {
    return a.empty() ? 0 : a[(h * terms.distances + delta - terms.first_distance) * width + c];
  }
  bool seen(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return !(shape.causal && j > i + shape.keys - shape.queries) &&
           !(shape.padding && shape.padding[b * shape.keys + j]);
  }
  // One row of the definition: probabilities, and the natural log of the normaliser.
  double row(std::int64_t b, std::int64_t h, std::int64_t i, std::vector<double>& p) const {
    const auto& s = shape;
    p.assign(s.keys, -std::numeric_limits<double>::infinity());
    double sum = 0;
    for (std::int64_t j = 0; j < s.keys; ++j) {
      if (!seen(b, i, j)) continue;
      const float *qi = heads(q.data(), s.queries, s.K).row(b, i, h),
                  *kj = heads(k.data(), s.keys, s.K).row(b, j, h);
      const std::int64_t delta = i + s.keys - s.queries - j, bh = b * s.H + h;
      double x = term(terms.by_distance, h, delta, 1, 0);
      if (!terms.by_query.empty())
        x += double(terms.by_query[bh * s.queries + i]) + terms.by_key[bh * s.keys + j];
      for (std::int64_t c = 0; c < s.K; ++c) {
        x += double(s.scale) * qi[c] * kj[c] + double(qi[c]) * term(terms.query_cross, h, delta, s.K, c) +
             double(kj[c]) * term(terms.key_cross, h, delta, s.K, c);
      }
      p[j] = x;
      sum += std::exp(x);
    }
    for (auto& x : p) x = sum > 0 ? std::exp(x) / sum : 0;
    return std::log(sum);
  }
  double out(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d,
             const std::vector<double>& p) const {
    double sum = 0;
    for (std::int64_t j = 0; j < shape.keys; ++j) {
      if (!seen(b, i, j)) continue;
      const double value = heads(v.data(), shape.keys, shape.D).row(b, j, h)[d] +
                           double(term(terms.value, h, i + shape.keys - shape.queries - j, shape.D, d));
      sum += p[j] * value;
    }
    return sum;
  }
  double loss() const {
    double sum = 0;
    std::vector<double> p;
    for (std::int64_t b = 0; b < shape.B; ++b) {
      for (std::int64_t h = 0; h < shape.H; ++h) {
        for (std::int64_t i = 0; i < shape.queries; ++i) {
          row(b, h, i, p);
          for (std::int64_t d = 0; d < shape.D; ++d)
            sum += out(b, h, i, d, p) * heads(dout.data(), shape.queries, shape.D).row(b, i, h)[d];
        }
      }
    }
    return sum;
  }
};

struct Fused {
  Floats out, lse, dq, dk, dv;
  Terms dterms;
  explicit Fused(const Problem& c) {
    const auto& s = c.shape;
    out.resize(c.dout.size()), lse.resize(s.B * s.H * s.queries);
    dq.resize(c.q.size()), dk.resize(c.k.size()), dv.resize(c.v.size());
    dterms = c.terms.zeros();
    const auto q = c.heads(c.q.data(), s.queries, s.K), k = c.heads(c.k.data(), s.keys, s.K),
               v = c.heads(c.v.data(), s.keys, s.D);
    attend(s, q, k, v, c.terms, c.heads(out.data(), s.queries, s.D), lse.data());
    const auto o = c.heads<const float>(out.data(), s.queries, s.D),
               g = c.heads(c.dout.data(), s.queries, s.D);
    attend_backward(s, {q, k, v, o, lse.data(), g}, c.terms,
                    {c.heads(dq.data(), s.queries, s.K), c.heads(dk.data(), s.keys, s.K),
                     c.heads(dv.data(), s.keys, s.D), &dterms});
  }
};

void expect_forward(const Problem& c, const Fused& f) {
  const auto& s = c.shape;
  std::vector<double> p;
  for (std::int64_t b = 0; b < s.B; ++b) {
    for (std::int64_t h = 0; h < s.H; ++h) {
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const double lse = c.row(b, h, i, p);
        const float got = f.lse[(b * s.H + h) * s.queries + i];
        if (std::isinf(lse)) {
          ASSERT_EQ(got, lse);
        } else {
          ASSERT_NEAR(got, lse, 1e-5);
        }
        for (std::int64_t d = 0; d < s.D; ++d) {
          ASSERT_NEAR(c.heads(f.out.data(), s.queries, s.D).row(b, i, h)[d], c.out(b, h, i, d, p), 1e-5)
              << b << ' ' << h << ' ' << i << ' ' << d;
        }
      }
    }
  }
}

TEST_P(Attend, EqualsItsDefinitionForEveryShapeAndTerm) {
  for (const bool causal : {true, false}) {
    for (const std::int64_t T : {1, 2, 7, 31, 67}) {
      for (const std::int64_t D : {16, 20, 64}) {
        for (const unsigned terms : {0u, unsigned(kDistance), unsigned(kQueryKey), 31u}) {
          SCOPED_TRACE(testing::Message()
                       << "causal " << causal << " T " << T << " D " << D << " terms " << terms);
          const Problem c(
              {.B = 2, .H = 2, .queries = T, .keys = T, .K = D + 3, .D = D, .scale = 0.25f, .causal = causal},
              terms);
          expect_forward(c, Fused(c));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(Attend, LongRowsAndWideHeadsAgree) {
  for (const bool causal : {true, false}) {
    const Problem c(
        {.B = 1, .H = 1, .queries = 307, .keys = 307, .K = 32, .D = 256, .scale = 0.2f, .causal = causal},
        kDistance | kQueryKey);
    expect_forward(c, Fused(c));
  }
}

TEST_P(Attend, PaddingHidesKeysAndEmptyRowsAreZero) {
  for (const bool causal : {true, false}) {
    for (const std::int64_t T : {2, 3, 9, 40}) {
      const Problem c(
          {.B = 2, .H = 1, .queries = T, .keys = T, .K = 16, .D = 16, .scale = 0.25f, .causal = causal},
          kDistance, true);
      const Fused f(c);
      expect_forward(c, f);
      for (const auto* g : {&f.dq, &f.dk, &f.dv}) {
        for (const float x : *g) ASSERT_TRUE(std::isfinite(x));
      }
    }
  }
}

TEST_P(Attend, TheLastQueriesEqualTheRowsOfTheWhole) {
  const std::int64_t T = 53, n = 1;
  Problem whole({.B = 1, .H = 2, .queries = T, .keys = T, .K = 24, .D = 24, .scale = 0.2f, .causal = true},
                kDistance | kQueryCross | kKeyCross | kValue);
  Problem one = whole;
  one.shape.queries = n;
  one.q.assign(whole.q.end() - n * 2 * 24, whole.q.end());
  one.dout.assign(whole.dout.end() - n * 2 * 24, whole.dout.end());
  const Fused a(whole), b(one);
  for (std::size_t i = 0; i < b.out.size(); ++i)
    EXPECT_NEAR(b.out[i], a.out[a.out.size() - b.out.size() + i], 2e-6);
}

TEST_P(Attend, TileSizesDoNotMatter) {
  for (const bool causal : {true, false}) {
    Problem c({.B = 1, .H = 2, .queries = 45, .keys = 45, .K = 20, .D = 16, .scale = 0.2f, .causal = causal},
              31);
    const Fused a(c);
    for (const auto& [queries, keys] : {std::pair{1, 1}, {3, 17}, {64, 5}, {17, 64}}) {
      c.shape.query_tile = queries, c.shape.key_tile = keys;
      const Fused b(c);
      const auto compare = [](const Floats& x, const Floats& y) {
        for (std::size_t i = 0; i < x.size(); ++i)
          ASSERT_NEAR(x[i], y[i], 2e-5 * std::max(1.0f, std::abs(x[i])));
      };
      compare(a.out, b.out), compare(a.lse, b.lse), compare(a.dq, b.dq), compare(a.dk, b.dk),
          compare(a.dv, b.dv);
      compare(a.dterms.by_distance, b.dterms.by_distance), compare(a.dterms.value, b.dterms.value);
      compare(a.dterms.query_cross, b.dterms.query_cross), compare(a.dterms.key_cross, b.dterms.key_cross);
    }
  }
}

TEST_P(Attend, GradientsAreCentralDifferencesOfTheDefinition) {
  for (const bool causal : {true, false}) {
    for (const unsigned terms : {0u, unsigned(kDistance), unsigned(kQueryKey), 31u}) {
      Problem c({.B = 2,
                 .H = 2,
                 .queries = 13,
                 .keys = 13,
                 .K = 9,
                 .D = 10,
                 .scale = 0.3f,
                 .causal = causal,
                 .query_tile = 5,
                 .key_tile = 4},
                terms);
      const Fused f(c);
      const auto loss = [&] { return c.loss(); };
      expect_gradient(c.q, f.dq, loss, 7, 1e-3);
      expect_gradient(c.k, f.dk, loss, 7, 1e-3);
      expect_gradient(c.v, f.dv, loss, 7, 1e-3);
      expect_gradient(c.terms.by_distance, f.dterms.by_distance, loss, 1, 1e-3);
      expect_gradient(c.terms.by_query, f.dterms.by_query, loss, 3, 1e-3);
      expect_gradient(c.terms.by_key, f.dterms.by_key, loss, 3, 1e-3);
      expect_gradient(c.terms.query_cross, f.dterms.query_cross, loss, 11, 1e-3);
      expect_gradient(c.terms.key_cross, f.dterms.key_cross, loss, 11, 1e-3);
      expect_gradient(c.terms.value, f.dterms.value, loss, 11, 1e-3);
    }
  }
}

TEST_P(Attend, LargeLogitsStayFiniteAndTheBitsRepeat) {
  Problem c({.B = 1,
             .H = 2,
             .queries = 150,
             .keys = 150,
             .K = 16,
             .D = 16,
             .scale = 1.0f,
             .causal = true,
             .key_tile = 16},
            kDistance);
  for (auto& x : c.q) x *= 60;
  for (auto& x : c.terms.by_distance) x *= 1000;
  const Fused a(c), b(c);
  for (const float x : a.out) ASSERT_TRUE(std::isfinite(x));
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(a.dk, b.dk);
}

// A thread computes one head after the other in the same arrays. Numbers that are none, or beyond what fast ways allow, are the
// affair of their sequence; so is the place of its queries.
TEST_P(Attend, AHeadLeavesNothingToTheNext) {
  const int threads = thread_count();
  set_thread_count(1);
  for (const unsigned terms : {0u, unsigned(kDistance), 31u}) {
    Problem c({.B = 3, .H = 2, .queries = 30, .keys = 40, .K = 12, .D = 20, .scale = 0.2f, .causal = true},
              terms);
    const std::vector<std::int64_t> firsts{3, 10, 7};
    if (!terms) c.shape.firsts = firsts.data();  // terms by distance need the same place in all
    Problem last = c;
    last.shape.B = 1;
    if (!terms) last.shape.firsts = &firsts[2];
    for (Floats* x : {&last.q, &last.k, &last.v, &last.dout, &last.terms.by_query, &last.terms.by_key})
      x->erase(x->begin(), x->begin() + std::ptrdiff_t(x->size() / 3 * 2));
    const Fused alone(last);
    for (Floats* x : {&c.q, &c.k, &c.v, &c.dout}) {
      (*x)[x->size() / 6] = std::numeric_limits<float>::quiet_NaN();
      (*x)[x->size() / 3 - 1] = 0x1p90f;
    }
    const Fused after_others(c);
    EXPECT_TRUE(
        std::any_of(after_others.out.begin(), after_others.out.end(), [](float x) { return std::isnan(x); }));
    const auto same = [](const Floats& one, const Floats& all) {
      for (std::size_t i = 0; i < one.size(); ++i) ASSERT_EQ(one[i], all[all.size() - one.size() + i]) << i;
    };
    same(alone.out, after_others.out), same(alone.lse, after_others.lse);
    same(alone.dq, after_others.dq), same(alone.dk, after_others.dk), same(alone.dv, after_others.dv);
  }
  set_thread_count(threads);
}

// Beyond the limits of a clipped distance all rows are the same, and a row of a tile takes them at once. With places that are said,
// each pair is looked up alone.
TEST_P(Attend, RowsThatAreTheSameActAsEachOfThem) {
  struct Clip {
    std::int64_t before, after;  // the query
  };
  for (const auto& [before, after] : {Clip{0, 0}, Clip{5, 5}, Clip{70, 2}, Clip{3, 400}}) {
    for (const bool causal : {true, false}) {
      for (const std::int64_t tile : {0, 23}) {
        Problem c({.B = 1,
                   .H = 2,
                   .queries = 130,
                   .keys = 140,
                   .K = 20,
                   .D = 16,
                   .scale = 0.2f,
                   .causal = causal,
                   .query_tile = 2 * tile,
                   .key_tile = tile},
                  31);
        Terms& t = c.terms;
        const auto clip = [&, most = before, least = -after](Floats& rows, std::int64_t width) {
          for (std::int64_t n = 0; n < c.shape.H * t.distances; ++n) {
            const std::int64_t r = n % t.distances, delta = r + t.first_distance;
            const std::int64_t from = n - delta + std::clamp(delta, least, most);
            if (from != n && from >= n - r && from < n - r + t.distances)
              std::copy_n(&rows[std::size_t(from * width)], width, &rows[std::size_t(n * width)]);
          }
        };
        clip(t.query_cross, c.shape.K), clip(t.key_cross, c.shape.K), clip(t.value, c.shape.D);
        const Fused at_once(c);
        expect_forward(c, at_once);
        for (std::int64_t j = 0; j < c.shape.keys; ++j) t.places.push_back(double(j));
        const Fused one_by_one(c);
        const auto same = [](const Floats& x, const Floats& y) {
          for (std::size_t i = 0; i < x.size(); ++i)
            ASSERT_NEAR(x[i], y[i], 2e-5 * std::max(1.0f, std::abs(y[i]))) << i;
        };
        same(at_once.dq, one_by_one.dq), same(at_once.dk, one_by_one.dk), same(at_once.dv, one_by_one.dv);
        same(at_once.dterms.query_cross, one_by_one.dterms.query_cross);
        same(at_once.dterms.key_cross, one_by_one.dterms.key_cross);
        same(at_once.dterms.value, one_by_one.dterms.value);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(AttendChecks, TermsThatDoNotReachAreRefused) {
  Problem c({.B = 1, .H = 1, .queries = 8, .keys = 8, .K = 4, .D = 4, .scale = 1.0f, .causal = false},
            kDistance);
  c.terms.first_distance = 0;
  EXPECT_ANY_THROW(Fused{c});
}

}  // namespace
}  // namespace gnomon
