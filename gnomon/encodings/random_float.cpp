// Random float sampling. Shimizu, Taniguchi, Matsuo 2026, https://arxiv.org/abs/2602.14050, algorithm 1.
//
//   in training, positions 0..T−1 become T numbers drawn uniformly from [0, 1), in order; anew for each sequence
//   in evaluation, token t stands at (2t + 1)/(2·max(T, L)), L = length;   all times `scale`
//
// So no length leads beyond what training has seen. Numbers below 1 turn RoPE by less than a radian: the paper does not say by what
// they are multiplied. Acts on the positions. No parameters.
#include <algorithm>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class RandomFloat final : public Encoding, public PlacePart {
 public:
  RandomFloat(const Options& options, const Shape& shape)
      : Encoding(shape),
        length_(options.whole("length") ? options.whole("length") : shape.length),
        scale_(options.number("scale")) {}

  void place(const Random& random, std::uint64_t draw, bool training, std::span<double> row) const override {
    const double longer = double(std::max(std::int64_t(row.size()), length_));
    for (std::size_t t = 0; t < row.size(); ++t)
      row[t] = training ? random.uniform(draw * (1 << 24) + t) : double(2 * t + 1) / (2 * longer);
    std::sort(row.begin(), row.end());
    for (double& p : row) p *= scale_;
  }

 private:
  const std::int64_t length_;
  const double scale_;
};

}  // namespace

extern const Entry random_float_entry;
const Entry random_float_entry = entry<RandomFloat>(
    {.name = "random_float",
     .aliases = {"rfs", "random_float_sampling"},
     .title = "Random float sampling: sorted real positions, drawn from one range at every length",
     .paper = "https://arxiv.org/abs/2602.14050",
     .formula = "p = a sorted draw of T numbers from [0, 1), in training; (2t+1)/(2 max(T, L)) in evaluation",
     .latex =
         R"(p = \;\text{a sorted draw of}\; T \;\text{from}\; [0, 1), \quad \text{in evaluation}\; \frac{2t + 1}{2 \max(T, L)})",
     .pitfall = "in evaluation all positions change when the text grows beyond L, so keys cannot be kept",
     .year = 2026,
     .relative = false,
     .extrapolates = true,
     .options = {
         {.name = "length",
          .help = "L in tokens; 0 = the training window",
          .standard = "0",
          .least = 0,
          .most = 1 << 24,
          .whole = true},
         {.name = "scale", .help = "factor of all positions", .standard = "1", .least = 1e-6, .most = 1e9}}});

}  // namespace gnomon
