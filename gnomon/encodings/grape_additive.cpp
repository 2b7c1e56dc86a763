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
  unsigned reads() const override { return kReadsRows; }
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override {
    const Content& content = *b.content;
    for (const Role role : {Role::q, Role::k}) {
      Widen wide{own.beside, 1, Floats(content.B * content.T * shape_.H)};
      const float* rows = role == Role::q ? content.q : content.k;
      for (std::int64_t n = 0; n < std::int64_t(wide.columns.size()); ++n)
        wide.columns[n] = float(gate(b.w + weights(role, n % shape_.H), rows + place(content, n)));
      steps.push_back({unsigned(role), std::move(wide), true});
    }
  }
  // softplus' = 1 − e^(−softplus)
  void map_backward(const Batch& b, std::span<const Step> steps, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    const double root = std::sqrt(double(shape_.D));
    for (const Role role : {Role::q, Role::k}) {
      const std::size_t step = role == Role::q ? 0 : 1;
      const Floats &gates = std::get<Widen>(steps[step].what).columns,
                   &dgates = std::get<Widen>(dsteps[step].what).columns;
      const float* rows = role == Role::q ? b.content->q : b.content->k;
      float* drows = role == Role::q ? grad.content->q : grad.content->k;
      for (std::int64_t n = 0; n < std::int64_t(gates.size()); ++n) {
        const double d = dgates[n] * -std::expm1(-double(gates[n])) / root;
        const std::int64_t w = weights(role, n % shape_.H), at = place(*b.content, n);
        for (std::int64_t c = 0; c < shape_.D; ++c) {
          grad.w[w + c] += float(d * rows[at + c]);
          drows[at + c] += float(d * b.w[w + c]);
        }
      }
    }
  }
  std::shared_ptr<const RowRule> rule(const Batch& b, const OwnChannels& own) const override {
    return std::make_shared<Rule>(*this, b, own.beside);
  }

 private:
  // Offset of the row of q or k for number n of an array (B·T, H).
  std::int64_t place(const Content& content, std::int64_t n) const {
    const RowLayout& at = content.heads;
    const std::int64_t token = n / shape_.H;
    return token / content.T * at.batch + token % content.T * at.token + n % shape_.H * at.head;
  }
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
