// Axial RoPE on two axes. Heo et al. 2024, https://arxiv.org/abs/2403.13298, section 3.1 (RoPE-Axial).
//
//   the first r/4 pairs turn by y, the others by x:  θ_i = theta^(−4i/r), i = 0..r/4−1, again for each axis (index=reset)
//   or θ_n = theta^(−2n/r) counted on over both (index=continued), or dealt out in turn, even n to y, odd n to x
//   (index=alternating: Pixtral; Hugging Face transformers, modeling_pixtral.py, compute_axial_rope_parameters)
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
      : Rotary(shape, rotary_window("rope_axial", options, shape)),
        theta_(options.number("theta")),
        index_(options.word("index")),
        grid_{2, options.whole("columns")} {
    if (window().channels % 4) {
      throw Error(Fault::usage, text("rope_axial: a window of ", window().channels,
                                     " channels has no two equal sets of pairs; allowed are multiples of 4"));
    }
  }
  std::int64_t axes() const override { return 2; }
  std::vector<double> frequencies() const override {
    auto w = geometric_frequencies(theta_, window().channels);
    const std::size_t half = w.size() / 2;
    if (index_ == "continued") return w;
    const auto both = w;  // every second one of theta^(−2n/D) is theta^(−4i/D)
    for (std::size_t i = 0; i < half; ++i)
      w[i] = both[2 * i], w[half + i] = both[2 * i + (index_ == "alternating" ? 1 : 0)];
    return w;
  }

 protected:
  double turn(const Positions& p, std::int64_t t, std::int64_t pair) const override {
    return coordinate(p, t, pair < window().channels / 4 ? 0 : 1, grid_);
  }

 private:
  const double theta_;
  const std::string index_;
  const Grid grid_;
};

}  // namespace

extern const Entry rope_axial_entry;
const Entry rope_axial_entry = entry<RopeAxial>(
    {.name = "rope_axial",
     .title = "Axial RoPE: half of the pairs for each of two axes",
     .paper = "https://arxiv.org/abs/2403.13298",
     .formula = "pairs 0..r/4-1 turn by y, the others by x, theta_i = theta^(-4i/r)",
     .pitfall = "whether the frequency index begins again for the second axis differs between libraries",
     .year = 2024,
     .relative = true,
     .options = rotary_options({{.name = "index",
                                 .help = "of the frequencies on the second axis",
                                 .standard = "reset",
                                 .words = {"reset", "continued", "alternating"},
                                 .must_be_named = true},
                                columns_option()})});

}  // namespace gnomon
