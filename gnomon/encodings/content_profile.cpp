// Profiles of the distance, mixed by the content of the query. Inkling 2026: Hugging Face transformers, modeling_inkling.py,
// InklingRelativeLogits and InklingAttention.
//
//   s[h,i,j] = q_i·k_j/√D + τ_i·r_hi·P_δ,   r = W·x of `width` w channels a head,   δ = p_i − p_j
//   P_δ = 0 for keys after the query and from δ = extent on;   τ_i = 1 + scale·ln max(1, (p_i + 1)/floor)
//
// In place of a rotation: each query weighs a bank of profiles that all heads share. Inkling's temperature multiplies this term as
// it does q: log_n(rule=inkling) does the latter, `scale` and `floor` the former; scale=0, τ = 1, is the only relative one. Acts
// on cross. Parameters: W (H·w, C), P (w, extent), each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/matmul.h"

namespace gnomon {
namespace {

class ContentProfile final : public Encoding, public CrossPart {
 public:
  ContentProfile(const Options& options, const Shape& shape)
      : Encoding(shape),
        width_(options.whole("width")),
        extent_(options.whole("extent")),
        scale_(options.number("scale")),
        floor_(options.number("floor")) {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsInput; }
  std::vector<ParamSpec> params() const override {
    return {{"weight", {channels(), shape_.C}, 0, 1 / std::sqrt(double(shape_.C)), true},
            {"profiles", {width_, extent_}, 0, 0.02, false}};
  }

  double cross(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double delta = s.positions[i] - s.positions[j];
    if (!inside(delta)) return 0;
    double sum = 0;
    for (std::int64_t n = 0; n < width_; ++n) {
      const double* weight = &s.w[(h * width_ + n) * shape_.C];
      double mixed = 0;
      for (std::int64_t c = 0; c < shape_.C; ++c) mixed += weight[c] * s.x[i * shape_.C + c];
      sum += mixed * s.w[profile(n, std::int64_t(delta))];
    }
    return temperature(s.positions[i]) * sum;
  }
  void lower(const Batch& b, Terms& t) const override {
    t.profile_width = width_;
    make_over_distances(t, t.profile, shape_.H, width_);
    each_profile(t, [&](std::int64_t at, std::int64_t of) { t.profile[at] = b.w[of]; });
    t.profile_query.resize(b.content->B * b.content->T * channels());
    Floats rows(t.profile_query.size());
    linear(product_shape(*b.content), b.content->x.data, b.w, nullptr, rows.data());
    each_mixed(b, [&](std::int64_t n, std::int64_t at, float tau) { t.profile_query[n] = tau * rows[at]; });
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    each_profile(g, [&](std::int64_t at, std::int64_t of) { grad.w[of] += g.profile[at]; });
    const Linear s = product_shape(*b.content);
    Floats drows(g.profile_query.size()), dx(std::size_t(s.N * s.x_step));
    each_mixed(b, [&](std::int64_t n, std::int64_t at, float tau) { drows[at] = tau * g.profile_query[n]; });
    linear_backward(s, b.content->x.data, b.w, drows.data(), {dx.data(), grad.w, nullptr});
    for (std::int64_t n = 0; n < s.N; ++n) {
      for (std::int64_t c = 0; c < shape_.C; ++c) grad.content->x.row(n)[c] += dx[n * s.x_step + c];
    }
  }

 private:
  std::int64_t channels() const { return shape_.H * width_; }
  // The rows of all heads are one product. What it makes is dense.
  Linear product_shape(const Content& c) const { return {c.B * c.T, shape_.C, channels(), c.x.step}; }
  bool inside(double delta) const { return delta >= 0 && delta < double(extent_); }
  std::int64_t profile(std::int64_t n, std::int64_t delta) const {
    return channels() * shape_.C + n * extent_ + delta;
  }
  double temperature(double p) const { return 1 + scale_ * std::log(std::max(1.0, (p + 1) / floor_)); }
  // f(index in (H,R,width), parameter)
  template <class Body>
  void each_profile(const Terms& t, const Body& f) const {
    for (std::int64_t row = 0; row < shape_.H * t.distances; ++row) {
      const std::int64_t delta = t.first_distance + row % t.distances;
      for (std::int64_t n = 0; inside(double(delta)) && n < width_; ++n)
        f(row * width_ + n, profile(n, delta));
    }
  }
  // f(index in (B,H,T,width), index in (B·T, H·width), τ)
  template <class Body>
  void each_mixed(const Batch& b, const Body& f) const {
    const std::int64_t T = b.content->T, H = shape_.H, w = width_;
    for (std::int64_t n = 0; n < b.content->B * H * T * w; ++n) {
      const std::int64_t t = n / w % T, h = n / w / T % H, token = n / w / T / H * T + t;
      f(n, (token * H + h) * w + n % w, float(temperature(b.positions[b.positions.rows > 1 ? token : t])));
    }
  }
  const std::int64_t width_, extent_;
  const double scale_, floor_;
};

}  // namespace

extern const Entry content_profile_entry;
const Entry content_profile_entry = entry<ContentProfile>(
    {.name = "content_profile",
     .aliases = {"inkling"},
     .title = "Profiles over the distance, weighted by the content of the query",
     .paper = "https://github.com/huggingface/transformers",
     .formula = "s = q_i*k_j/sqrt(D) + tau_i*(W x_i)*P[i - j], P = 0 for i - j >= extent",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} + \tau_i\, (W x_i) \cdot P_{i-j}, \quad P_{i-j} = 0 \;\text{for}\; i - j \ge \mathrm{extent})",
     .pitfall =
         "the term is not divided by sqrt(D); in Inkling's layers with a window, extent is the window size",
     .year = 2026,
     .relative = true,
     .extrapolates = true,
     .options = {{.name = "width",
                  .help = "number of profiles",
                  .standard = "16",
                  .least = 1,
                  .most = 256,
                  .whole = true},
                 {.name = "extent",
                  .help = "the term is 0 for keys this many tokens away or more",
                  .standard = "1024",
                  .least = 1,
                  .most = 1 << 20,
                  .whole = true},
                 {.name = "scale",
                  .help = "a in the temperature 1 + a*ln max(1, (p+1)/F); 0 = none; above 0 the term depends "
                          "on absolute positions",
                  .standard = "0",
                  .least = 0,
                  .most = 100},
                 {.name = "floor",
                  .help = "F in the temperature, in tokens",
                  .standard = "8192",
                  .least = 1,
                  .most = 1000000000.0}}});

}  // namespace gnomon
