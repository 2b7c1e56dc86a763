// FoPE, Fourier position embedding. Hua et al. 2024, https://arxiv.org/abs/2412.17739, section 4; the authors' code,
// olmo/model.py.
//
//   pair n of head h is multiplied by z = Σ_f C[h,f,n]·e^(i·p·ω_f), as a complex number
//   ω_f = theta^(−2f/r) where it turns at least once in the training window, else 0 (such pairs are under-trained)
//
// C starts as the identity plus noise of the given deviation, and learns. z has no constant size, so the logit depends on
// the positions themselves. Where ω = 0 here cos is 1 and sin is 0, as the paper has it. So does the authors' code with
// fourier_separate_basis and fourier_ignore_zero off. Their configurations turn both on: sines have coefficients of their own, and
// dropped frequencies leave cos = sin = 1. Acts on q and k. Parameters: coefficients C (H, pairs, pairs), each layer its own.
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {
namespace {

class Fope final : public Encoding, public MapPart {
 public:
  Fope(const Options& options, const Shape& shape)
      : Encoding(shape),
        window_(rotary_window("fope", options, shape)),
        deviation_(options.number("deviation")) {
    frequencies_ = geometric_frequencies(options.number("theta"), window_.channels);
    for (double& w : frequencies_) {
      if (w * double(shape.length) < 2 * std::numbers::pi) w = 0;
    }
  }
  std::vector<double> frequencies() const override { return frequencies_; }
  bool per_layer() const override { return true; }
  bool keeps_keys() const override { return true; }
  std::vector<ParamSpec> params() const override {
    const std::int64_t P = window_.pairs();
    std::vector<double> eye(std::size_t(shape_.H * P * P));
    for (std::int64_t n = 0; n < shape_.H * P; ++n) eye[n * P + n % P] = 1;
    return {{"coefficients", {shape_.H, P, P}, 0, deviation_, false, eye}};
  }

  void map_row(const Scene& s, Role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override {
    for (std::int64_t n = 0; n < window_.pairs(); ++n) {
      const Factor z = factor(s.w.data(), s.positions[t], h, n);
      multiply_pair(window_, n, z.re, z.im, row);
    }
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    const std::int64_t P = window_.pairs(), T = b.tokens();
    const Waves waves = waves_at(b.positions);
    Rotate z = window_.empty(shape_.H, T);
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      for (std::int64_t t = 0; t < T; ++t) {
        float *re = &z.cos[z.at(h, t)], *im = &z.sin[z.at(h, t)];
        for (std::int64_t f = 0; f < P; ++f) {
          const float* c = b.w + (h * P + f) * P;
          for (std::int64_t n = 0; n < P; ++n)
            re[n] += c[n] * waves.cos[t * P + f], im[n] += c[n] * waves.sin[t * P + f];
        }
      }
    }
    steps.push_back({Role::q | Role::k, std::move(z), true});
  }
  void map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    const std::int64_t P = window_.pairs();
    const Waves waves = waves_at(b.positions);
    const auto& dz = std::get<Rotate>(dsteps[0].what);
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      std::vector<double> dc(std::size_t(P * P));
      for (std::int64_t t = 0; t < b.tokens(); ++t) {
        const float *re = &dz.cos[dz.at(h, t)], *im = &dz.sin[dz.at(h, t)];
        for (std::int64_t f = 0; f < P; ++f) {
          const double cos = waves.cos[t * P + f], sin = waves.sin[t * P + f];
          for (std::int64_t n = 0; n < P; ++n) dc[f * P + n] += re[n] * cos + im[n] * sin;
        }
      }
      for (std::int64_t n = 0; n < P * P; ++n) grad.w[h * P * P + n] += float(dc[n]);
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
      const Angle angle(p, frequencies_[f]);
      z.re += w[(h * P + f) * P + n] * angle.cos();
      z.im += w[(h * P + f) * P + n] * angle.sin();
    }
    return z;
  }
  struct Waves {
    Floats cos, sin;  // (tokens, pairs): of p·ω
  };
  Waves waves_at(const Positions& p) const {
    const std::int64_t P = window_.pairs(), n = p.size() * P;
    Waves all{Floats(n), Floats(n)};
    for (std::int64_t at = 0; at < n; ++at) {
      const Angle angle(p[at / P], frequencies_[at % P]);
      all.cos[at] = float(angle.cos()), all.sin[at] = float(angle.sin());
    }
    return all;
  }
  const RotaryWindow window_;
  const double deviation_;
  std::vector<double> frequencies_;
};

}  // namespace

extern const Entry fope_entry;
const Entry fope_entry = entry<Fope>(
    {.name = "fope",
     .title = "Fourier position embedding: each pair sums several frequencies",
     .paper = "https://arxiv.org/abs/2412.17739",
     .formula = "pair n is multiplied by sum_f C[h,f,n]*exp(i*p*w_f), slow w_f set to 0",
     .latex =
         R"(\text{pair } n \;\text{is multiplied by}\; \sum_f C_{h,f,n}\, e^{\mathrm{i}\, p\, \omega_f}, \quad \text{slow}\; \omega_f \;\text{set to}\; 0)",
     .pitfall = "the authors' configurations differ from the paper: own coefficients for sines, and cos = "
                "sin = 1 for "
                "dropped frequencies",
     .year = 2024,
     .relative = false,
     .extrapolates = true,
     .options = rotary_options({{.name = "deviation",
                                 .help = "standard deviation of the noise on the initial coefficients",
                                 .standard = "0.1",
                                 .least = 0,
                                 .most = 10}})});

}  // namespace gnomon
