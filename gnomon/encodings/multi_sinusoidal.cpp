// Sinusoids on several axes. tatp22/multidim-positional-encoding, torch_encodings.py, PositionalEncoding1D/2D/3D
// (there for 1 to 3 axes); per axis the formula of Vaswani et al. 2017.
//
//   ch = 2·⌈C/(2k)⌉ channels for each of k axes;  axis a fills channels a·ch..(a+1)·ch−1, interleaved, with
//   w_i = base^(−2i/ch);  what is beyond C is cut off
//
// Tokens with one coordinate stand row by row on a grid of `columns` columns. Acts on the input. No parameters.
#include <cmath>

#include "gnomon/encodings/sines.h"

namespace gnomon {
namespace {

class MultiSinusoidal final : public FixedInput {
 public:
  MultiSinusoidal(const Options& options, const Shape& shape)
      : FixedInput(shape),
        grid_{options.whole("axes"), options.whole("columns")},
        width_((shape.C + 2 * grid_.axes - 1) / (2 * grid_.axes) * 2) {
    for (double i = 0; i < double(width_ / 2); ++i)
      sines_.frequencies.push_back(std::pow(options.number("base"), -2 * i / double(width_)));
  }
  std::vector<double> frequencies() const override { return sines_.frequencies; }
  std::int64_t axes() const override { return grid_.axes; }

 protected:
  double at(const Positions& p, std::int64_t t, std::int64_t c) const override {
    return sines_.at(coordinate(p, t, c / width_, grid_), c % width_);
  }

 private:
  const Grid grid_;
  const std::int64_t width_;
  Sines sines_{false, false, {}};
};

}  // namespace

extern const Entry multi_sinusoidal_entry;
const Entry multi_sinusoidal_entry = entry<MultiSinusoidal>(
    {.name = "multi_sinusoidal",
     .aliases = {"sinusoidal_2d", "2d"},
     .title = "Sinusoids on one to four axes",
     .paper = "https://github.com/tatp22/multidim-positional-encoding",
     .formula = "axis a: channels a*ch.., ch = 2*ceil(C/2k), interleaved sinusoid of its coordinate",
     .latex =
         R"(e = [\mathrm{PE}(x_1)\,;\, \dots \,;\, \mathrm{PE}(x_k)], \quad 2 \left\lceil \frac{C}{2k} \right\rceil \;\text{channels for each axis})",
     .pitfall = "if 2k does not divide the width, the last axis loses its slow channels",
     .year = 2020,
     .relative = false,

     .options = {{.name = "axes",
                  .help = "coordinates per token",
                  .standard = "2",
                  .least = 1,
                  .most = 4,
                  .whole = true},
                 columns_option(),
                 {.name = "base",
                  .help = "ratio of the longest to the shortest wavelength",
                  .standard = "10000",
                  .least = 1,
                  .most = 1e12}}});

}  // namespace gnomon
