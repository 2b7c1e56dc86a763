// Data-dependent ALiBi for each row. x-transformers, x_transformers.py, PerRowDataDependentAlibi, after Lin et al. 2025,
// https://openreview.net/forum?id=q2Lnyegkr8.
//
//   s[h,i,j] = q_i·k_j/√D + Σ_{l=j..i−1} ln σ(a_hi·b_hl/√w),   a = A·x, b = B·x of `width` w channels a head
//
// Every query has its own gates, so the sum is no difference of running sums. For causal masks. Acts on rows. Parameters: A, B (H·width, C), each layer its own.
#include <cmath>

#include "gnomon/encodings/gates.h"
#include "gnomon/kernels/matmul.h"

namespace gnomon {
namespace {

class DataAlibi final : public Encoding, public RulePart {
 public:
  DataAlibi(const Options& options, const Shape& shape) : Encoding(shape), width_(options.whole("width")) {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsInput; }
  std::vector<ParamSpec> params() const override {
    const double deviation = 1 / std::sqrt(double(shape_.C));
    return {{"query.weight", {shape_.H * width_, shape_.C}, 0, deviation, true},
            {"key.weight", {shape_.H * width_, shape_.C}, 0, deviation, true}};
  }

  double rule(const Scene& s, const Scores&, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    double sum = 0;
    for (std::int64_t l = j; l < i; ++l) {
      double z = 0;
      for (std::int64_t n = 0; n < width_; ++n)
        z += project(s.w.data(), Role::q, h, n, &s.x[i * shape_.C]) *
             project(s.w.data(), Role::k, h, n, &s.x[l * shape_.C]);
      sum -= softplus(-z / std::sqrt(double(width_)));
    }
    return sum;
  }
  void lower(const Batch& b, Terms& t) const override {
    t.forget_width = width_;
    for (const Role role : {Role::q, Role::k}) {
      Floats& gates = role == Role::q ? t.forget_query : t.forget_key;
      gates.resize(std::size_t(b.content->B * b.content->T * gate_channels()));
      Floats rows(gates.size());
      linear(product_shape(*b.content), b.content->x.data, b.w + offset(role, 0, 0), nullptr, rows.data());
      each_gate(*b.content, [&](std::int64_t n, std::int64_t at) { gates[n] = scale(role) * rows[at]; });
    }
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    for (const Role role : {Role::q, Role::k}) {
      const Floats& dgates = role == Role::q ? g.forget_query : g.forget_key;
      const Content& content = *b.content;
      const Linear s = product_shape(content);
      Floats drows(dgates.size()), dx(std::size_t(s.N * s.x_step));
      each_gate(content, [&](std::int64_t n, std::int64_t at) { drows[at] = scale(role) * dgates[n]; });
      linear_backward(s, content.x.data, b.w + offset(role, 0, 0), drows.data(),
                      {dx.data(), grad.w + offset(role, 0, 0), nullptr});
      for (std::int64_t n = 0; n < s.N; ++n) {
        for (std::int64_t c = 0; c < shape_.C; ++c) grad.content->x.row(n)[c] += dx[n * s.x_step + c];
      }
    }
  }

 private:
  // The gates of all heads are one product. What it makes is dense.
  Linear product_shape(const Content& c) const { return {c.B * c.T, shape_.C, gate_channels(), c.x.step}; }
  std::int64_t gate_channels() const { return shape_.H * width_; }
  float scale(Role role) const { return role == Role::q ? float(1 / std::sqrt(double(width_))) : 1.0f; }
  std::int64_t offset(Role role, std::int64_t h, std::int64_t c) const {
    return ((role == Role::k ? gate_channels() : 0) + h * width_ + c) * shape_.C;
  }
  template <class W, class X>
  double project(const W* w, Role role, std::int64_t h, std::int64_t c, const X* x) const {
    double sum = 0;
    for (std::int64_t k = 0; k < shape_.C; ++k) sum += double(w[offset(role, h, c) + k]) * double(x[k]);
    return sum;
  }
  // f(index in (B,H,T,width), index in (B·T, H·width))
  template <class Body>
  void each_gate(const Content& content, const Body& f) const {
    const std::int64_t T = content.T, H = shape_.H, w = width_;
    for (std::int64_t n = 0; n < content.B * H * T * w; ++n) {
      const std::int64_t t = n / w % T, h = n / w / T % H, b = n / w / T / H;
      f(n, ((b * T + t) * H + h) * w + n % w);
    }
  }
  const std::int64_t width_;
};

}  // namespace

extern const Entry data_alibi_entry;
const Entry data_alibi_entry = entry<DataAlibi>(
    {.name = "data_alibi",
     .aliases = {"data_dependent_alibi"},
     .title = "Data-dependent ALiBi: every query has its own forget gates",
     .paper = "https://github.com/lucidrains/x-transformers",
     .formula = "s = q*k/sqrt(D) + sum_{l=j..i-1} ln sigmoid(a_i*b_l/sqrt(w))",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} + \sum_{l=j}^{i-1} \ln \sigma\left(\frac{a_i \cdot b_l}{\sqrt{w}}\right))",
     .pitfall = "quadratic cost; causal models only",
     .year = 2024,
     .relative = true,
     .causal_only = true,
     .options = {{.name = "width",
                  .help = "channels of a head's gates",
                  .standard = "8",
                  .least = 1,
                  .most = 256,
                  .whole = true}}});

}  // namespace gnomon
