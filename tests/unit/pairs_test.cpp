// The laws over pairs: every two encodings that meet inside attention are refused with a reason, or mean the same in either
// order and are the sum of their definitions.
#include <gtest/gtest.h>

#include "tests/unit/laws.h"

namespace gnomon {
namespace {

constexpr std::int64_t kTokens = 19;

struct Part {
  std::string spec;
  std::unique_ptr<Encoding> encoding;
  std::vector<double> w;  // its parameters
  Plan plan;              // of it alone
};

// The encodings of a spec as a layer runs them, forward.
Floats run(const std::vector<const Part*>& parts, const Case& c, const std::vector<std::size_t>& order) {
  std::string spec;
  for (const Part* part : parts) spec += (spec.empty() ? "" : "+") + part->spec;
  const Position position = make_position(Spec::parse(spec), c.shape);
  const Shape& s = c.shape;
  const std::int64_t T = c.T(), step = row_step(3 * s.C), out_step = row_step(s.C);
  std::vector<Floats> w;
  for (const Part* part : parts) w.emplace_back(part->w.begin(), part->w.end());
  LayerPositions positions;
  for (const std::size_t n : order.empty() ? position.patterns[0] : order)
    positions.acting.push_back({position.attention[n].encoding.get(), w[n].data()});
  positions.places = &c.place;
  positions.plan = compile(positions.acting, c.place, s.causal);
  positions.reads_content = reads_content(positions.acting);
  LayerActivations a;
  a.qkv.resize(T * step), a.attended.resize(T * out_step);
  Fast::each_number(c, [&](std::int64_t n, std::int64_t t, std::int64_t channel) {
    float* row = &a.qkv[t * step + channel];
    row[0] = float(c.q[n]), row[s.C] = float(c.k[n]), row[2 * s.C] = float(c.v[n]);
  });
  const Floats x(c.x.begin(), c.x.end()), p(c.projections.begin(), c.projections.end());
  const std::int64_t weight = s.C * s.C;
  const Content content{1,
                        T,
                        {x.data(), s.C},
                        {1, T, s.H, 0, step, s.D},
                        a.qkv.data(),
                        a.qkv.data() + s.C,
                        {p.data(), p.data() + weight, p.data() + 2 * weight, p.data() + 2 * weight + s.C}};
  attention_forward({1, T, s.C, s.H, s.C, s.causal, Norm::layer, nullptr, 8}, positions, content, a);
  Floats out(c.q.size());
  Fast::each_number(c, [&](std::int64_t n, std::int64_t t, std::int64_t channel) {
    out[n] = a.attended[t * out_step + channel];
  });
  return out;
}

bool reads_scores(const Part& p) { return !p.plan.terms.counted.empty() || p.plan.terms.mixes(); }
bool only_adds(const Part& p) {
  return p.plan.steps.empty() && p.plan.terms.weights == Weights::softmax &&
         p.plan.terms.content_scale == 1 && p.plan.terms.value.empty();
}

// Where one of the two only adds, and sees no score that the other makes: the sum of what each adds to q·k.
bool is_a_sum(const Part& a, const Part& b) {
  const auto plain = [](const Part& p) { return only_adds(p) && p.encoding->softmax(); };
  if (!plain(a) && !plain(b)) return false;
  const auto makes_scores = [&](const Part& p) { return !only_adds(p); };
  if ((reads_scores(a) && makes_scores(b)) || (reads_scores(b) && makes_scores(a))) return false;
  return a.encoding->softmax() && b.encoding->softmax();
}
std::vector<double> by_sum(const Part& a, const Part& b, const Case& c) {
  const std::int64_t T = c.T(), D = c.shape.D;
  Scene one = c.scene(), two = c.scene();
  one.w = a.w, two.w = b.w;
  const bool a_maps = !only_adds(a);
  std::vector<double> out(c.q.size());
  for (std::int64_t h = 0; h < c.shape.H; ++h) {
    for (std::int64_t i = 0; i < T; ++i) {
      std::vector<double> s(std::size_t(i + 1), -INFINITY);
      double most = -INFINITY, sum = 0;
      for (std::int64_t j = 0; j <= i; ++j) {
        if (!a.encoding->sees(one, i, j) || !b.encoding->sees(two, i, j)) continue;
        double plain = 0;
        for (std::int64_t d = 0; d < D; ++d) plain += c.q[(h * T + i) * D + d] * c.k[(h * T + j) * D + d];
        s[j] =
            a.encoding->logit(one, h, i, j) + b.encoding->logit(two, h, i, j) - plain / std::sqrt(double(D));
        most = std::max(most, s[j]);
      }
      for (double& x : s) sum += x = std::exp(x - most);
      for (std::int64_t j = 0; j <= i; ++j) {
        if (s[j] == 0) continue;
        for (std::int64_t d = 0; d < D; ++d) {
          const Encoding& values = a_maps ? *a.encoding : *b.encoding;
          out[(h * T + i) * D + d] += s[j] / sum * values.value(a_maps ? one : two, h, i, j, d);
        }
      }
    }
  }
  return out;
}

TEST(Pairs, AreRefusedWithAReasonOrMeanOneThing) {
  const Shape shape{16, 2, 8, 64, true};
  std::vector<Part> parts;
  for (const Entry* entry : encodings()) {
    if (entry->acts == 0 || (entry->acts & (kInput | kPositions))) continue;
    Part p{std::string(entry->name), make_encoding(entry->name, shape), {}, {}};
    const Case own(shape, *p.encoding, kTokens, 3, parts.size());
    p.w = own.w;
    const Floats zero(p.w.size()), f(p.w.begin(), p.w.end());
    const Fast alone(*p.encoding, own, Floats(own.q.size()), Floats(kTokens * shape.C));
    p.plan = alone.plan();
    parts.push_back(std::move(p));
  }
  const auto none = make_encoding("none", shape);
  const Case c(shape, *none, kTokens, 3);
  int sums = 0, orders = 0, refused = 0;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    for (std::size_t m = n; m < parts.size(); ++m) {
      const Part &a = parts[n], &b = parts[m];
      SCOPED_TRACE(a.spec + " + " + b.spec);
      Floats ab, ba;
      std::string why, back;
      try {
        ab = run({&a, &b}, c, {});
      } catch (const Error& e) {
        EXPECT_EQ(e.fault(), Fault::usage);
        why = e.what();
      }
      try {
        ba = run({&b, &a}, c, {});
      } catch (const Error& e) {
        back = e.what();
      }
      ASSERT_EQ(why.empty(), back.empty()) << why << back;
      if (!why.empty()) {
        EXPECT_NE(why.find(a.spec), std::string::npos) << why;
        EXPECT_NE(why.find(b.spec), std::string::npos) << why;
        ++refused;
        continue;
      }
      for (std::size_t i = 0; i < ab.size(); ++i) ASSERT_NEAR(ab[i], ba[i], 2e-6) << "number " << i;
      ++orders;
      if (!is_a_sum(a, b)) continue;
      const auto want = by_sum(a, b, c);
      for (std::size_t i = 0; i < ab.size(); ++i) ASSERT_NEAR(ab[i], want[i], 3e-5) << "number " << i;
      ++sums;
    }
  }
  std::printf("%d pairs, %d of them sums of their definitions; %d refused\n", orders, sums, refused);
  EXPECT_GT(sums, 300);
  EXPECT_GT(refused, 100);
}

TEST(Pairs, WhatHasNoMeaningIsRefused) {
  const Shape shape{16, 2, 8, 64, true};
  const auto answer = [&](const std::string& spec) -> std::string {
    try {
      make_position(Spec::parse(spec), shape);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(answer("rope+yarn").find("both change channel 0 of q and k"), std::string::npos);
  EXPECT_NE(answer("rope+rope").find("both change channel 0"), std::string::npos);
  EXPECT_NE(answer("rope+rerope").find("both change channel 0"), std::string::npos);
  EXPECT_NE(answer("cope+cope").find("both count keys by gates"), std::string::npos);
  EXPECT_NE(answer("stick_breaking+stick_breaking").find("without a softmax"), std::string::npos);
  EXPECT_NE(answer("rerope+self_extend").find("both"), std::string::npos);
  EXPECT_NE(answer("rope+shaw").find("as projected"), std::string::npos);
  EXPECT_EQ(answer("rope(fraction=0.5)+rope(fraction=0.5, side=trailing)"), "accepted");
  EXPECT_EQ(answer("fire+cope"), "accepted");
}

// Triples: any order of three that may go together.
TEST(Pairs, TriplesDoNotDependOnTheirOrder) {
  const Shape shape{16, 2, 8, 64, true};
  const auto none = make_encoding("none", shape);
  const Case c(shape, *none, kTokens, 3);
  for (const std::vector<std::string>& names : {std::vector<std::string>{"rope", "alibi", "cope"},
                                                {"log_n(original=8)", "rerope(window=5)", "t5"},
                                                {"fire", "dape", "window(size=7)"},
                                                {"fox", "grape_additive", "xpos"},
                                                {"stick_breaking", "rope", "alibi"}}) {
    std::vector<Part> parts;
    for (const std::string& name : names) {
      Part p{name, make_encoding(name, shape), {}, {}};
      p.w = Case(shape, *p.encoding, kTokens, 3, parts.size()).w;
      parts.push_back(std::move(p));
    }
    const Floats want = run({&parts[0], &parts[1], &parts[2]}, c, {});
    for (const auto& [x, y, z] : {std::tuple{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
      const Floats other = run({&parts[x], &parts[y], &parts[z]}, c, {});
      for (std::size_t n = 0; n < want.size(); ++n)
        ASSERT_NEAR(other[n], want[n], 2e-6) << names[0] << " " << n;
    }
  }
}

}  // namespace
}  // namespace gnomon
