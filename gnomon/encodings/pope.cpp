// PoPE, polar position embedding. Gopalakrishnan et al. 2025, https://arxiv.org/abs/2509.10534, equations 4 to 6;
// x-transformers, x_transformers.py, PolarEmbedding.
//
//   s[h,i,j] = Σ_d μ(q_d)·μ(k_d)·cos((p_j − p_i)·θ_d + δ[h,d])/√D,   μ = softplus, θ_d = theta^(−d/D), d = 0..D−1
//   δ within −2π..0, where it is clamped
//
// What (the size) and where (the angle) are apart: D frequencies, not D/2. q and k become 2D wide in the product; values
// stay. Acts on q and k. Parameters: δ (H,D), each layer its own; 0 at the start, or uniform (start=uniform).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/encodings/gates.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {
namespace {

class Pope final : public Encoding, public MapPart {
 public:
  Pope(const Options& options, const Shape& shape)
      : Encoding(shape), uniform_(options.word("start") == "uniform") {
    for (std::int64_t d = 0; d < shape.D; ++d)
      frequencies_.push_back(std::pow(options.number("theta"), -double(d) / double(shape.D)));
  }
  std::vector<double> frequencies() const override { return frequencies_; }
  bool per_layer() const override { return true; }
  bool keeps_keys() const override { return true; }
  std::vector<ParamSpec> params() const override {
    std::vector<double> start;
    const Random random(1, "pope phases");
    for (std::int64_t n = 0; uniform_ && n < shape_.H * shape_.D; ++n)
      start.push_back(-2 * std::numbers::pi * random.uniform(std::uint64_t(n)));
    return {{"phase", {shape_.H, shape_.D}, 0, 0, false, start}};
  }
  Widths widths() const override { return {shape_.D, 0}; }

  void map_row(const Scene& s, Role role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override {
    for (std::int64_t d = 0; d < shape_.D; ++d) {
      Angle angle(s.positions[t], frequencies_[d]);
      if (role == Role::k) angle.add(clamped(s.w[h * shape_.D + d]), 1);
      const double size = softplus(row[std::size_t(d)]);
      row[std::size_t(d)] = size * angle.cos();
      row.push_back(size * angle.sin());
    }
  }
  // The size of a channel, turned by the position; of a key, by its phase too.
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override {
    const std::int64_t D = shape_.D, T = b.tokens();
    steps.push_back({Role::q | Role::k, Softplus{D}});
    Rotate turn{0, D, 1, own.joined, 1, T, Floats(T * D), Floats(T * D)};
    for (std::int64_t n = 0; n < T * D; ++n) {
      const Angle angle(b.positions[n / D], frequencies_[n % D]);
      turn.cos[n] = float(angle.cos()), turn.sin[n] = float(angle.sin());
    }
    steps.push_back({Role::q | Role::k, std::move(turn)});
    Rotate phase{0, D, 1, own.joined, shape_.H, 1, Floats(shape_.H * D), Floats(shape_.H * D)};
    for (std::int64_t n = 0; n < shape_.H * D; ++n) {
      const double angle = clamped(b.w[n]);
      phase.cos[n] = float(std::cos(angle)), phase.sin[n] = float(std::sin(angle));
      phase.angles.push_back(angle);
    }
    steps.push_back({unsigned(Role::k), std::move(phase), true});
  }
  void map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    const auto& dphase = std::get<Rotate>(dsteps[2].what);
    for (std::int64_t n = 0; n < shape_.H * shape_.D; ++n) {
      const float inside = float(clamped(b.w[n]));
      if (!(b.w[n] < inside || b.w[n] > inside)) grad.w[n] += dphase.cos[n];
    }
  }

 private:
  static double clamped(double w) { return std::clamp(w, -2 * std::numbers::pi, 0.0); }
  const bool uniform_;
  std::vector<double> frequencies_;
};

}  // namespace

extern const Entry pope_entry;
const Entry pope_entry = entry<Pope>(
    {.name = "pope",
     .aliases = {"polar"},
     .title = "Polar position embedding: magnitude from the content, angle from the position",
     .paper = "https://arxiv.org/abs/2509.10534",
     .formula = "s = sum_d softplus(q_d)*softplus(k_d)*cos((p_j - p_i)*theta_d + delta_hd)/sqrt(D)",
     .latex =
         R"(s_{ij} = \frac{1}{\sqrt{D}} \sum_d \mathrm{softplus}(q_d)\, \mathrm{softplus}(k_d)\, \cos\big((p_j - p_i)\,\theta_d + \delta_{h,d}\big))",
     .pitfall =
         "the product uses q and k twice as wide as the head; there are D frequencies, with exponent -d/D",
     .year = 2025,
     .relative = true,
     .extrapolates = true,
     .options = {
         {.name = "theta",
          .help = "base of the frequencies",
          .standard = "10000",
          .least = 1e-06,
          .most = 1000000000000000.0},
         {.name = "start", .help = "initial phases", .standard = "zero", .words = {"zero", "uniform"}}}});

}  // namespace gnomon
