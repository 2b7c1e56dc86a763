// RoPE, rotary position embedding. Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.2.2.
//
//   pair i of q and of k at position p turns by p·θ_i,  θ_i = theta^(−2i/r),  i = 0..r/2−1
//   pairing=adjacent: channels (2i, 2i+1), the paper, GPT-J     pairing=halves: (i, i + r/2), GPT-NeoX,
//   Hugging Face r = fraction·D rotated channels, the first of the head; the others carry no position
//
// The logit then depends on i − j alone. Acts on q and k. No parameters. The backward pass turns by −p·θ_i.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Rope final : public Encoding {
 public:
  Rope(const Options& options, const Shape& shape)
      : Encoding(shape),
        theta_(options.number("theta")),
        rotated_(std::llround(options.number("fraction") * double(shape.D))),
        pairing_(options.word("pairing") == "halves" ? Pairing::halves : Pairing::adjacent) {
    if (rotated_ % 2 || rotated_ == 0) {
      throw Error(Fault::usage,
                  text("rope: fraction ", options.word("fraction"), " of a head of ", shape.D,
                       " channels rotates ", rotated_, "; allowed are even numbers from 2 to ", shape.D));
    }
  }

  std::vector<double> frequencies() const override {
    std::vector<double> w;
    for (std::int64_t i = 0; i < rotated_ / 2; ++i) w.push_back(frequency(i));
    return w;
  }

  // ⟨R_i q, R_j k⟩ = Σ_pairs Re(q k* e^{i(p_i − p_j)θ}), from the difference of the positions.
  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double *q = &s.q[(h * s.T() + i) * shape_.D], *k = &s.k[(h * s.T() + j) * shape_.D];
    double sum = 0;
    for (std::int64_t d = rotated_; d < shape_.D; ++d) sum += q[d] * k[d];
    for (std::int64_t n = 0; n < rotated_ / 2; ++n) {
      const std::int64_t a = pairing_ == Pairing::halves ? n : 2 * n,
                         b = pairing_ == Pairing::halves ? n + rotated_ / 2 : 2 * n + 1;
      const double angle = (s.positions[i] - s.positions[j]) * frequency(n);
      sum += (q[a] * k[a] + q[b] * k[b]) * std::cos(angle) + (q[a] * k[b] - q[b] * k[a]) * std::sin(angle);
    }
    return sum / std::sqrt(double(shape_.D));
  }

  // cos (T, r/2), then sin (T, r/2): angles in double, rounded once.
  Floats tables(Positions positions) const override {
    const std::int64_t T = std::int64_t(positions.size()), n = rotated_ / 2;
    Floats both(2 * T * n);
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t i = 0; i < n; ++i) {
        const double angle = positions[t] * frequency(i);
        both[t * n + i] = float(std::cos(angle));
        both[(T + t) * n + i] = float(std::sin(angle));
      }
    }
    return both;
  }
  void map(const Batch& b, Role, const RowLayout& layout, float* rows) const override {
    turn(b, layout, +1, rows);
  }
  void map_backward(const Batch& b, Role, const RowLayout& layout, float* drows, float*) const override {
    turn(b, layout, -1, drows);
  }

 private:
  double frequency(std::int64_t i) const { return std::pow(theta_, -2.0 * double(i) / double(rotated_)); }
  void turn(const Batch& b, const RowLayout& layout, int sign, float* rows) const {
    const std::int64_t n = rotated_ / 2;
    rotate({pairing_, n, b.tables.data(), b.tables.data() + b.T() * n}, layout, sign, rows);
  }
  const double theta_;
  const std::int64_t rotated_;
  const Pairing pairing_;
};

}  // namespace

extern const Entry rope_entry;
const Entry rope_entry = {
    .name = "rope",
    .title = "Rotary position embedding",
    .paper = "https://arxiv.org/abs/2104.09864",
    .year = 2021,
    .acts = kQk,
    .relative = true,
    .options = {{.name = "theta",
                 .help = "base of the frequencies; the slowest pair turns in about 2*pi*theta tokens",
                 .standard = "10000",
                 .least = 1e-6,
                 .most = 1e15},
                {.name = "fraction",
                 .help = "rotated share of the head, from its first channel",
                 .standard = "1",
                 .least = 0,
                 .most = 1},
                {.name = "pairing",
                 .help = "channels of a pair: (2i, 2i+1) or (i, i + r/2)",
                 .standard = "halves",
                 .words = {"adjacent", "halves"},
                 .must_be_named = true}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Rope>(options, shape);
    }};

}  // namespace gnomon
