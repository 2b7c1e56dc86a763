// The laws, for every encoding of the registry, on every SIMD target. Nothing here names an encoding.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "gnomon/combine/spec.h"
#include "gnomon/core/error.h"
#include "tests/unit/support.h"

namespace gnomon {
namespace {

// The standard options, and each option moved off its standard, one at a time: every word, and numbers in
// between.
std::vector<Named> variants(const Entry& entry) {
  Named standard{std::string(entry.name), {}};
  for (const auto& o : entry.options) standard.options.emplace_back(o.name, o.standard);
  std::vector<Named> all{standard};
  for (std::size_t i = 0; i < entry.options.size(); ++i) {
    const auto& o = entry.options[i];
    std::vector<std::string> values(o.words.begin(), o.words.end());
    if (o.words.empty()) {
      const double at = number(o.standard, o.name);
      for (const double factor : {0.5, 2.0}) {
        const double x = std::clamp(o.whole ? std::round(at * factor) : at * factor, o.least, o.most);
        values.push_back(shortest(x));
      }
    }
    for (const auto& value : values) {
      if (value == o.standard) continue;
      all.push_back(standard);
      all.back().options[i].second = value;
    }
  }
  return all;
}

struct Case {
  Shape shape;
  std::vector<double> positions, q, k, v, w;

  Case(const Shape& s, const Encoding& e, std::int64_t T, double first, std::uint64_t seed = 0) : shape(s) {
    positions = positions_from(first, T);
    const std::int64_t n = s.H * T * s.D;
    q = doubles(n, 11 + seed), k = doubles(n, 12 + seed), v = doubles(n, 13 + seed),
    w = doubles(e.param_count(), 14 + seed);
  }
  // Numbers that float32 holds exactly, so that both paths start from the same ones.
  static std::vector<double> doubles(std::int64_t n, std::uint64_t seed) {
    const Floats x = normals(n, seed);
    return {x.begin(), x.end()};
  }
  Scene scene() const { return {positions, q, k, w}; }
  std::int64_t T() const { return std::int64_t(positions.size()); }
};

std::vector<double> attention_by_definition(const Encoding& e, const Case& c) {
  const auto& s = c.shape;
  std::vector<double> out(c.q.size());
  for (std::int64_t h = 0; h < s.H; ++h) {
    for (std::int64_t i = 0; i < c.T(); ++i) {
      const std::int64_t seen = s.causal ? i + 1 : c.T();
      std::vector<double> p(seen);
      double most = -INFINITY, sum = 0;
      for (std::int64_t j = 0; j < seen; ++j) most = std::max(most, p[j] = e.logit(c.scene(), h, i, j));
      for (auto& x : p) sum += x = std::exp(x - most);
      for (std::int64_t j = 0; j < seen; ++j) {
        for (std::int64_t d = 0; d < s.D; ++d) {
          out[(h * c.T() + i) * s.D + d] +=
              p[j] / sum * (c.v[(h * c.T() + j) * s.D + d] + e.value(c.scene(), h, i, j, d));
        }
      }
    }
  }
  return out;
}

// The fast path of one sequence: forward, and the gradients of Σ out·g + Σ input·gi.
struct Fast {
  Floats w, tables, q, k, v, input, out, dq, dk, dv, dw;
  Fast(const Encoding& e, const Case& c, const Floats& g, const Floats& gi, std::int64_t tile = 0) {
    const auto& s = c.shape;
    const auto narrow = [](const std::vector<double>& x) { return Floats(x.begin(), x.end()); };
    const std::int64_t T = c.T();
    w = narrow(c.w), q = narrow(c.q), k = narrow(c.k), v = narrow(c.v);
    tables = e.tables(c.positions);
    const Batch batch{c.positions, tables, w.data()};
    input.resize(T * s.C), out.resize(q.size()), dw.resize(w.size());
    e.input(batch, input.data());
    e.input_backward(batch, gi.data(), dw.data());
    const RowLayout rows{1, T, s.H, 0, s.D, T * s.D};
    e.map(batch, Role::q, rows, q.data());
    e.map(batch, Role::k, rows, k.data());
    Terms terms = terms_for(c.positions, s.causal);
    e.lower(batch, terms);
    Terms dterms = terms.zeros();
    const AttendShape shape{.B = 1,
                            .H = s.H,
                            .queries = T,
                            .keys = T,
                            .K = s.D,
                            .D = s.D,
                            .scale = float(1 / std::sqrt(double(s.D))),
                            .causal = s.causal,
                            .query_tile = tile,
                            .key_tile = tile};
    const auto heads = [&](auto* p) { return Heads<std::remove_pointer_t<decltype(p)>>{p, 0, s.D, T * s.D}; };
    const float *cq = q.data(), *ck = k.data(), *cv = v.data(), *co = out.data();
    Floats lse(s.H * T);
    attend(shape, heads(cq), heads(ck), heads(cv), terms, heads(out.data()), lse.data());
    dq.resize(q.size()), dk.resize(q.size()), dv.resize(q.size());
    attend_backward(shape, {heads(cq), heads(ck), heads(cv), heads(co), lse.data(), heads(g.data())}, terms,
                    {heads(dq.data()), heads(dk.data()), heads(dv.data()), &dterms});
    e.map_backward(batch, Role::q, rows, dq.data(), dw.data());
    e.map_backward(batch, Role::k, rows, dk.data(), dw.data());
    e.lower_backward(batch, dterms, dw.data());
  }
};

// f(entry, encoding, shape) for every variant of every encoding, causal and not.
template <class Body>
void each_encoding(std::int64_t H, std::int64_t D, std::int64_t length, const Body& f) {
  for (const Entry* entry : encodings()) {
    for (const Named& named : variants(*entry)) {
      for (const bool causal : {true, false}) {
        const Shape shape{H * D, H, D, length, causal};
        std::string options;
        for (const auto& [key, value] : named.options) options += " " + key + "=" + value;
        SCOPED_TRACE(testing::Message() << named.name << options << (causal ? " causal" : " bidirectional"));
        f(*entry, *make_encoding(named, shape), shape);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

class Laws : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Laws, testing::ValuesIn(simd_targets()), target_name);

TEST_P(Laws, TheFastPathIsTheDefinition) {
  for (const auto& [H, D, tokens] : {std::tuple{3, 16, 29}, {1, 4, 1}, {2, 20, 67}}) {
    each_encoding(H, D, tokens + 3, [&, T = tokens](const Entry&, const Encoding& e, const Shape& shape) {
      const Case c(shape, e, T, 3);
      const Fast fast(e, c, Floats(c.q.size()), Floats(T * shape.C));
      const auto want = attention_by_definition(e, c);
      for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(fast.out[i], want[i], 1e-5);
      for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t ch = 0; ch < shape.C; ++ch) {
          const double x = e.input(c.scene(), t, ch);
          ASSERT_NEAR(fast.input[t * shape.C + ch], x, 1e-6 * std::max(1.0, std::abs(x)))
              << "token " << t << " channel " << ch;
        }
      }
    });
  }
}

TEST_P(Laws, GradientsAreCentralDifferencesOfTheDefinition) {
  each_encoding(2, 8, 14, [&](const Entry&, const Encoding& e, const Shape& shape) {
    const std::int64_t T = 11;
    Case c(shape, e, T, 3);
    const Floats g = normals(std::int64_t(c.q.size()), 5), gi = normals(T * shape.C, 6);
    const Fast fast(e, c, g, gi, 8);
    const auto loss = [&] {
      const auto out = attention_by_definition(e, c);
      double sum = 0;
      for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * g[i];
      for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t ch = 0; ch < shape.C; ++ch) sum += e.input(c.scene(), t, ch) * gi[t * shape.C + ch];
      }
      return sum;
    };
    expect_gradient(c.q, fast.dq, loss, 13, 1e-4);
    expect_gradient(c.k, fast.dk, loss, 13, 1e-4);
    expect_gradient(c.v, fast.dv, loss, 13, 1e-4);
    expect_gradient(c.w, fast.dw, loss, c.w.size() > 50 ? 7 : 1, 1e-4);
  });
}

TEST_P(Laws, TileSizeDoesNotMatter) {
  each_encoding(2, 8, 40, [&](const Entry&, const Encoding& e, const Shape& shape) {
    const Case c(shape, e, 37, 0);
    const Floats g = normals(std::int64_t(c.q.size()), 5), gi(37 * shape.C);
    const Fast small(e, c, g, gi, 5), large(e, c, g, gi, 64);
    for (std::size_t i = 0; i < c.q.size(); ++i) {
      ASSERT_NEAR(small.out[i], large.out[i], 1e-5);
      ASSERT_NEAR(small.dq[i], large.dq[i], 2e-5);
    }
    for (std::size_t i = 0; i < c.w.size(); ++i)
      ASSERT_NEAR(small.dw[i], large.dw[i], 1e-4 * std::max(1.0f, std::abs(large.dw[i])));
  });
}

TEST_P(Laws, RelativeMeansThatACommonShiftChangesNothing) {
  std::set<std::string_view> moved;  // the absolute ones have to change, or `relative` says too little
  each_encoding(2, 16, 2000, [&](const Entry& entry, const Encoding& e, const Shape& shape) {
    const std::int64_t T = 23;
    const double shift = e.positions_end() ? double(*e.positions_end() / 2) : 1e6;
    const Case here(shape, e, T, 2), there(shape, e, T, 2 + shift);
    const Floats none(here.q.size()), none_in(T * shape.C);
    const Fast a(e, here, none, none_in), b(e, there, none, none_in);
    double change = 0;
    for (std::size_t i = 0; i < a.out.size(); ++i)
      change = std::max(change, double(std::abs(a.out[i] - b.out[i])));
    for (std::size_t i = 0; i < a.input.size(); ++i)
      change = std::max(change, double(std::abs(a.input[i] - b.input[i])));
    if (entry.relative) {
      ASSERT_LT(change, 5e-6);
    } else if (change > 0.01) {
      moved.insert(entry.name);
    }
  });
  for (const Entry* entry : encodings())
    EXPECT_TRUE(entry->relative || moved.count(entry->name)) << entry->name;
}

TEST_P(Laws, TheFutureDoesNotReachOutOfACausalMask) {
  each_encoding(2, 8, 40, [&](const Entry&, const Encoding& e, const Shape& shape) {
    if (!shape.causal) return;
    const std::int64_t T = 31, cut = 17;
    Case c(shape, e, T, 0);
    const Floats none(c.q.size()), none_in(T * shape.C);
    const Fast before(e, c, none, none_in);
    for (std::int64_t h = 0; h < shape.H; ++h) {
      for (std::int64_t x = (h * T + cut) * shape.D; x < (h + 1) * T * shape.D; ++x)
        c.q[x] = c.k[x] = c.v[x] = 1e3;
    }
    const Fast after(e, c, none, none_in);
    for (std::int64_t h = 0; h < shape.H; ++h) {
      for (std::int64_t x = h * T * shape.D; x < (h * T + cut) * shape.D; ++x)
        ASSERT_EQ(before.out[x], after.out[x]);
    }
  });
}

TEST_P(Laws, ActsTellsTheTruth) {
  for (const Entry* entry : encodings()) {
    const Shape shape{32, 2, 16, 20, true};
    Named named{std::string(entry->name), {}};
    for (const auto& o : entry->options) named.options.emplace_back(o.name, o.standard);
    const auto e = make_encoding(named, shape);
    const std::int64_t T = 17;
    const Case c(shape, *e, T, 1);
    const Fast fast(*e, c, Floats(c.q.size()), Floats(T * shape.C));
    Terms terms = terms_for(c.positions, true);
    e->lower({c.positions, fast.tables, fast.w.data()}, terms);
    unsigned acts = 0;
    for (const float x : fast.input) acts |= x != 0 ? kInput : 0u;
    for (std::size_t i = 0; i < c.q.size(); ++i)
      acts |= fast.q[i] != float(c.q[i]) || fast.k[i] != float(c.k[i]) ? kQk : 0u;
    if (!terms.by_distance.empty() || !terms.by_query.empty() || !terms.by_key.empty()) acts |= kLogits;
    if (!terms.query_cross.empty() || !terms.key_cross.empty()) acts |= kCross;
    if (!terms.value.empty()) acts |= kValue;
    EXPECT_EQ(acts, entry->acts) << entry->name << " acts on " << site_names(acts) << ", its entry says "
                                 << site_names(entry->acts);
  }
}

// Decoding: the last query against all keys equals the last row of the whole.
TEST_P(Laws, DecodingOneRowEqualsThatRow) {
  each_encoding(2, 8, 64, [&](const Entry&, const Encoding& e, const Shape& shape) {
    if (!shape.causal) return;
    const std::int64_t T = 43;
    const Case c(shape, e, T, 0);
    const Fast whole(e, c, Floats(c.q.size()), Floats(T * shape.C));
    Terms terms = terms_for(c.positions, true);
    e.lower({c.positions, whole.tables, whole.w.data()}, terms);
    const AttendShape one{.B = 1,
                          .H = shape.H,
                          .queries = 1,
                          .keys = T,
                          .K = shape.D,
                          .D = shape.D,
                          .scale = float(1 / std::sqrt(double(shape.D))),
                          .causal = true};
    Floats out(shape.H * shape.D), lse(shape.H);
    const auto keys = [&](const Floats& x) { return Heads<const float>{x.data(), 0, shape.D, T * shape.D}; };
    attend(one, {whole.q.data() + (T - 1) * shape.D, 0, shape.D, T * shape.D}, keys(whole.k), keys(whole.v),
           terms, Heads<float>{out.data(), 0, shape.D, shape.D}, lse.data());
    for (std::int64_t h = 0; h < shape.H; ++h) {
      for (std::int64_t d = 0; d < shape.D; ++d)
        ASSERT_NEAR(out[h * shape.D + d], whole.out[(h * T + T - 1) * shape.D + d], 2e-6);
    }
  });
}

TEST_P(Laws, ExtremesStayFiniteAndRight) {
  for (const auto& [H, tokens, start] :
       {std::tuple{1, 1, 0.0}, {12, 2, 0.0}, {5, 3, 131070.0}, {3, 5, 1e6}}) {
    each_encoding(H, 4, 8,
                  [&, T = tokens, first = start](const Entry&, const Encoding& e, const Shape& shape) {
                    if (e.positions_end() && first + double(T) > double(*e.positions_end())) return;
                    const Case c(shape, e, T, first);
                    const Fast fast(e, c, Floats(c.q.size()), Floats(T * shape.C));
                    const auto want = attention_by_definition(e, c);
                    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(fast.out[i], want[i], 1e-5);
                    for (std::int64_t n = 0; n < T * shape.C; ++n) {
                      const double x = e.input(c.scene(), n / shape.C, n % shape.C);
                      ASSERT_NEAR(fast.input[n], x, 1e-6 * std::max(1.0, std::abs(x)));
                    }
                  });
  }
}

TEST(Registry, EveryEntryIsComplete) {
  std::set<std::string_view> names;
  for (const Entry* entry : encodings()) {
    EXPECT_TRUE(names.insert(entry->name).second) << entry->name << " is there twice";
    EXPECT_FALSE(entry->title.empty()) << entry->name;
    EXPECT_EQ(entry->paper.substr(0, 8), "https://") << entry->name;
    EXPECT_GE(entry->year, 2017) << entry->name;
    for (const auto& option : entry->options) {
      EXPECT_FALSE(option.help.empty()) << entry->name << '.' << option.name;
      EXPECT_NO_THROW(Options(entry->name, std::span(&option, 1),
                              std::vector<std::pair<std::string, std::string>>{
                                  {std::string(option.name), std::string(option.standard)}}));
    }
  }
}

TEST(Registry, WhatHasTwoConventionsHasNoSilentDefaultInCpp) {
  int demanding = 0;
  for (const Entry* entry : encodings()) {
    bool must = false;
    for (const auto& option : entry->options) must |= option.must_be_named;
    const Shape shape{32, 2, 16, 20, true};
    if (must) {
      EXPECT_THROW(make_encoding(Named{std::string(entry->name), {}}, shape), Error) << entry->name;
    }
    demanding += must;
    EXPECT_NO_THROW(make_encoding(entry->name, shape)) << entry->name;  // text has standards
  }
  EXPECT_GT(demanding, 0);
}

}  // namespace
}  // namespace gnomon
