#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "gnomon/kernels/attend.h"
#include "tests/support/support.h"

// Attention with what the caller asks of its logits, written plainly in double, and the same asked of the kernel.
namespace gnomon {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum Asked : unsigned {
  kCap = 1,
  kBias = 2,
  kMask = 4,
  kSinks = 8,
  kTerms = 16,
  kPadding = 32,
  kEverything = 63,
  kStick = 64,
  kStickCurrent = 128
};

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
    if (asked & kStick) terms.weights = Weighting::stick;
    if (asked & kStickCurrent) terms.weights = Weighting::stick_current;
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
    if (terms.weights == Weighting::stick && j == place) return hidden;
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
  // Of a softmax exp(logit), of a stick the weight itself: the last key breaks its share off what is left first.
  std::vector<double> shares(std::int64_t b, std::int64_t h, std::int64_t i) const {
    std::vector<double> all(std::size_t(s.keys));
    double left = 1;
    for (std::int64_t j = s.keys; j-- > 0;) {
      const double exp = std::exp(logit(b, h, i, j));
      all[std::size_t(j)] = sticks() ? left * (exp / (1 + exp)) : exp;
      left /= 1 + exp;
    }
    return all;
  }
  bool sticks() const { return terms.weights != Weighting::softmax; }
  // A row of the definition: its output, and the log of the sum by which shares are divided.
  double row(std::int64_t b, std::int64_t h, std::int64_t i, std::vector<double>& out) const {
    const std::int64_t of = h / (s.H / s.of_keys().H);
    const std::vector<double> weights = shares(b, h, i);
    double total = sinks.empty() ? 0 : std::exp(double(sinks[h]));
    for (const double w : weights) total += w;
    if (sticks()) total = 1;
    out.assign(s.D, 0);
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

}  // namespace gnomon
