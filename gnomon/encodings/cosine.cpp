// A control of a study: cosines alone, one frequency for each channel.
//
//   e[p,c] = cos(p·w_c),   w_c = base^(−c/C),   c = 0..C−1
//
// With the other half missing, the vector of p + k is no linear function of that of p (Vaswani et al. 2017, section
// 3.5, needs both). Acts on the input. No parameters.
#include <cmath>

#include "gnomon/encodings/sines.h"

namespace gnomon {
namespace {

class Cosine final : public OneWave {
 public:
  Cosine(const Options& options, const Shape& shape)
      : OneWave(options, shape, [](const Angle& x) { return x.cos(); }) {}
};

}  // namespace

extern const Entry cosine_entry;
const Entry cosine_entry =
    entry<Cosine>({.name = "cosine",
                   .title = "Control: cosines only, one frequency per channel",
                   .paper = "https://arxiv.org/abs/1706.03762",
                   .formula = "e[p,c] = cos(p*w_c), w_c = base^(-c/C)",
                   .latex = R"(e_{p,c} = \cos(p\,\omega_c), \quad \omega_c = \mathrm{base}^{-c/C})",
                   .pitfall = "the cosine is even: positions p and -p have the same vector",
                   .year = 2017,
                   .relative = false,

                   .options = OneWave::options()});

}  // namespace gnomon
