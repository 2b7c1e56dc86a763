// CAPE: continuous augmented positional embeddings. Likhomanenko et al. 2021, https://arxiv.org/abs/2106.03143, section 3.
//
//   p becomes λ·(p − p̄ + Δ + ε_p):  Δ uniform within ±shift, ε_p within ±jitter for each token, ln λ within ±ln(scale)
//   p̄ is the mean of the positions; in evaluation only p̄ is taken off
//
// Fractional positions: for sinusoids and rotations; an encoding with values for whole distances refuses them. Acts on the
// positions. No parameters.
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Cape final : public Encoding, public PlacePart {
 public:
  Cape(const Options& options, const Shape& shape)
      : Encoding(shape),
        shift_(options.number("shift")),
        jitter_(options.number("jitter")),
        scale_(options.number("scale")) {}
  void place(const Random& random, std::uint64_t draw, bool training, std::span<double> row) const override {
    double mean = 0;
    for (const double p : row) mean += p / double(row.size());
    const std::uint64_t at = draw * (row.size() + 2);
    const auto within = [&](std::uint64_t n, double most) { return most * (2 * random.uniform(at + n) - 1); };
    const double shift = training ? within(0, shift_) : 0;
    const double scale = training ? std::exp(within(1, std::log(scale_))) : 1;
    for (std::size_t t = 0; t < row.size(); ++t)
      row[t] = scale * (row[t] - mean + shift + (training ? within(2 + t, jitter_) : 0));
  }

 private:
  const double shift_, jitter_, scale_;
};

}  // namespace

extern const Entry cape_entry;
const Entry cape_entry = entry<Cape>(
    {.name = "cape",
     .aliases = {"augmented"},
     .title = "CAPE: positions shifted, jittered and scaled in training",
     .paper = "https://arxiv.org/abs/2106.03143",
     .formula = "lambda*(p - mean + shift + jitter_p)",
     .latex = R"(\lambda\,(p - \bar{p} + \mathrm{shift} + \mathrm{jitter}_p))",
     .pitfall = "in evaluation only the mean is subtracted; kernels that need whole positions cannot use it",
     .year = 2021,
     .relative = false,
     .extrapolates = true,
     .options = {{.name = "shift",
                  .help = "largest shift of the whole sequence, in tokens",
                  .standard = "16",
                  .least = 0,
                  .most = 1000000000.0},
                 {.name = "jitter",
                  .help = "largest shift of a single token, in tokens",
                  .standard = "0.5",
                  .least = 0,
                  .most = 1000000000.0},
                 {.name = "scale",
                  .help = "largest factor on all positions",
                  .standard = "1.05",
                  .least = 1,
                  .most = 1000.0}}});

}  // namespace gnomon
