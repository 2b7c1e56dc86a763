// FoPE, Fourier position embedding. Hua et al. 2024, https://arxiv.org/abs/2412.17739, section 4; the authors' code,
// olmo/model.py.
//
//   pair n of head h is multiplied by z = Σ_f C[h,f,n]·e^(i·p·ω_f), as a complex number
//   ω_f = theta^(−2f/D) where it turns at least once in the training window, else 0 (such pairs are under-trained)
//
// C starts as the identity plus noise of the given deviation, and learns. z has no constant size, so the logit depends on
// the positions themselves. Where ω = 0 here cos is 1 and sin is 0, as the paper has it. Acts on q and k. Parameters:
// coefficients C (H, D/2, D/2), each layer its own.
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

class Fope final : public Encoding {
 public:
  Fope(const Options& options, const Shape& shape)
      : Encoding(shape),
        window_(whole_head("fope", options, shape)),
        deviation_(options.number("deviation")) {
    frequencies_ = geometric_frequencies(options.number("theta"), shape.D);
    for (double& w : frequencies_) {
      if (w * double(shape.length) < 2 * std::numbers::pi) w = 0;
    }
  }
  std::vector<double> frequencies() const override { return frequencies_; }
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override {
    const std::int64_t P = window_.pairs();
    std::vector<double> eye(std::size_t(shape_.H * P * P));
    for (std::int64_t n = 0; n < shape_.H * P; ++n) eye[n * P + n % P] = 1;
    return {{"coefficients", {shape_.H, P, P}, 0, deviation_, false, eye}};
  }
  Widths widths() const override { return {.beside = shape_.D}; }  // x itself, for the gradient of C

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double *q = &s.q[(h * s.T() + i) * shape_.D], *k = &s.k[(h * s.T() + j) * shape_.D];
    double sum = 0;
    for (std::int64_t n = 0; n < window_.pairs(); ++n) {
      const std::int64_t lo = window_.low(n), hi = window_.high(n);
      const Factor a = factor(s.w.data(), s.positions[i], h, n), b = factor(s.w.data(), s.positions[j], h, n);
      sum += (a.re * q[lo] - a.im * q[hi]) * (b.re * k[lo] - b.im * k[hi]) +
             (a.re * q[hi] + a.im * q[lo]) * (b.re * k[hi] + b.im * k[lo]);
    }
    return sum / std::sqrt(double(shape_.D));
  }
  // cos (tokens, D/2) of the frequencies, then sin.
  Floats tables(const Positions& p) const override {
    const std::int64_t P = window_.pairs(), n = p.size() * P;
    Floats all(2 * n);
    for (std::int64_t at = 0; at < n; ++at) {
      const double angle = p[at / P] * frequencies_[at % P];
      all[at] = float(std::cos(angle)), all[n + at] = float(std::sin(angle));
    }
    return all;
  }
  void map(const Batch& b, Role role, const MapRows& rows, float* x) const override {
    if (role != Role::q && role != Role::k) return;
    const Floats z = factors(b);
    const std::int64_t P = window_.pairs(), size = b.tokens() * shape_.H * P;
    each_row(rows.layout, b.positions, [&](std::int64_t t, std::int64_t h, std::int64_t place) {
      float* row = x + place;
      std::copy_n(row, shape_.D, row + rows.beside);
      for (std::int64_t n = 0; n < P; ++n) {
        const float re = z[(t * shape_.H + h) * P + n], im = z[size + (t * shape_.H + h) * P + n];
        const float a = row[window_.low(n)], c = row[window_.high(n)];
        row[window_.low(n)] = re * a - im * c, row[window_.high(n)] = re * c + im * a;
      }
    });
  }
  void map_backward(const Batch& b, Role role, const MapRows& rows, const float* y, float* dy,
                    const BatchGrad& grad) const override {
    if (role != Role::q && role != Role::k) return;
    const Floats z = factors(b);
    const std::int64_t P = window_.pairs(), H = shape_.H, size = b.tokens() * H * P;
    std::vector<double> dz(std::size_t(2 * size));
    each_row(rows.layout, b.positions, [&](std::int64_t t, std::int64_t h, std::int64_t place) {
      const float* x = y + place + rows.beside;
      float* row = dy + place;
      for (std::int64_t n = 0; n < P; ++n) {
        const std::int64_t lo = window_.low(n), hi = window_.high(n), at = (t * H + h) * P + n;
        dz[at] += double(x[lo]) * row[lo] + double(x[hi]) * row[hi];
        dz[size + at] += double(x[lo]) * row[hi] - double(x[hi]) * row[lo];
        const float a = row[lo], c = row[hi];
        row[lo] = z[at] * a + z[size + at] * c, row[hi] = z[at] * c - z[size + at] * a;
      }
    });
    const float *cos = b.tables.data(), *sin = cos + b.tokens() * P;
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t f = 0; f < P; ++f) {
        for (std::int64_t n = 0; n < P; ++n) {
          double sum = 0;
          for (std::int64_t t = 0; t < b.tokens(); ++t) {
            const std::int64_t at = (t * H + h) * P + n;
            sum += dz[at] * cos[t * P + f] + dz[size + at] * sin[t * P + f];
          }
          grad.w[(h * P + f) * P + n] += float(sum);
        }
      }
    }
  }

 private:
  struct Factor {
    double re, im;
  };
  Factor factor(const double* w, double p, std::int64_t h, std::int64_t n) const {
    const std::int64_t P = window_.pairs();
    Factor z{0, 0};
    for (std::int64_t f = 0; f < P; ++f) {
      z.re += w[(h * P + f) * P + n] * std::cos(p * frequencies_[f]);
      z.im += w[(h * P + f) * P + n] * std::sin(p * frequencies_[f]);
    }
    return z;
  }
  // re (tokens,H,D/2), then im.
  Floats factors(const Batch& b) const {
    const std::int64_t P = window_.pairs(), size = b.tokens() * shape_.H * P;
    const float *cos = b.tables.data(), *sin = cos + b.tokens() * P;
    Floats z(2 * size);
    for (std::int64_t t = 0; t < b.tokens(); ++t) {
      for (std::int64_t h = 0; h < shape_.H; ++h) {
        float *re = &z[(t * shape_.H + h) * P], *im = re + size;
        for (std::int64_t f = 0; f < P; ++f) {
          const float* c = b.w + (h * P + f) * P;
          for (std::int64_t n = 0; n < P; ++n) re[n] += c[n] * cos[t * P + f], im[n] += c[n] * sin[t * P + f];
        }
      }
    }
    return z;
  }
  const RotaryWindow window_;
  const double deviation_;
  std::vector<double> frequencies_;
};

}  // namespace

extern const Entry fope_entry;
const Entry fope_entry = {
    .name = "fope",
    .title = "Fourier position embedding: each pair sums several frequencies",
    .paper = "https://arxiv.org/abs/2412.17739",
    .formula = "pair n is multiplied by sum_f C[h,f,n]*exp(i*p*w_f), slow w_f set to 0",
    .pitfall = "a dropped frequency is cos 1 and sin 0; padding sin with 1 doubles those products",
    .year = 2024,
    .acts = kQk,
    .relative = false,
    .extrapolates = true,
    .options = rotary_options({{.name = "deviation",
                                .help = "of the noise on the coefficients",
                                .standard = "0.1",
                                .least = 0,
                                .most = 10}}),
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Fope>(options, shape);
    }};

}  // namespace gnomon
