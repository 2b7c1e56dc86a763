// Learnable Fourier features. Li, Si, Li, Hsieh, Bengio 2021, https://arxiv.org/abs/2106.02795, equations 1 to 3.
//
//   r = F^(−1/2)·[cos(x·W_rᵀ) ; sin(x·W_rᵀ)],   W_r (F/2, axes) ~ N(0, γ^(−2))
//   e = gelu(r·W_1ᵀ + b_1)·W_2ᵀ + b_2,          W_1 (hidden, F), W_2 (C, hidden)
//
// x are the coordinates over `scale`: γ sets the length scale in that unit. Acts on the input. Parameters: W_r, W_1, b_1,
// W_2, b_2. gelu is the tanh form, as in the rest of the model; the paper does not say, and others take the exact one.
#include <cmath>
#include <numbers>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double gelu_slope(double x) {
  const double a = std::sqrt(2 / std::numbers::pi), t = std::tanh(a * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * a * (1 + 3 * 0.044715 * x * x);
}

class Fourier final : public Encoding, public InputPart {
 public:
  Fourier(const Options& options, const Shape& shape)
      : Encoding(shape),
        grid_{options.whole("axes"), options.whole("columns")},
        F_(options.whole("features") / 2 * 2),
        hidden_(options.whole("hidden")),
        gamma_(options.number("gamma")),
        scale_(options.number("scale") > 0 ? options.number("scale") : double(shape.length)) {}
  std::int64_t axes() const override { return grid_.axes; }
  std::vector<ParamSpec> params() const override {
    return {{"frequencies", {F_ / 2, grid_.axes}, 0, 1 / gamma_, false},
            {"up.weight", {hidden_, F_}, 0, 1 / std::sqrt(double(F_)), true},
            {"up.bias", {hidden_}, 0, 0, false},
            {"down.weight", {shape_.C, hidden_}, 0, 1 / std::sqrt(double(hidden_)), true},
            {"down.bias", {shape_.C}, 0, 0, false}};
  }

  double input(const Scene& s, std::int64_t t, std::int64_t c) const override {
    const Features f = features(s.positions, t, s.w.data());
    double sum = s.w[bias2() + c];
    for (std::int64_t h = 0; h < hidden_; ++h) sum += s.w[down() + c * hidden_ + h] * gelu(f.up[h]);
    return sum;
  }
  void input(const Batch& b, float* e) const override {
    for (std::int64_t t = 0; t < b.tokens(); ++t) {
      const Features f = features(b.positions, t, b.w);
      for (std::int64_t c = 0; c < shape_.C; ++c) {
        double sum = b.w[bias2() + c];
        for (std::int64_t h = 0; h < hidden_; ++h) sum += b.w[down() + c * hidden_ + h] * f.active[h];
        e[t * shape_.C + c] = float(sum);
      }
    }
  }
  void input_backward(const Batch& b, const float* de, const BatchGrad& grad) const override {
    for (std::int64_t t = 0; t < b.tokens(); ++t) {
      const Features f = features(b.positions, t, b.w);
      std::vector<double> dup(hidden_), dr(F_);
      for (std::int64_t c = 0; c < shape_.C; ++c) {
        const double g = de[t * shape_.C + c];
        grad.w[bias2() + c] += float(g);
        for (std::int64_t h = 0; h < hidden_; ++h) {
          grad.w[down() + c * hidden_ + h] += float(g * f.active[h]);
          dup[h] += g * b.w[down() + c * hidden_ + h];
        }
      }
      for (std::int64_t h = 0; h < hidden_; ++h) {
        const double g = dup[h] * gelu_slope(f.up[h]);
        grad.w[bias1() + h] += float(g);
        for (std::int64_t n = 0; n < F_; ++n) {
          grad.w[up() + h * F_ + n] += float(g * f.r[n]);
          dr[n] += g * b.w[up() + h * F_ + n];
        }
      }
      for (std::int64_t n = 0; n < F_ / 2; ++n) {
        const double dangle = dr[F_ / 2 + n] * f.r[n] - dr[n] * f.r[F_ / 2 + n];
        for (std::int64_t a = 0; a < grid_.axes; ++a)
          grad.w[n * grid_.axes + a] += float(dangle * coordinate(b.positions, t, a, grid_) / scale_);
      }
    }
  }

 private:
  struct Features {
    std::vector<double> r, up, active;
  };
  template <class W>
  Features features(const Positions& p, std::int64_t t, const W* w) const {
    Features f{std::vector<double>(F_), std::vector<double>(hidden_), std::vector<double>(hidden_)};
    const double norm = 1 / std::sqrt(double(F_));
    for (std::int64_t n = 0; n < F_ / 2; ++n) {
      double angle = 0;
      for (std::int64_t a = 0; a < grid_.axes; ++a)
        angle += coordinate(p, t, a, grid_) / scale_ * double(w[n * grid_.axes + a]);
      f.r[n] = norm * std::cos(angle);
      f.r[F_ / 2 + n] = norm * std::sin(angle);
    }
    for (std::int64_t h = 0; h < hidden_; ++h) {
      f.up[h] = double(w[bias1() + h]);
      for (std::int64_t n = 0; n < F_; ++n) f.up[h] += double(w[up() + h * F_ + n]) * f.r[n];
      f.active[h] = gelu(f.up[h]);
    }
    return f;
  }
  std::int64_t up() const { return F_ / 2 * grid_.axes; }
  std::int64_t bias1() const { return up() + hidden_ * F_; }
  std::int64_t down() const { return bias1() + hidden_; }
  std::int64_t bias2() const { return down() + shape_.C * hidden_; }
  const Grid grid_;
  const std::int64_t F_, hidden_;
  const double gamma_, scale_;
};

}  // namespace

extern const Entry fourier_entry;
const Entry fourier_entry = entry<Fourier>(
    {.name = "fourier",
     .aliases = {"learnable_fourier"},
     .title = "Learnable Fourier features of the coordinates, followed by a small network",
     .paper = "https://arxiv.org/abs/2106.02795",
     .formula = "e = MLP(F^(-1/2)*[cos(x*W) ; sin(x*W)]), W learned from N(0, gamma^-2)",
     .latex =
         R"(e = \mathrm{MLP}\left(\frac{1}{\sqrt{F}}\,[\cos(x W)\,;\, \sin(x W)]\right), \quad W \;\text{learned from}\; N(0, \gamma^{-2}))",
     .pitfall = "gamma sets the length scale; without the option scale, neighbouring tokens get almost equal "
                "or unrelated vectors",
     .year = 2021,
     .relative = false,

     .options = {{.name = "axes",
                  .help = "coordinates per token",
                  .standard = "1",
                  .least = 1,
                  .most = 4,
                  .whole = true},
                 columns_option(),
                 {.name = "features",
                  .help = "F: number of Fourier features, even",
                  .standard = "32",
                  .least = 2,
                  .most = 4096,
                  .whole = true},
                 {.name = "hidden",
                  .help = "width of the network",
                  .standard = "32",
                  .least = 1,
                  .most = 4096,
                  .whole = true},
                 {.name = "gamma",
                  .help = "length scale of the initial frequencies, in units of scale",
                  .standard = "0.1",
                  .least = 1e-6,
                  .most = 1e6},
                 {.name = "scale",
                  .help = "tokens per unit of a coordinate; 0 = the training window",
                  .standard = "0",
                  .least = 0,
                  .most = 1e9}}});

}  // namespace gnomon
