// GRAPE, additive, with gates. Zhang et al. 2025, https://arxiv.org/abs/2512.07805, section 4: the unipotent lift
// I + n·ω·A with A² = 0 gives a bias that is linear in the distance.
//
//   s[h,i,j] = q_i·k_j/√D − ω_h·(p_i − p_j)·(g_i + g'_j)
//   g_i = softplus(u_h·q_i/√D),  g'_j = softplus(v_h·k_j/√D),   ω_h = e^(w_h), from ALiBi's slopes
//
// With constant gates it is ALiBi. For causal masks: a key after the query would gain. Acts on rows of logits (the distance
// times a number of the key is no sum of terms). Parameters: log slope w (H), gates u, v (H,D), each layer its own.
#include <cmath>

#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

class GrapeAdditive final : public Encoding {
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
  Widths widths() const override { return {0, 1}; }  // the gate

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const std::int64_t D = shape_.D, H = shape_.H;
    const double gates = gate(&s.w[H + h * D], &s.q[(h * s.T() + i) * D]) +
                         gate(&s.w[H + (H + h) * D], &s.k[(h * s.T() + j) * D]);
    return plain_logit(s, h, i, j) - std::exp(s.w[h]) * (s.positions[i] - s.positions[j]) * gates;
  }
  void map(const Batch& b, Role role, const MapRows& rows, float* x) const override {
    if (role != Role::q && role != Role::k) return;
    each_row(rows.layout, b.positions, [&](std::int64_t, std::int64_t h, std::int64_t place) {
      x[place + rows.beside] = float(gate(b.w + weights(role, h), x + place));
    });
  }
  // softplus' = 1 − e^(−softplus)
  void map_backward(const Batch& b, Role role, const MapRows& rows, const float* y, float* dy,
                    const BatchGrad& grad) const override {
    if (role != Role::q && role != Role::k) return;
    const double root = std::sqrt(double(shape_.D));
    each_row(rows.layout, b.positions, [&](std::int64_t, std::int64_t h, std::int64_t place) {
      const double d = dy[place + rows.beside] * -std::expm1(-double(y[place + rows.beside])) / root;
      for (std::int64_t c = 0; c < shape_.D; ++c) {
        grad.w[weights(role, h) + c] += float(d * y[place + c]);
        dy[place + c] += float(d * b.w[weights(role, h) + c]);
      }
    });
  }
  std::shared_ptr<const RowRule> rule(const Batch& b, const MapRows& rows) const override {
    return std::make_shared<Rule>(*this, b, rows.beside);
  }

 private:
  std::int64_t weights(Role role, std::int64_t h) const {
    return shape_.H + ((role == Role::k ? shape_.H : 0) + h) * shape_.D;
  }
  template <class W, class X>
  double gate(const W* w, const X* x) const {
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d) sum += double(w[d]) * double(x[d]);
    return softplus(sum / std::sqrt(double(shape_.D)));
  }
  class Rule final : public RowRule {
   public:
    Rule(const GrapeAdditive& encoding, const Batch& b, std::int64_t beside)
        : positions_(b.positions), beside_(beside), count_(encoding.param_count()) {
      for (std::int64_t h = 0; h < encoding.shape_.H; ++h) slope_.push_back(std::exp(b.w[h]));
    }
    std::int64_t param_count() const override { return count_; }
    void forward(const QueryRow& query, LogitRows s) const override {
      each(query, [&](std::int64_t h, std::int64_t j, float distance, float gates) {
        s.head(h)[j] -= slope_[h] * distance * gates;
      });
    }
    void backward(const QueryRow& query, LogitRows, LogitRows ds, const RuleGrad& grad) const override {
      each(query, [&](std::int64_t h, std::int64_t j, float distance, float gates) {
        const float d = -slope_[h] * distance * ds.head(h)[j];
        grad.dw[h] += d * gates;
        grad.dq.row(h)[beside_] += d;
        grad.key_head(h, j)[beside_] += d;
      });
    }

   private:
    template <class Body>
    void each(const QueryRow& query, const Body& f) const {
      const Positions row = positions_.row(query.b);
      for (std::int64_t h = 0; h < query.H; ++h) {
        const float gate = query.query_head(h)[beside_];
        for (std::int64_t j = query.first; j < query.end; ++j)
          f(h, j, float(row[query.at] - row[j]), gate + query.key_head(h, j)[beside_]);
      }
    }
    const Positions positions_;
    const std::int64_t beside_, count_;
    std::vector<float> slope_;
  };
};

}  // namespace

extern const Entry grape_additive_entry;
const Entry grape_additive_entry = {
    .name = "grape_additive",
    .title = "GRAPE, additive: a linear bias with gates of query and key",
    .paper = "https://arxiv.org/abs/2512.07805",
    .formula = "s += -w_h*(p_i - p_j)*(softplus(u*q_i/sqrt(D)) + softplus(v*k_j/sqrt(D)))",
    .pitfall = "for causal masks only; the published code with base 1 has one frequency",
    .year = 2025,
    .acts = kQk | kRows,
    .relative = true,
    .causal_only = true,
    .options = {},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<GrapeAdditive>(options, shape);
    }};

}  // namespace gnomon
