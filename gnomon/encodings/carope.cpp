// CARoPE: context-aware rotary embedding. Veisi, Delfan 2025, https://arxiv.org/abs/2507.23083, section 2.
//
//   pair n of head h turns by Σ_{l≤t} f_h(x_l)^n,   f_h(x) = 1/(softplus(w_h·x) + 1),   n = 0..r/2−1
//
// A constant f = theta^(−2/r) would be RoPE. Pair 0 turns by 1 radian a token, whatever the content. x is what the layer projects q
// and k from. Acts on q and k. Parameters: w (H,C), each layer its own.
#include <cmath>

#include "gnomon/encodings/content_rotary.h"
#include "gnomon/encodings/gates.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class Carope final : public ContentRotary {
 public:
  Carope(const Options& options, const Shape& shape)
      : ContentRotary(shape, rotary_window("carope", options, shape)) {}
  std::vector<ParamSpec> params() const override { return {{"weight", {shape_.H, shape_.C}, 0, 0.02, true}}; }

 protected:
  std::vector<double> angles(const Scene& s, std::int64_t h, std::int64_t t) const override {
    std::vector<double> phi;
    phi.resize(std::size_t(pairs()));
    for (std::int64_t l = 0; l <= t; ++l) {
      double z = 0;
      for (std::int64_t c = 0; c < shape_.C; ++c) z += s.w[h * shape_.C + c] * s.x[l * shape_.C + c];
      for (std::int64_t n = 0; n < pairs(); ++n) phi[std::size_t(n)] += std::pow(frequency(z), double(n));
    }
    return phi;
  }

  std::vector<double> angles(const Batch& b) const override {
    const Floats z = projected(b);
    std::vector<double> phi;
    for (const float x : z) {
      double power = 1;
      for (std::int64_t n = 0; n < pairs(); ++n, power *= frequency(double(x))) phi.push_back(power);
    }
    accumulate({b.content->B, b.content->T, turning()}, phi);
    return phi;
  }
  // df/dz = −f²·σ(z)
  void angles_backward(const Batch& b, const std::vector<double>& dphi,
                       const BatchGrad& grad) const override {
    const Linear shape = product(b);
    const Floats z = projected(b);
    std::vector<double> d = dphi;
    accumulate_backward({b.content->B, b.content->T, turning()}, d);
    Floats dz(z.size()), dx(std::size_t(shape.N * shape.x_step));
    for (std::size_t row = 0; row < z.size(); ++row) {
      const double f = frequency(double(z[row]));
      double df = 0, power = 1;
      for (std::int64_t n = 1; n < pairs(); ++n, power *= f)
        df += double(n) * power * d[row * std::size_t(pairs()) + std::size_t(n)];
      dz[row] = float(-df * f * f * sigmoid(double(z[row])));
    }
    linear_backward(shape, b.content->x.data, b.w, dz.data(), {dx.data(), grad.w, nullptr});
    add_to_input(shape, dx, grad);
  }

 private:
  static double frequency(double z) { return 1 / (softplus(z) + 1); }
  Linear product(const Batch& b) const {
    return {b.content->B * b.content->T, shape_.C, shape_.H, b.content->x.step};
  }
  Floats projected(const Batch& b) const {
    Floats z(std::size_t(product(b).N * shape_.H));
    linear(product(b), b.content->x.data, b.w, nullptr, z.data());
    return z;
  }
};

}  // namespace

extern const Entry carope_entry;
const Entry carope_entry = entry<Carope>(
    {.name = "carope",
     .aliases = {"context_aware_rope"},
     .title = "CARoPE: each head's frequencies follow from the tokens, and their angles add up",
     .paper = "https://arxiv.org/abs/2507.23083",
     .formula = "pair n turns by sum_{l<=t} f(x_l)^n; f = 1/(softplus(w x) + 1)",
     .latex =
         R"(\text{pair } n \;\text{turns by}\; \sum_{l \le t} f(x_l)^n, \quad f = \frac{1}{\mathrm{softplus}(w \cdot x) + 1})",
     .pitfall = "w = 0 gives f = 0.59 and not RoPE's frequencies; the angle is a sum over tokens, not a "
                "product with the position",
     .year = 2025,
     .relative = true,
     .options = [] {
       auto all = rotary_options();
       all.erase(all.begin());  // no theta
       return all;
     }()});

}  // namespace gnomon
