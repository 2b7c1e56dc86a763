// The laws, for every encoding of the registry, on every SIMD target. Nothing here names an encoding.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "tests/laws/laws.h"

namespace gnomon {
namespace {

class Laws : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Laws, testing::ValuesIn(simd_targets()), target_name);

void expect_definition(const Encoding& e, const Case& c) {
  const std::int64_t T = c.T(), C = c.shape.C;
  const Fast fast(e, c, Floats(c.q.size()), Floats(T * C));
  const auto want = attention_by_definition(e, c);
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(fast.out[i], want[i], 1e-5) << "number " << i;
  const auto* input = part<InputPart>(e);
  for (std::int64_t n = 0; input && n < T * C; ++n) {
    const double x = input->input(c.scene(), n / C, n % C);
    ASSERT_NEAR(fast.input[n], x, 1e-6 * std::max(1.0, std::abs(x)))
        << "token " << n / C << " channel " << n % C;
  }
}

TEST_P(Laws, TheFastPathIsTheDefinition) {
  for (const auto& [H, D, tokens] : {std::tuple{3, 16, 29}, {1, 4, 1}, {2, 20, 67}}) {
    each_encoding(H, D, tokens + 3, [&, T = tokens](const Entry&, const Encoding& e, const Shape& shape) {
      expect_definition(e, Case(shape, e, T, 3));
    });
  }
}

TEST_P(Laws, GradientsAreCentralDifferencesOfTheDefinition) {
  each_encoding(2, 8, 14, [&](const Entry&, const Encoding& e, const Shape& shape) {
    const std::int64_t T = 11;
    for (const double first : {3.0, 700.0}) {
      if (e.positions_end() && first + double(T) > double(*e.positions_end())) continue;
      Case c(shape, e, T, first);
      const Floats g = normals(std::int64_t(c.q.size()), 5), gi = normals(T * shape.C, 6);
      const Fast fast(e, c, g, gi, 8);
      const auto loss = [&] {
        const auto out = attention_by_definition(e, c);
        double sum = 0;
        for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * g[i];
        const auto* input = part<InputPart>(e);
        for (std::int64_t n = 0; input && n < T * shape.C; ++n)
          sum += input->input(c.scene(), n / shape.C, n % shape.C) * gi[n];
        return sum;
      };
      const double bound = first > 100 ? 3e-4 : 1e-4;  // a gradient by frequency grows with the position
      expect_gradient(c.q, fast.dq, loss, 13, bound);
      expect_gradient(c.k, fast.dk, loss, 13, bound);
      expect_gradient(c.v, fast.dv, loss, 13, bound);
      expect_gradient(c.w, fast.dw, loss, c.w.size() > 50 ? 1 + c.w.size() / 37 : 1, bound);
      if (!e.reads_content()) continue;
      expect_gradient(c.x, fast.dx, loss, 17, bound);
      expect_gradient(c.projections, fast.dprojections, loss, 23, bound);
    }
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
    const std::int64_t T = 71;  // beyond the windows that some have
    const double shift = e.positions_end() ? double(*e.positions_end() / 2) : 1000007;
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
  for (const Entry* entry : encodings()) {
    EXPECT_TRUE(entry->relative || (entry->acts & kPositions) || moved.count(entry->name)) << entry->name;
  }
}

TEST_P(Laws, TheFutureDoesNotReachOutOfACausalMask) {
  each_encoding(2, 8, 40, [&](const Entry&, const Encoding& e, const Shape& shape) {
    if (!shape.causal) return;
    const std::int64_t T = 31, cut = 17;
    Case c(shape, e, T, 0);
    const Floats none(c.q.size()), none_in(T * shape.C);
    const Fast before(e, c, none, none_in);
    for (std::int64_t h = 0; h < shape.H; ++h) {
      for (std::int64_t n = (h * T + cut) * shape.D; n < (h + 1) * T * shape.D; ++n)
        c.q[n] = c.k[n] = c.v[n] = 1e3;
    }
    std::fill(c.x.begin() + cut * shape.C, c.x.end(), 1e3);
    const Fast after(e, c, none, none_in);
    for (std::int64_t h = 0; h < shape.H; ++h) {
      for (std::int64_t n = h * T * shape.D; n < (h * T + cut) * shape.D; ++n)
        ASSERT_EQ(before.out[n], after.out[n]);
    }
  });
}

TEST_P(Laws, ActsTellsTheTruth) {
  for (const Entry* entry : encodings()) {
    if (entry->acts & kPositions) continue;
    const Shape shape{32, 2, 16, 60, true};
    Named named{std::string(entry->name), {}};
    for (const auto& o : entry->options) named.options.emplace_back(o.name, o.standard);
    const auto e = make_encoding(named, shape);
    const std::int64_t T = 47;
    const Case c(shape, *e, T, e->positions_end() ? 1 : 100);
    const Fast fast(*e, c, Floats(c.q.size()), Floats(T * shape.C));
    const Terms& terms = fast.plan().terms;
    unsigned acts = 0;
    for (const float x : fast.input) acts |= x != 0 ? kInput : 0u;
    for (const Step& step : fast.plan().steps) {
      acts |= step.acts_on(Role::q) || step.acts_on(Role::k) ? kQk : 0u;
      acts |= step.acts_on(Role::v) || step.acts_on(Role::out) ? kValue : 0u;
    }
    if (!terms.by_distance.empty() || !terms.by_query.empty() || !terms.by_key.empty() ||
        !terms.by_code.empty())
      acts |= kLogits;
    if (!terms.query_cross.empty() || !terms.key_cross.empty() || !terms.profile.empty()) acts |= kCross;
    if (!terms.value.empty()) acts |= kValue;
    if (!terms.curve_rate.empty() || !terms.tilt.empty() || !terms.forget_query.empty() ||
        !terms.counted.empty() || !terms.carry_axis.empty() || !terms.carry_gate.empty() || terms.mixes() ||
        terms.far_from < INFINITY || terms.weights != Weighting::softmax)
      acts |= kRows;
    if (!terms.first_key.empty()) acts |= kMask;
    EXPECT_EQ(acts, entry->acts) << entry->name << " acts on " << site_names(acts) << ", its entry says "
                                 << site_names(entry->acts);
  }
}

// Decoding: the last query against all keys equals the last row of the whole.
TEST_P(Laws, DecodingOneRowEqualsThatRow) {
  each_encoding(2, 8, 100, [&](const Entry&, const Encoding& e, const Shape& shape) {
    if (!shape.causal) return;
    const std::int64_t T = 83, H = shape.H, D = shape.D;
    const Case c(shape, e, T, 0);
    const Fast whole(e, c, Floats(c.q.size()), Floats(T * shape.C));
    Plan plan = whole.plan();
    if (!plan.terms.by_query.empty()) {
      Floats last;
      for (std::int64_t h = 0; h < H; ++h) last.push_back(plan.terms.by_query[h * T + T - 1]);
      plan.terms.by_query = last;
    }
    const AttendShape one{.B = 1,
                          .H = H,
                          .queries = 1,
                          .keys = T,
                          .K = D,
                          .D = D,
                          .scale = float(1 / std::sqrt(double(D))),
                          .causal = true};
    Floats q(c.q.begin(), c.q.end()), k(c.k.begin(), c.k.end()), v(c.v.begin(), c.v.end()), out(H * D);
    const auto rows = [&](Floats& x) { return Heads<float>{x.data(), 0, D, T * D}; };
    Heads<float> last = rows(q);
    last.data += (T - 1) * D;
    AttentionKept kept;
    execute({one, plan, true}, {last, rows(k), rows(v), {out.data(), 0, H * D, D}}, kept);
    for (std::int64_t n = 0; n < H * D; ++n)
      ASSERT_NEAR(out[n], whole.out[(n / D * T + T - 1) * D + n % D], 2e-6);
  });
}

TEST_P(Laws, ExtremesStayFiniteAndRight) {
  for (const auto& [H, tokens, start] :
       {std::tuple{1, 1, 0.0}, {12, 2, 0.0}, {5, 3, 131070.0}, {3, 5, 1e6}}) {
    each_encoding(H, 4, 8,
                  [&, T = tokens, first = start](const Entry&, const Encoding& e, const Shape& shape) {
                    if (e.positions_end() && first + double(T) > double(*e.positions_end())) return;
                    expect_definition(e, Case(shape, e, T, first));
                  });
  }
}

TEST(Registry, EveryEntryIsComplete) {
  std::set<std::string_view> names;
  for (const Entry* entry : encodings()) {
    EXPECT_TRUE(names.insert(entry->name).second) << entry->name << " is there twice";
    EXPECT_FALSE(entry->title.empty()) << entry->name;
    EXPECT_FALSE(entry->formula.empty()) << entry->name;
    EXPECT_FALSE(entry->pitfall.empty()) << entry->name;
    EXPECT_EQ(entry->paper.substr(0, 8), "https://") << entry->name;
    EXPECT_GE(entry->year, 2017) << entry->name;
    for (const auto& option : entry->options) {
      EXPECT_FALSE(option.help.empty()) << entry->name << '.' << option.name;
      EXPECT_NO_THROW(
          Options(entry->name, std::span(&option, 1), {{std::string(option.name), option.standard}}));
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
