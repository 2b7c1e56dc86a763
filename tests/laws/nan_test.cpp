// NaN in, NaN out: a number that is none must not vanish on its way to the loss. Laws over the registry, on every SIMD
// target; nothing here names an encoding.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "gnomon/kernels/adamw.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/kernels/norm.h"
#include "gnomon/kernels/pointwise.h"
#include "gnomon/nn/block.h"
#include "gnomon/nn/train.h"
#include "tests/laws/laws.h"

namespace gnomon {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class NotANumber : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, NotANumber, testing::ValuesIn(simd_targets()), target_name);

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// --- Encodings

constexpr std::int64_t kTokens = 36;  // more than the smallest window of any variant

// A case with the gradient of its output, and one number of them that a test changes.
struct Trial {
  Case c;
  Floats dout, dinput;
  std::int64_t T, D;
  Trial(const Shape& shape, const Encoding& e, std::int64_t tokens)
      : c(shape, e, tokens, 1),
        dout(normals(std::int64_t(c.q.size()), 5)),
        dinput(normals(tokens * shape.C, 6)),
        T(tokens),
        D(shape.D) {}
  Fast run(const Encoding& e) const { return {e, c, dout, dinput, 8}; }
};
struct Place {
  std::string name;
  std::int64_t index, token;  // token −1: a parameter
  void set(Trial& t, double factor, double more) const {
    const auto change = [&](auto& array) {
      auto& x = array[std::size_t(index)];
      x = std::remove_reference_t<decltype(x)>(double(x) * factor + more);
    };
    if (name == "q") change(t.c.q);
    if (name == "k") change(t.c.k);
    if (name == "v") change(t.c.v);
    if (name == "x") change(t.c.x);
    if (name == "dout") change(t.dout);
    if (name == "projections") change(t.c.projections);
    if (name == "w") change(t.c.w);
  }
};
std::vector<Place> places(const Encoding& e, const Trial& t) {
  std::vector<Place> all;
  for (const std::int64_t token : {std::int64_t(0), t.T / 2, t.T - 1}) {
    const std::int64_t index = ((t.c.shape.H - 1) * t.T + token) * t.D + token % t.D;
    for (const char* name : {"q", "k", "v", "dout"}) all.push_back({name, index, token});
    if (e.reads_content()) all.push_back({"x", token * t.c.shape.C + 3, token});
  }
  if (e.reads_content()) {
    for (const std::size_t n : {std::size_t(5), t.c.projections.size() / 2 + 7, t.c.projections.size() - 2})
      all.push_back({"projections", std::int64_t(n), -1});
  }
  std::int64_t offset = 0;
  for (const auto& p : e.params()) {
    for (const std::int64_t n : {std::int64_t(0), p.size() / 2, p.size() - 1})
      all.push_back({"w", offset + n, -1});
    offset += p.size();
  }
  return all;
}

struct Result {
  const char* name;
  const Floats& numbers;
};
std::vector<Result> results(const Fast& f) {
  return {{"out", f.out}, {"lse", f.a.kept.lse}, {"input", f.input},
          {"dq", f.dq},   {"dk", f.dk},          {"dv", f.dv},
          {"dw", f.dw},   {"dx", f.dx},          {"dprojections", f.dprojections}};
}

// The first number that moves with x and is not NaN when x is; "" = none.
std::string survivor(const Fast& base, const Fast& moved, const Fast& nan) {
  const auto from = results(base), to = results(moved), with = results(nan);
  for (std::size_t r = 0; r < from.size(); ++r) {
    for (std::size_t n = 0; n < from[r].numbers.size(); ++n) {
      if (from[r].numbers[n] == to[r].numbers[n] || std::isnan(with[r].numbers[n])) continue;
      return text(from[r].name, "[", n, "] goes from ", from[r].numbers[n], " to ", to[r].numbers[n],
                  ", with NaN it is ", with[r].numbers[n]);
    }
  }
  return "";
}

TEST_P(NotANumber, WhatMovesWithANumberIsNanWithIt) {
  each_encoding(2, 8, kTokens, [](const Entry&, const Encoding& e, const Shape& shape) {
    const Trial trial(shape, e, kTokens - 1);
    const Fast base = trial.run(e);
    for (const Place& place : places(e, trial)) {
      Trial moved = trial, nan = trial;
      place.set(moved, 1, 0.25), place.set(nan, 1, double(kNan));
      const std::string first = survivor(base, moved.run(e), nan.run(e));
      if (first.empty()) continue;
      ADD_FAILURE() << place.name << "[" << place.index << "], token " << place.token << ": " << first;
      return;  // the next encoding
    }
  });
}

// Rows that cannot see a token keep their bits whatever it holds.
TEST_P(NotANumber, ReachesNobodyWhoCannotSeeIt) {
  each_encoding(2, 8, kTokens, [](const Entry&, const Encoding& e, const Shape& shape) {
    const Trial trial(shape, e, kTokens - 1);
    const Fast base = trial.run(e);
    const Definition definition(e, trial.c.scene());
    const auto sees = [&](std::int64_t i, std::int64_t j) { return definition.sees(i, j); };
    for (const Place& place : places(e, trial)) {
      if (place.token < 0) continue;
      const bool of_query = place.name == "q" || place.name == "dout";
      for (const float bad : {kNan, kInfinity}) {
        Trial changed = trial;
        place.set(changed, 0, double(bad));
        const Fast with = changed.run(e);
        std::string reached;
        Fast::each_number(trial.c, [&](std::int64_t n, std::int64_t t, std::int64_t) {
          const auto expect = [&](bool untouched, const char* name, const Floats& was, const Floats& is) {
            if (untouched && !same_bits(was[n], is[n])) reached = text(name, " of token ", t);
          };
          const bool own_row = of_query ? t == place.token : sees(t, place.token);
          const bool own_key = !of_query || sees(place.token, t);
          expect(!own_row, "out", base.out, with.out);
          if (place.name != "x") expect(!own_row, "dq", base.dq, with.dq);
          if (place.name != "x") expect(!own_key, "dk", base.dk, with.dk);
          expect(!own_key, "dv", base.dv, with.dv);
        });
        if (reached.empty()) continue;
        ADD_FAILURE() << place.name << " of token " << place.token << " is " << bad << ": " << reached;
        return;
      }
    }
  });
}

// q·k beyond float32, to either side: of such a logit nothing is known, not even its sign.
TEST_P(NotANumber, LogitsThatOverflowAreTold) {
  each_encoding(2, 8, kTokens, [](const Entry&, const Encoding& e, const Shape& shape) {
    for (const double key : {1e30, -1e30}) {
      Trial trial(shape, e, kTokens - 1);
      const std::int64_t T = trial.T, D = trial.D, i = T - 1, j = 1;
      for (std::int64_t h = 0; h < shape.H; ++h) {
        // One channel, the slowest of those that turn: nothing of another sign meets it.
        std::fill_n(&trial.c.q[(h * T + i) * D], D, 0);
        std::fill_n(&trial.c.k[(h * T + j) * D], D, 0);
        trial.c.q[(h * T + i) * D + D - 1] = 1e30, trial.c.k[(h * T + j) * D + D - 1] = key;
      }
      const Fast f = trial.run(e);
      const Definition definition(e, trial.c.scene());
      for (std::int64_t h = 0; h < shape.H; ++h) {
        if (!definition.sees(i, j) || !(std::abs(definition.ln_weight(h, i, j)) > 1e39)) continue;
        EXPECT_TRUE(definition.weights() != Weighting::softmax || std::isnan(f.a.kept.lse[h * T + i]));
        for (std::int64_t d = 0; d < D; ++d) {
          EXPECT_TRUE(std::isnan(f.out[(h * T + i) * D + d]));
          EXPECT_TRUE(std::isnan(f.dq[(h * T + i) * D + d]));
          EXPECT_TRUE(std::isnan(f.dv[(h * T + j) * D + d]));
        }
      }
    }
  });
}

// --- Attention itself

struct Attention {
  AttendShape shape;
  Floats q, k, v, dout, out, lse, dq, dk, dv;
  Terms terms, dterms;
  std::vector<std::uint8_t> padding;

  Attention(std::int64_t T, bool causal, bool by_rows) {
    const std::int64_t B = 2, H = 2, D = 20, R = 2 * T - 1, size = B * T * H * D;
    shape = {.B = B, .H = H, .queries = T, .keys = T, .K = D, .D = D, .scale = 0.25f, .causal = causal};
    q = normals(size, 1), k = normals(size, 2), v = normals(size, 3), dout = normals(size, 4);
    terms.first_distance = 1 - T, terms.distances = R;
    terms.by_distance = normals(H * R, 5), terms.value = normals(H * R * D, 10);
    terms.by_query = normals(B * H * T, 6), terms.by_key = normals(B * H * T, 7);
    terms.query_cross = normals(H * R * D, 8, 0.3), terms.key_cross = normals(H * R * D, 9, 0.3);
    for (std::int64_t t = 0; by_rows && t < T; ++t) terms.places.push_back(double(t));
    padding.assign(B * T, 0);
    padding[0] = padding[1] = padding[7] = padding.back() = 1;
  }
  template <class N>
  Heads<N> heads(N* data) const {
    const std::int64_t step = shape.H * shape.D;
    return {data, shape.keys * step, step, shape.D};
  }
  void run() {
    shape.padding = padding.data();
    out.assign(q.size(), 0), lse.assign(shape.B * shape.H * shape.queries, 0);
    dq = dk = dv = out;
    dterms = terms.zeros();
    const Heads<const float> hq = heads<const float>(q.data()), hk = heads<const float>(k.data()),
                             hv = heads<const float>(v.data());
    attend(shape, hq, hk, hv, terms, heads(out.data()), lse.data());
    attend_backward(shape,
                    {hq, hk, hv, heads<const float>(out.data()), lse.data(), heads<const float>(dout.data())},
                    terms, {heads(dq.data()), heads(dk.data()), heads(dv.data()), &dterms});
  }
};

// What a padded key holds, a number or none, is nothing to anyone.
TEST_P(NotANumber, PaddedKeysStayInvisible) {
  for (const bool by_rows : {false, true}) {
    for (const Weighting weights : {Weighting::softmax, Weighting::stick, Weighting::stick_current}) {
      for (const bool causal : {true, false}) {
        if (weights != Weighting::softmax && !causal) continue;
        Attention clean(40, causal, by_rows);
        clean.terms.weights = weights;
        Attention dirty = clean;
        for (std::size_t n = 0; n < dirty.k.size(); ++n) {
          const std::int64_t token = std::int64_t(n) / (clean.shape.H * clean.shape.D);
          if (dirty.padding[token]) dirty.k[n] = n % 2 ? kNan : kInfinity, dirty.v[n] = kNan;
        }
        clean.run(), dirty.run();
        EXPECT_EQ(clean.out, dirty.out);
        EXPECT_EQ(clean.lse, dirty.lse);
        EXPECT_EQ(clean.dq, dirty.dq);
        EXPECT_EQ(clean.dk, dirty.dk);
        EXPECT_EQ(clean.dv, dirty.dv);
        EXPECT_EQ(clean.dterms.by_distance, dirty.dterms.by_distance);
        EXPECT_EQ(clean.dterms.by_query, dirty.dterms.by_query);
        EXPECT_EQ(clean.dterms.by_key, dirty.dterms.by_key);
        EXPECT_EQ(clean.dterms.query_cross, dirty.dterms.query_cross);
        EXPECT_EQ(clean.dterms.key_cross, dirty.dterms.key_cross);
        EXPECT_EQ(clean.dterms.value, dirty.dterms.value);
      }
    }
  }
}

// A query whose only key has no number is not a query that sees nobody.
TEST_P(NotANumber, OneKeyWithoutANumberIsNotNoKey) {
  for (const bool by_rows : {false, true}) {
    for (const std::int64_t bad : {0, 9, 39}) {
      Attention a(40, false, by_rows);
      a.padding.assign(a.padding.size(), 1);
      a.padding[std::size_t(bad)] = 0;
      a.k[std::size_t(bad * a.shape.H * a.shape.D)] = kNan;
      a.run();
      EXPECT_TRUE(std::isnan(a.lse[0]));
      EXPECT_TRUE(std::isnan(a.out[0]));
      EXPECT_EQ(a.lse.back(), -kInfinity);  // the other sequence has no key at all
      EXPECT_EQ(a.out.back(), 0);
    }
  }
}

// --- The other kernels

TEST_P(NotANumber, LossesAndTheirGradients) {
  for (const std::int64_t V : {1, 7, 33, 256}) {
    for (const float bad : {kNan, kInfinity}) {
      for (std::int64_t at = 0; at<V; at += V> 40 ? 5 : 1) {
        for (const float dscale : {0.0f, 0.5f}) {
          Floats logits = normals(2 * V, 1), losses(2);
          logits[std::size_t(at)] = bad;
          const std::vector<std::int32_t> targets(2, std::int32_t(V / 2));
          cross_entropy({2, V, dscale}, logits.data(), targets.data(), losses.data());
          ASSERT_TRUE(std::isnan(losses[0])) << "symbol " << at << " of " << V;
          ASSERT_TRUE(std::isfinite(losses[1]));
          for (std::int64_t n = 0; dscale > 0 && n < V; ++n) ASSERT_TRUE(std::isnan(logits[n]));
        }
      }
    }
  }
}

TEST_P(NotANumber, PointwiseKernelsKeepItInItsPlace) {
  constexpr std::int64_t n = 37;
  for (std::int64_t at = 0; at < n; ++at) {
    Floats x = normals(n, 1), one = normals(n, 2), y(n), dx(n), w = normals(n, 3), m(n), v(n);
    x[at] = kNan;
    EXPECT_FALSE(all_finite(n, x.data()));
    EXPECT_TRUE(std::isnan(sum_of_squares(n, x.data())));
    for (const Activation f : {Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::relu,
                               Activation::gelu_sigmoid}) {
      activate(f, n, x.data(), y.data());
      activate_backward(f, n, x.data(), one.data(), dx.data());
      for (std::int64_t i = 0; i < n; ++i)
        ASSERT_TRUE(std::isnan(y[i]) == (i == at) && std::isnan(dx[i]) == (i == at));
    }
    Floats both(2 * n), dboth(2 * n);  // a gate that is cut, on the first row of n and the second
    for (const bool second : {false, true}) {
      std::copy_n(one.begin(), n, both.begin()), std::copy_n(one.begin(), n, both.begin() + n);
      both[second ? n + at : at] = kNan;
      const Gate shape{Activation::gelu_sigmoid, 1, n, 2 * n, n, 5.0f};
      gate(shape, both.data(), y.data());
      gate_backward(shape, both.data(), one.data(), dboth.data());
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(std::isnan(y[i]), i == at);
      ASSERT_TRUE(std::isnan(dboth[at]) && std::isnan(dboth[n + at]));
    }
    y = one, y[at] = kNan, dx = y;
    soft_cap(n, 30, y.data());
    soft_cap_backward(n, 30, y.data(), dx.data());
    adamw({.rate = 0.1, .t = 1}, n, x.data(), w.data(), m.data(), v.data());
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(std::isnan(y[i]), i == at);
      ASSERT_EQ(std::isnan(dx[i]), i == at);
      ASSERT_EQ(std::isnan(w[i]), i == at);
    }
    for (const Norm kind : {Norm::layer, Norm::rms}) {
      Floats row(n), statistics(2);
      normalise({kind, 1, n}, x.data(), one.data(), one.data(), row.data(), statistics.data());
      for (const float r : row) ASSERT_TRUE(std::isnan(r));
    }
    for (const float bad : {kInfinity, -kInfinity}) {
      x[at] = bad;
      EXPECT_FALSE(all_finite(n, x.data()));
    }
    for (const Norm kind : {Norm::layer, Norm::rms}) {
      Floats row(n), statistics(2);
      x[at] = 1e30f;  // its square is beyond float32
      normalise({kind, 1, n}, x.data(), one.data(), one.data(), row.data(), statistics.data());
      for (const float r : row) ASSERT_TRUE(std::isnan(r));
    }
    x[at] = std::numeric_limits<float>::max();
    EXPECT_TRUE(all_finite(n, x.data()));
  }
}

// --- Training

std::vector<std::string> all_specs() {
  std::vector<std::string> specs;
  for (const Entry* e : encodings())
    specs.push_back(e->acts & kPositions ? "sinusoidal+" + std::string(e->name) : std::string(e->name));
  for (const CombinationEntry* c : combinations()) specs.push_back(std::string(c->name) + "(sinusoidal)");
  return specs;
}

// One NaN in any array of parameters is told by the step; and where the loss depends on that number, by the loss.
TEST(Training, OneNanInAnyArrayIsTold) {
  for (const std::string& spec : all_specs()) {
    const Architecture config =
        make_block("gpt", {.layers = 1, .width = 24, .heads = 2, .length = 12}, Spec::parse(spec));
    TrainConfig train;
    train.steps = 10;
    std::vector<std::int32_t> inputs, targets;
    for (std::int32_t n = 0; n < 24; ++n) inputs.push_back(n * n % 31), targets.push_back(n * n % 31 + 1);
    const Tokens tokens{2, 12, inputs, targets};
    Trainer trainer(config, train, 1);
    const Floats start = trainer.w;
    Floats losses(24);
    const auto loss = [&](std::int64_t at, float more) {
      Floats w = start;
      w[at] += more;
      return trainer.session.loss(tokens, w, losses);
    };
    const double base = loss(0, 0);
    for (const Param& p : trainer.model.params()) {
      SCOPED_TRACE(spec + ": " + p.spec.name);
      for (std::int64_t n = 0; n < p.spec.size(); n += 1 + p.spec.size() / 11) {
        const std::int64_t at = p.offset + n;
        EXPECT_TRUE(loss(at, 0.5f) == base || std::isnan(loss(at, kNan))) << "number " << n;
      }
      trainer.w = start, trainer.m.assign(start.size(), 0), trainer.v = trainer.m, trainer.step = 0;
      trainer.w[p.offset + p.spec.size() / 2] = kNan;
      EXPECT_TRUE(std::isnan(trainer.train(tokens)));
      EXPECT_FALSE(trainer.not_finite.empty());
    }
    trainer.w = start, trainer.m.assign(start.size(), 0), trainer.v = trainer.m, trainer.step = 0;
    EXPECT_TRUE(std::isfinite(trainer.train(tokens)));
    EXPECT_EQ(trainer.not_finite, "");
  }
}

}  // namespace
}  // namespace gnomon
