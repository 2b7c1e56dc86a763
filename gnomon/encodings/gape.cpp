// GAPE: gated adaptive position encoding. Borgi et al. 2026, https://arxiv.org/abs/2605.10414.
//
//   s[h,i,j] = q_i·k_j/√D − Γ_h·g_i·(1 − l_j)·(p_i − p_j)/L
//   g_i = softplus(u_h·q_i + a_h),  l_j = σ(v_h·k_j + b_h),  Γ_h = softplus(γ_h),  L = length
//
// The query says how much distance counts, and the key protects itself from it. q and k are those before any rotation. The paper's bias
// is larger by Γ·g_i·p_i/L, which is the same for all keys. For causal masks. Acts on q and k, by two more channels. Parameters: γ (H),
// u, v (H,D), a, b (H), each layer its own.
#include <cmath>

#include "gnomon/encodings/gates.h"

namespace gnomon {
namespace {

class Gape final : public Encoding, public MapPart {
 public:
  Gape(const Options& options, const Shape& shape)
      : Encoding(shape),
        length_(options.whole("length") ? double(options.whole("length")) : double(shape.length)) {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsRows; }
  Widths widths() const override { return {2, 0}; }
  std::vector<ParamSpec> params() const override {
    const std::int64_t H = shape_.H, D = shape_.D;
    return {{"strength", {H}, 0, 0, false},
            {"query_gate.weight", {H, D}, 0, 0.02, false},
            {"key_gate.weight", {H, D}, 0, 0.02, false},
            {"query_gate.bias", {H}, 0, 0, false},
            {"key_gate.bias", {H}, 0, 0, false}};
  }

  // With places p from the first token on: (−p·r, r)·(1 − l, p·(1 − l)), r = √D·Γ·g/L.
  void map_row(const Scene& s, Role role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override {
    const auto& rows = role == Role::q ? s.q : s.k;
    const double gate = gate_of(role, s.w.data(), h, &rows[(h * s.T() + t) * shape_.D]);
    const double p = s.positions[t] - s.positions[0];
    row.push_back(role == Role::q ? -p * gate : gate);
    row.push_back(role == Role::q ? gate : p * gate);
  }
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override {
    const Content& content = *b.content;
    for (const Role role : {Role::q, Role::k}) {
      Widen wide{own.joined, 2, shape_.H, Floats(std::size_t(content.B * content.T * shape_.H * 2))};
      each_row(b, [&](const At& at) {
        const float* x = (role == Role::q ? content.q : content.k) + at.row;
        const double gate = gate_of(role, b.w, at.h, x);
        float* to = &wide.columns[2 * at.n];
        to[0] = float(role == Role::q ? -at.place * gate : gate);
        to[1] = float(role == Role::q ? gate : at.place * gate);
      });
      steps.push_back({unsigned(role), std::move(wide), true});
    }
  }
  void map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    for (const Role role : {Role::q, Role::k}) {
      const bool asks = role == Role::q;
      const Floats& d = std::get<Widen>(dsteps[asks ? 0 : 1].what).columns;
      const float* rows = asks ? b.content->q : b.content->k;
      float* drows = asks ? grad.content->q : grad.content->k;
      each_row(b, [&](const At& at) {
        const double first = d[2 * at.n], second = d[2 * at.n + 1];
        gate_backward(role, b, at.h, {rows + at.row, drows + at.row},
                      asks ? second - at.place * first : first + at.place * second, grad);
      });
    }
  }

 private:
  std::int64_t weight(Role role, std::int64_t h) const {
    return shape_.H + ((role == Role::k ? shape_.H : 0) + h) * shape_.D;
  }
  std::int64_t bias(Role role, std::int64_t h) const {
    return shape_.H * (1 + 2 * shape_.D) + (role == Role::k ? shape_.H : 0) + h;
  }
  template <class W, class X>
  double logit(Role role, const W* w, std::int64_t h, const X* x) const {
    double sum = double(w[bias(role, h)]);
    for (std::int64_t d = 0; d < shape_.D; ++d) sum += double(w[weight(role, h) + d]) * double(x[d]);
    return sum;
  }
  double root() const { return std::sqrt(double(shape_.D)) / length_; }
  // √D·Γ·g/L of a query, 1 − l of a key.
  template <class W, class X>
  double gate_of(Role role, const W* w, std::int64_t h, const X* x) const {
    const double z = logit(role, w, h, x);
    return role == Role::q ? root() * softplus(double(w[h])) * softplus(z) : sigmoid(-z);
  }
  struct Row {
    const float* x;
    float* dx;
  };
  void gate_backward(Role role, const Batch& b, std::int64_t h, const Row& row, double dgate,
                     const BatchGrad& grad) const {
    const double z = logit(role, b.w, h, row.x), strength = softplus(double(b.w[h]));
    const bool asks = role == Role::q;
    if (asks) grad.w[h] += float(dgate * root() * sigmoid(double(b.w[h])) * softplus(z));
    const double dz = dgate * (asks ? root() * strength * sigmoid(z) : -sigmoid(z) * sigmoid(-z));
    grad.w[bias(role, h)] += float(dz);
    for (std::int64_t d = 0; d < shape_.D; ++d) {
      grad.w[weight(role, h) + d] += float(dz * double(row.x[d]));
      row.dx[d] += float(dz * double(b.w[weight(role, h) + d]));
    }
  }
  // A row of a head: its index in (B·T,H), where it lies in q and k, and its place from the first token of its sequence on.
  struct At {
    std::int64_t n, h, row;
    double place;
  };
  template <class Body>
  void each_row(const Batch& b, const Body& f) const {
    const Content& content = *b.content;
    const RowLayout& at = content.heads;
    for (std::int64_t n = 0; n < content.B * content.T * shape_.H; ++n) {
      const std::int64_t h = n % shape_.H, t = n / shape_.H % content.T, sequence = n / shape_.H / content.T;
      const std::int64_t first = b.positions.rows > 1 ? sequence * content.T : 0;
      f(At{n, h, sequence * at.batch + t * at.token + h * at.head,
           b.positions[first + t] - b.positions[first]});
    }
  }
  const double length_;
};

}  // namespace

extern const Entry gape_entry;
const Entry gape_entry = entry<Gape>(
    {.name = "gape",
     .aliases = {"gated_adaptive"},
     .title = "GAPE: the query says how much distance counts, and the key protects itself from it",
     .paper = "https://arxiv.org/abs/2605.10414",
     .formula = "s -= G*softplus(u*q_i + a)*(1 - sigmoid(v*k_j + b))*(p_i - p_j)/L",
     .latex = R"(s_{ij} \leftarrow s_{ij} - \Gamma_h\, g_i\, (1 - l_j)\, \frac{p_i - p_j}{L})",
     .pitfall = "distances are divided by the length, so another length is another encoding",
     .year = 2026,
     .relative = true,
     .causal_only = true,
     .options = {{.name = "length",
                  .help = "L in tokens; 0 = the training window",
                  .standard = "0",
                  .least = 0,
                  .most = 1 << 30,
                  .whole = true}}});

}  // namespace gnomon
