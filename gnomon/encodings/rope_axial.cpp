// Axial RoPE on two axes. Heo et al. 2024, https://arxiv.org/abs/2403.13298, section 3.1 (RoPE-Axial).
//
//   the first D/4 pairs turn by y, the others by x:  θ_i = theta^(−4i/D), i = 0..D/4−1, again for each axis (index=reset)
//   or θ_n = theta^(−2n/D) counted on over both (index=continued)
//
// Tokens with one coordinate stand row by row on a grid of `columns` columns. Acts on q and k. No parameters.
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class RopeAxial final : public Rotary {
 public:
  RopeAxial(const Options& options, const Shape& shape)
      : Rotary(shape, whole_head("rope_axial", options, shape)),
        theta_(options.number("theta")),
        reset_(options.word("index") == "reset"),
        grid_{2, options.whole("columns")} {
    if (shape.D % 4) {
      throw Error(Fault::usage, text("rope_axial: a head of ", shape.D,
                                     " channels has no two equal sets of pairs; allowed are multiples of 4"));
    }
  }
  std::int64_t axes() const override { return 2; }
  std::vector<double> frequencies() const override {
    if (!reset_) return geometric_frequencies(theta_, shape_.D);
    auto w = geometric_frequencies(theta_, shape_.D / 2);
    const auto again = w;
    w.insert(w.end(), again.begin(), again.end());
    return w;
  }

 protected:
  double turn(const Positions& p, std::int64_t t, std::int64_t pair) const override {
    return coordinate(p, t, pair < shape_.D / 4 ? 0 : 1, grid_);
  }

 private:
  const double theta_;
  const bool reset_;
  const Grid grid_;
};

}  // namespace

extern const Entry rope_axial_entry;
const Entry rope_axial_entry = {
    .name = "rope_axial",
    .title = "Axial RoPE: half of the pairs for each of two axes",
    .paper = "https://arxiv.org/abs/2403.13298",
    .formula = "pairs 0..D/4-1 turn by y, the others by x, theta_i = theta^(-4i/D)",
    .pitfall = "whether the frequency index begins again for the second axis differs between libraries",
    .year = 2024,
    .acts = kQk,
    .relative = true,
    .options = rotary_options({{.name = "index",
                                .help = "of the frequencies on the second axis",
                                .standard = "reset",
                                .words = {"reset", "continued"},
                                .must_be_named = true},
                               columns_option()}),
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<RopeAxial>(options, shape);
    }};

}  // namespace gnomon
