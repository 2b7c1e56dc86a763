// Encodings of one layer against their sum: what adds to the logits sees the score at most, so the order in which a spec
// names them is nothing, and a bias reaches far keys too.
#include <gtest/gtest.h>

#include <deque>

#include "tests/unit/laws.h"

namespace gnomon {
namespace {

class Stages : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Stages, testing::ValuesIn(simd_targets()), target_name);

constexpr std::int64_t kTokens = 45;
const Shape kShape{16, 2, 8, 64, true};

// Attention with the encodings of a spec, as a layer runs it; projections are none of their business.
struct Sum {
  Position position;
  std::deque<Floats> w, dw;
  LayerPositions positions;
  LayerActivations a;
  Floats out, dq, dk;
  std::vector<Floats> gradients;  // of the parameters of each, in the order of the spec

  Sum(const std::string& spec, const Case& c, const std::vector<Floats>& parameters, const Floats& g,
      std::int64_t tile)
      : position(make_position(Spec::parse(spec), c.shape)) {
    const Shape& s = c.shape;
    const std::int64_t T = c.T(), qkv_step = row_step(3 * s.C), step = row_step(s.C);
    const AttentionShape layer{1,        T,       {.heads = s.H, .kv_heads = s.H, .head_size = s.D},
                               s.causal, nullptr, tile};
    gradients.resize(parameters.size());
    for (const std::size_t n : position.patterns[0]) {
      positions.acting.push_back({position.attention[n].encoding.get(), w.emplace_back(parameters[n]).data(),
                                  dw.emplace_back(parameters[n].size()).data()});
    }
    positions.places = &c.place;
    positions.plan = compile(positions.acting, c.place, s.causal);
    positions.dplan = positions.plan.zeros();
    positions.reads_content = reads_content(positions.acting);
    a.projections.qkv.resize(T * qkv_step), a.attended.resize(T * step);
    Floats dreturned(T * step), dqkv(T * qkv_step), x(c.x.begin(), c.x.end()), dx(T * s.C);
    Floats projections(c.projections.begin(), c.projections.end()), dprojections(projections.size());
    Fast::each_number(c, [&](std::int64_t n, std::int64_t t, std::int64_t channel) {
      float* row = &a.projections.qkv[t * qkv_step + channel];
      row[0] = float(c.q[n]), row[s.C] = float(c.k[n]), row[2 * s.C] = float(c.v[n]);
      dreturned[t * step + channel] = g[n];
    });
    const std::int64_t weight = s.C * s.C;
    const float* p = projections.data();
    const Content content{1,
                          T,
                          {x.data(), s.C},
                          {1, T, s.H, 0, qkv_step, s.D},
                          a.projections.qkv.data(),
                          a.projections.qkv.data() + s.C,
                          {p, p + weight, p + 2 * weight, p + 2 * weight + s.C}};
    attention_forward(layer, positions, content, a);
    out.resize(c.q.size()), dq = out, dk = out;
    Fast::each_number(c, [&](std::int64_t n, std::int64_t t, std::int64_t channel) {
      out[n] = a.attended[t * step + channel];
    });
    float* d = dprojections.data();
    ContentGrad grad{{dx.data(), s.C},
                     dqkv.data(),
                     dqkv.data() + s.C,
                     {d, d + weight, d + 2 * weight, d + 2 * weight + s.C}};
    attention_backward(layer, positions, content, {dreturned.data(), dqkv.data(), grad}, a);
    compile_backward(positions.acting, c.place, positions.plan, positions.dplan);
    Fast::each_number(c, [&](std::int64_t n, std::int64_t t, std::int64_t channel) {
      dq[n] = dqkv[t * qkv_step + channel], dk[n] = dqkv[t * qkv_step + s.C + channel];
    });
    for (std::size_t n = 0; n < dw.size(); ++n) gradients[position.patterns[0][n]] = dw[n];
  }
  Sum(const Sum&) = delete;
};

// The first has a score of its own, the second adds to it or multiplies it.
struct Pair {
  const char *score, *other;
  bool multiplies;
};
const Pair kPairs[] = {{"cope(positions=9)", "alibi", false},
                       {"rerope(window=7)", "alibi", false},
                       {"rope", "grape_additive", false},
                       {"rerope(window=7)", "log_n(original=8)", true},
                       {"self_extend(window=7)", "alibi", false},
                       {"dape", "alibi", false},
                       {"fire", "alibi", false}};

std::vector<double> by_sum(const Pair& pair, const Encoding& score, const Encoding& other, const Case& c,
                           const std::vector<double>& ws, const std::vector<double>& wo) {
  const std::int64_t T = c.T(), D = c.shape.D;
  Scene one = c.scene(), two = c.scene();
  one.w = ws, two.w = wo;
  std::vector<double> out(c.q.size());
  for (std::int64_t h = 0; h < c.shape.H; ++h) {
    for (std::int64_t i = 0; i < T; ++i) {
      std::vector<double> s;
      double most = -INFINITY, sum = 0;
      for (std::int64_t j = 0; j <= i; ++j) {
        double plain = 0;
        for (std::int64_t d = 0; d < D; ++d) plain += c.q[(h * T + i) * D + d] * c.k[(h * T + j) * D + d];
        plain /= std::sqrt(double(D));
        const double more = other.logit(two, h, i, j), first = score.logit(one, h, i, j);
        s.push_back(pair.multiplies ? first * (more / plain) : first + (more - plain));
        most = std::max(most, s.back());
      }
      for (double& x : s) sum += x = std::exp(x - most);
      for (std::int64_t j = 0; j <= i; ++j) {
        for (std::int64_t d = 0; d < D; ++d)
          out[(h * T + i) * D + d] += s[j] / sum * c.v[(h * T + j) * D + d];
      }
    }
  }
  return out;
}

TEST_P(Stages, ASumIsASumInEveryOrder) {
  for (const Pair& pair : kPairs) {
    SCOPED_TRACE(text(pair.score, " + ", pair.other));
    const auto score = make_encoding(pair.score, kShape), other = make_encoding(pair.other, kShape);
    Case c(kShape, *score, kTokens, 3);
    const Case c2(kShape, *other, kTokens, 3, 7);
    const std::vector<double> ws = c.w, wo = c2.w;
    const Floats fs(ws.begin(), ws.end()), fo(wo.begin(), wo.end()), g = normals(std::int64_t(c.q.size()), 5);
    for (const std::int64_t tile : {5, 64}) {
      const Sum a(text(pair.score, "+", pair.other), c, {fs, fo}, g, tile),
          b(text(pair.other, "+", pair.score), c, {fo, fs}, g, tile);
      const auto want = by_sum(pair, *score, *other, c, ws, wo);
      for (std::size_t n = 0; n < want.size(); ++n) {
        ASSERT_NEAR(a.out[n], want[n], 2e-5) << "number " << n;
        ASSERT_NEAR(b.out[n], want[n], 2e-5) << "number " << n;
      }
      const auto loss = [&] {
        const auto out = by_sum(pair, *score, *other, c, ws, wo);
        double sum = 0;
        for (std::size_t n = 0; n < out.size(); ++n) sum += out[n] * double(g[n]);
        return sum;
      };
      if (tile == 64) continue;
      expect_gradient(c.q, a.dq, loss, 97, 2e-4), expect_gradient(c.k, a.dk, loss, 97, 2e-4);
      expect_gradient(c.q, b.dq, loss, 97, 2e-4), expect_gradient(c.k, b.dk, loss, 97, 2e-4);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace gnomon
