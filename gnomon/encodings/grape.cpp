// GRAPE, multiplicative. Zhang et al. 2025, https://arxiv.org/abs/2512.07805, section 3: group representations.
//
//   G(p) = exp(p·L),   L = a·bᵀ − b·aᵀ (rank 2, skew), in each head
//        = I + sin(p·s)/s·L + (1 − cos(p·s))/s²·L²,   s = √(|a|²|b|² − (a·b)²)
//   s[h,i,j] = (G(p_i)q_i)·(G(p_j)k_j)/√D = q_iᵀ G(p_j − p_i) k_j/√D
//
// RoPE is the case of D/2 fixed planes; here the plane and its angular frequency s are learned. Acts on q and k. Parameters:
// a, b (H,D), each layer its own; the start has s near `frequency`.
#include <cmath>

#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/plane.h"

namespace gnomon {
namespace {

class Grape final : public Encoding, public MapPart {
 public:
  Grape(const Options& options, const Shape& shape)
      : Encoding(shape), frequency_(options.number("frequency")) {}
  bool per_layer() const override { return true; }
  bool keeps_keys() const override { return true; }
  std::vector<ParamSpec> params() const override {
    const double deviation = std::sqrt(frequency_ / double(shape_.D));
    return {{"a", {shape_.H, shape_.D}, 0, deviation, false},
            {"b", {shape_.H, shape_.D}, 0, deviation, false}};
  }

  void map_row(const Scene& s, Role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override {
    const std::int64_t D = shape_.D;
    Plane(&s.w[h * D], &s.w[(shape_.H + h) * D], D).turn(s.positions[t], row.data());
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    const std::int64_t n = shape_.H * shape_.D;
    TurnPlane turn{shape_.D, Floats(b.w, b.w + n), Floats(b.w + n, b.w + 2 * n), {}};
    for (std::int64_t t = 0; t < b.tokens(); ++t) turn.places.push_back(b.positions[t]);
    steps.push_back({Role::q | Role::k, std::move(turn), true});
  }
  void map_backward(const Batch&, std::span<const Step>, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    const auto& d = std::get<TurnPlane>(dsteps[0].what);
    for (std::size_t n = 0; n < d.a.size(); ++n) grad.w[n] += d.a[n], grad.w[d.a.size() + n] += d.b[n];
  }

 private:
  const double frequency_;
};

}  // namespace

extern const Entry grape_entry;
const Entry grape_entry = entry<Grape>(
    {.name = "grape",
     .title = "GRAPE, multiplicative: a rotation in a learned plane",
     .paper = "https://arxiv.org/abs/2512.07805",
     .formula = "G(p) = exp(p*(a*b^T - b*a^T)) on q and k",
     .latex = R"(G(p) = \exp\big(p\,(a b^{\top} - b a^{\top})\big) \;\text{on}\; q \;\text{and}\; k)",
     .pitfall = "for small s, compute sin(s)/s and (1 - cos(s))/s^2 by a series",
     .year = 2025,
     .relative = true,
     .options = {{.name = "frequency",
                  .help = "initial frequency, in radians per token",
                  .standard = "0.1",
                  .least = 1e-06,
                  .most = 10}}});

}  // namespace gnomon
