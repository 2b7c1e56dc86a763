// A control of a study: sines alone, one frequency for each channel.
//
//   e[p,c] = sin(p·w_c),   w_c = base^(−c/C),   c = 0..C−1
//
// With the other half missing, the vector of p + k is no linear function of that of p (Vaswani et al. 2017, section
// 3.5, needs both). Acts on the input. No parameters.
#include <cmath>

#include "gnomon/encodings/sines.h"

namespace gnomon {
namespace {

class Sine final : public OneWave {
 public:
  Sine(const Options& options, const Shape& shape)
      : OneWave(options, shape, [](const Angle& x) { return x.sin(); }) {}
};

}  // namespace

extern const Entry sine_entry;
const Entry sine_entry = entry<Sine>(
    {.name = "sine",
     .title = "Control: sines only, one frequency per channel",
     .paper = "https://arxiv.org/abs/1706.03762",
     .formula = "e[p,c] = sin(p*w_c), w_c = base^(-c/C)",
     .latex = R"(e_{p,c} = \sin(p\,\omega_c), \quad \omega_c = \mathrm{base}^{-c/C})",
     .pitfall = "the vector at position 0 is all zeros; with sines only, no linear map shifts the position",
     .year = 2017,
     .relative = false,

     .options = OneWave::options()});

}  // namespace gnomon
