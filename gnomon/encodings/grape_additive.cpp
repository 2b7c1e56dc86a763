// GRAPE, additive, with gates. Zhang et al. 2025, https://arxiv.org/abs/2512.07805, section 4: the unipotent lift
// I + n·ω·A with A² = 0 gives a bias that is linear in the distance.
//
//   s[h,i,j] = q_i·k_j/√D − ω_h·(p_i − p_j)·(g_i + g'_j)
//   g_i = softplus(u_h·q_i/√D),  g'_j = softplus(v_h·k_j/√D),   ω_h = e^(w_h), from ALiBi's slopes
//
// In the authors' code each of these is an option: u and v of length 1, q and k with RMS norms, and slopes softplus(w)·ALiBi's, are
// its standard, and not here. With constant gates it is ALiBi. q and k are those before any rotation. For causal masks: a key after the query would gain.
// Acts on rows of logits. Parameters: log slope w (H), gates u, v (H,D), each layer its own.
#include <cmath>

#include "gnomon/encodings/gates.h"

namespace gnomon {
namespace {

class GrapeAdditive final : public Encoding, public RulePart {
 public:
  GrapeAdditive(const Options&, const Shape& shape) : Encoding(shape) {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    std::vector<double> start;
    for (double h = 1; h <= double(shape_.H); ++h) start.push_back(std::log(2.0) * -8 * h / double(shape_.H));
    return {{"log_slope", {shape_.H}, 0, 0, false, start},
            {"query_gate", {shape_.H, shape_.D}, 0, 0.02, false},
            {"key_gate", {shape_.H, shape_.D}, 0, 0.02, false}};
  }
  unsigned reads() const override { return kReadsRows; }

  double rule(const Scene& s, const Scores&, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const std::int64_t D = shape_.D, H = shape_.H;
    const double gates = gate(&s.w[H + h * D], &s.q[(h * s.T() + i) * D]) +
                         gate(&s.w[H + (H + h) * D], &s.k[(h * s.T() + j) * D]);
    return -std::exp(s.w[h]) * (s.positions[i] - s.positions[j]) * gates;
  }
  void lower(const Batch& b, Terms& t) const override {
    const Content& content = *b.content;
    t.tilt.clear();
    for (std::int64_t h = 0; h < shape_.H; ++h) t.tilt.push_back(-std::exp(b.w[h]));
    t.tilt_query.resize(std::size_t(content.B * shape_.H * content.T)),
        t.tilt_key.resize(t.tilt_query.size());
    each_row(content, [&](std::int64_t n, std::int64_t h, std::int64_t place) {
      t.tilt_query[n] = float(gate(b.w + weights(Role::q, h), content.q + place));
      t.tilt_key[n] = float(gate(b.w + weights(Role::k, h), content.k + place));
    });
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    for (std::int64_t h = 0; h < shape_.H; ++h) grad.w[h] -= g.tilt[h] * std::exp(b.w[h]);
    const Content& content = *b.content;
    each_row(content, [&](std::int64_t n, std::int64_t h, std::int64_t place) {
      gate_backward({content.q + place, grad.content->q + place}, double(g.tilt_query[n]),
                    weights(Role::q, h), b, grad);
      gate_backward({content.k + place, grad.content->k + place}, double(g.tilt_key[n]), weights(Role::k, h),
                    b, grad);
    });
  }

 private:
  std::int64_t weights(Role role, std::int64_t h) const {
    return shape_.H + ((role == Role::k ? shape_.H : 0) + h) * shape_.D;
  }
  template <class W, class X>
  double projected(const W* w, const X* x) const {
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d) sum += double(w[d]) * double(x[d]);
    return sum / std::sqrt(double(shape_.D));
  }
  template <class W, class X>
  double gate(const W* w, const X* x) const {
    return softplus(projected(w, x));
  }
  struct Row {
    const float* x;
    float* dx;
  };
  void gate_backward(const Row& row, double dgate, std::int64_t weights, const Batch& b,
                     const BatchGrad& grad) const {
    const double d = dgate * sigmoid(projected(b.w + weights, row.x)) / std::sqrt(double(shape_.D));
    for (std::int64_t c = 0; c < shape_.D; ++c) {
      grad.w[weights + c] += float(d * row.x[c]);
      row.dx[c] += float(d * b.w[weights + c]);
    }
  }
  // f(index in (B,H,T), head, offset of the row in q and k)
  template <class Body>
  void each_row(const Content& content, const Body& f) const {
    const RowLayout& at = content.heads;
    for (std::int64_t n = 0; n < content.B * shape_.H * content.T; ++n) {
      const std::int64_t h = n / content.T % shape_.H;
      f(n, h, n / content.T / shape_.H * at.batch + n % content.T * at.token + h * at.head);
    }
  }
};

}  // namespace

extern const Entry grape_additive_entry;
const Entry grape_additive_entry = entry<GrapeAdditive>(
    {.name = "grape_additive",
     .title = "GRAPE, additive: a linear bias, scaled by gates of query and key",
     .paper = "https://arxiv.org/abs/2512.07805",
     .formula = "s += -w_h*(p_i - p_j)*(softplus(u*q_i/sqrt(D)) + softplus(v*k_j/sqrt(D)))",
     .latex =
         R"(s_{ij} \leftarrow s_{ij} - w_h\,(p_i - p_j) \left(\mathrm{softplus}\frac{u \cdot q_i}{\sqrt{D}} + \mathrm{softplus}\frac{v \cdot k_j}{\sqrt{D}}\right))",
     .pitfall = "for causal masks only; the published code uses base 1 and so has one frequency",
     .year = 2025,
     .relative = true,
     .causal_only = true,
     .options = {}});

}  // namespace gnomon
