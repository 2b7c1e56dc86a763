// Encodings by their definitions and by the fast path, on the same numbers: what the laws compare.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/nn/layer.h"
#include "gnomon/spec/plan.h"
#include "gnomon/spec/scheme.h"
#include "tests/support/support.h"

namespace gnomon {

struct Case {
  Shape shape;
  Placement place;
  std::vector<double> q, k, v, x, w, projections;

  Case(const Shape& s, const Encoding& e, std::int64_t T, double first, std::uint64_t seed = 0)
      : Case(s, e, placed(e.axes(), T, first), seed) {}
  Case(const Shape& s, const Encoding& e, const Placement& p, std::uint64_t seed = 0) : shape(s), place(p) {
    const std::int64_t n = s.H * T() * s.D;
    q = doubles(n, 11 + seed), k = doubles(n, 12 + seed), v = doubles(n, 13 + seed);
    x = doubles(T() * s.C, 15 + seed);
    projections = doubles(2 * s.H * s.D * (s.C + 1), 16 + seed, 1 / std::sqrt(double(s.C)));
    // Parameters near where they start, and none where an error could hide.
    const auto start = doubles(e.param_count(), 14 + seed), noise = doubles(e.param_count(), 17 + seed, 0.3);
    for (const auto& p_spec : e.params()) {
      for (std::int64_t i = 0; i < p_spec.size(); ++i)
        w.push_back(double(float(p_spec.initial(i, start[w.size()]) + noise[w.size()])));
    }
  }
  // Numbers that float32 holds exactly, so that both paths start from the same ones.
  static std::vector<double> doubles(std::int64_t n, std::uint64_t seed, double deviation = 1) {
    const Floats x = normals(n, seed, deviation);
    return {x.begin(), x.end()};
  }
  static Placement placed(std::int64_t axes, std::int64_t T, double first) {
    if (axes == 1) return Placement::consecutive(first, T);
    std::vector<double> all;
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t a = 0; a < axes; ++a) all.push_back(first + double(a == 0 ? t / 4 : t % (3 + a)));
    }
    return Placement::of(all, 1, axes);
  }
  std::int64_t T() const { return place.T(); }
  Scene scene() const { return {place, q, k, w, x, v, projected()}; }
  Projections<const double> projected() const {
    const std::int64_t weight = shape.H * shape.D * shape.C, bias = shape.H * shape.D;
    const double* p = projections.data();
    return {p, p + weight, p + 2 * weight, p + 2 * weight + bias};
  }
};

// (H,T,D)
inline std::vector<double> attention_by_definition(const std::vector<Defined>& encodings, const Case& c) {
  const Definition definition(c.shape, encodings, c.scene());
  const auto& document = c.place.document;
  std::vector<double> out;
  for (std::int64_t n = 0; n < c.shape.H * c.T(); ++n) {
    const std::int64_t i = n % c.T();
    const auto row = definition.output(n / c.T(), i, [&](std::int64_t j) {
      return !document.empty() && document[std::size_t(i)] != document[std::size_t(j)];
    });
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}
inline std::vector<double> attention_by_definition(const Encoding& e, const Case& c) {
  return attention_by_definition({Defined{&e, c.w}}, c);
}

// The fast path of one sequence, through the attention of the model: forward, and the gradients of
// Σ out·g + Σ input·gi.
struct Fast {
  Floats w, tables, x, projections, input, out, dq, dk, dv, dw, dx, dprojections;
  AttentionShape layer;
  LayerScheme positions;
  LayerActivations a;
  Batch batch;

  Fast(const Encoding& e, const Case& c, const Floats& g, const Floats& gi, std::int64_t tile = 0)
      : Fast({Defined{&e, c.w}}, c, g, gi, tile) {}
  Fast(const std::vector<Defined>& encodings, const Case& c, const Floats& g, const Floats& gi,
       std::int64_t tile = 0)
      : w(parameters(encodings)),
        x(c.x.begin(), c.x.end()),
        projections(c.projections.begin(), c.projections.end()),
        input(c.T() * c.shape.C),
        out(c.q.size()),
        dw(w.size()),
        dx(x.size()),
        dprojections(projections.size()),
        batch{c.place, tables, w.data()} {
    const auto& s = c.shape;
    layer = {1, c.T(), {.heads = s.H, .kv_heads = s.H, .head_dim = s.D}, s.causal, nullptr, tile};
    std::size_t at = 0;
    for (const Defined& one : encodings) {
      positions.acting.push_back({one.encoding, w.data() + at, dw.data() + at});
      at += one.w.size();
    }
    if (const auto* e = part<InputPart>(*encodings.front().encoding)) {
      tables = e->tables(c.place);
      const Content words{1, c.T(), {x.data(), c.shape.C}, {}, nullptr, nullptr, {}};
      ContentGrad dwords{{dx.data(), c.shape.C}, nullptr, nullptr, {}};
      const Batch of_words{c.place, tables, w.data(), &words};
      e->input(of_words, input.data());
      e->input_backward(of_words, gi.data(), {dw.data(), &dwords});
    }
    positions.places = &c.place;
    positions.plan = compile(positions.acting, c.place, s.causal);
    positions.dplan = positions.plan.zeros();
    positions.reads_content = reads_content(positions.acting);
    const std::int64_t qkv_step = row_step(3 * s.C), step = row_step(s.C);
    a.projections.qkv.resize(c.T() * qkv_step), a.attended.resize(c.T() * step);
    each_number(c, [&](std::int64_t n, std::int64_t t, std::int64_t channel) {
      float* row = &a.projections.qkv[t * qkv_step + channel];
      row[0] = float(c.q[n]), row[s.C] = float(c.k[n]), row[2 * s.C] = float(c.v[n]);
    });
    const Content content = content_of(c);
    attention_forward(layer, positions, content, a);
    Floats dreturned(c.T() * step), dqkv(c.T() * qkv_step);
    each_number(c, [&](std::int64_t n, std::int64_t t, std::int64_t channel) {
      out[n] = a.attended[t * step + channel];
      dreturned[t * step + channel] = g[n];
    });
    const std::int64_t weight = s.H * s.D * s.C, bias = s.H * s.D;
    float* p = dprojections.data();
    ContentGrad grad{{dx.data(), s.C},
                     dqkv.data(),
                     dqkv.data() + s.C,
                     {p, p + weight, p + 2 * weight, p + 2 * weight + bias}};
    attention_backward(layer, positions, content, {dreturned.data(), dqkv.data(), grad}, a);
    compile_backward(positions.acting, c.place, positions.plan, positions.dplan);
    dq.resize(out.size()), dk.resize(out.size()), dv.resize(out.size());
    each_number(c, [&](std::int64_t n, std::int64_t t, std::int64_t channel) {
      const float* row = &dqkv[t * qkv_step + channel];
      dq[n] = row[0], dk[n] = row[s.C], dv[n] = row[2 * s.C];
    });
  }
  // One after the other, as dw is.
  static Floats parameters(const std::vector<Defined>& encodings) {
    Floats all;
    for (const Defined& one : encodings) all.insert(all.end(), one.w.begin(), one.w.end());
    return all;
  }
  const Plan& plan() const { return positions.reads_content ? a.plan : positions.plan; }
  Fast(const Fast&) = delete;
  Content content_of(const Case& c) const {
    const auto& s = c.shape;
    const std::int64_t step = row_step(3 * s.C), weight = s.H * s.D * s.C, bias = s.H * s.D;
    const float* p = projections.data();
    return {1,
            c.T(),
            {x.data(), s.C},
            {1, c.T(), s.H, 0, step, s.D},
            a.projections.qkv.data(),
            a.projections.qkv.data() + s.C,
            {p, p + weight, p + 2 * weight, p + 2 * weight + bias}};
  }
  // f(index in (H,T,D), token, channel of all heads side by side)
  template <class Body>
  static void each_number(const Case& c, const Body& f) {
    const auto& s = c.shape;
    for (std::int64_t n = 0; n < std::int64_t(c.q.size()); ++n)
      f(n, n / s.D % c.T(), n / s.D / c.T() * s.D + n % s.D);
  }
};

// The laws of encodings of one layer, each with its parameters: the fast path is the definition, and its gradients by q, k, v
// and the parameters are central differences of the definition, at some of their numbers.
struct Learning {
  const Encoding* encoding;
  std::vector<double>* w;
};
struct Bounds {
  double value = 1e-5, gradient = 1e-4;
  std::int64_t tile = 0;
  std::size_t sparser = 1;  // one of so many gradients that are looked at otherwise
};
inline void expect_laws(const std::vector<Learning>& of, Case& c, const Bounds& bounds = {}) {
  std::vector<Defined> encodings;
  for (const Learning& one : of) encodings.push_back({one.encoding, *one.w});
  const Floats g = normals(std::int64_t(c.q.size()), 5);
  const Fast fast(encodings, c, g, Floats(c.T() * c.shape.C), bounds.tile);
  const auto want = attention_by_definition(encodings, c);
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(fast.out[i], want[i], bounds.value) << "number " << i;
  const auto loss = [&] {
    const auto out = attention_by_definition(encodings, c);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * double(g[i]);
    return sum;
  };
  expect_gradient(c.q, fast.dq, loss, 37 * bounds.sparser, bounds.gradient);
  expect_gradient(c.k, fast.dk, loss, 41 * bounds.sparser, bounds.gradient);
  expect_gradient(c.v, fast.dv, loss, 53 * bounds.sparser, bounds.gradient);
  std::size_t at = 0;
  for (const Learning& one : of) {
    const Floats dw(fast.dw.begin() + long(at), fast.dw.begin() + long(at + one.w->size()));
    expect_gradient(*one.w, dw, loss, 1 + dw.size() / 13, bounds.gradient);
    at += dw.size();
  }
}

// The standard options, and each option moved off its standard, one at a time: every word, and numbers in
// between.
inline std::vector<Named> variants(const Entry& entry) {
  Named standard{std::string(entry.name), {}};
  for (const auto& o : entry.options) standard.options.emplace_back(o.name, o.standard);
  std::vector<Named> all{standard};
  for (std::size_t i = 0; i < entry.options.size(); ++i) {
    const auto& o = entry.options[i];
    if (o.list) continue;
    std::vector<OptionValue> values(o.words.begin(), o.words.end());
    if (o.words.empty()) {
      const double at = o.standard_value().number();
      for (const double factor : {0.5, 2.0}) {
        const double x = std::clamp(o.whole ? std::round(at * factor) : at * factor, o.least, o.most);
        values.push_back(x);
      }
    }
    for (const auto& value : values) {
      if (value == o.standard_value()) continue;
      all.push_back(standard);
      all.back().options[i].second = value;
    }
  }
  return all;
}

// f(entry, encoding, shape) for every variant of every encoding that acts on attention or the input, causal and
// not.
template <class Body>
void each_encoding(std::int64_t H, std::int64_t D, std::int64_t length, const Body& f) {
  for (const Entry* entry : encodings()) {
    if (entry->acts & kPositions) continue;
    const std::vector<Named> all = variants(*entry);
    for (const Named& named : all) {
      for (const bool causal : {true, false}) {
        if (entry->causal_only && !causal) continue;
        const Shape shape{H * D, H, D, length, causal};
        std::string options;
        for (const auto& [key, value] : named.options) options += " " + key + "=" + value.print();
        SCOPED_TRACE(testing::Message() << named.name << options << (causal ? " causal" : " bidirectional"));
        std::unique_ptr<Encoding> e;
        try {
          e = make_encoding(named, shape);
        } catch (const Error&) {
          // Half of a head may have no pairs, or no two sets of them; half of a multiple of 16 has.
          if (D % 16 == 0 || &named == &all.front()) throw;
          continue;
        }
        f(*entry, *e, shape);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace gnomon
