// Sinusoidal encoding. Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5; tensor2tensor,
// layers/common_attention.py, get_timing_signal_1d.
//
//   pair i = 0..n−1 of a vector of C channels, n = ⌊C/2⌋:  A·sin(p·w_i), A·cos(p·w_i)
//   frequencies=paper:          w_i = base^(−2i/C)         wavelengths 2π .. 2π·base^((C−2)/C)
//   frequencies=tensor2tensor:  w_i = base^(−i/(n−1))      wavelengths 2π .. 2π·base; w_0 = 1 for n = 1
//   layout=interleaved: channels 2i, 2i+1        layout=halves: channels i, n+i
//   layout=cosines_first: channels n+i, i, as in MusicGen (Hugging Face transformers, modeling_musicgen.py)
//   An odd last channel is 0, as tensor2tensor has it.
//
// Three conventions are in the wild: the paper's (interleaved, paper), tensor2tensor's (halves,
// tensor2tensor), and the mixture (halves, paper) of x-transformers; the last two differ in their
// frequencies, not only in their order.
// Acts on the input. No parameters.
#include "gnomon/encodings/sines.h"

namespace gnomon {
namespace {

class Sinusoidal final : public FixedInput {
 public:
  Sinusoidal(const Options& options, const Shape& shape)
      : FixedInput(shape), sines_(make_sines(options, shape.C)), amplitude_(options.number("amplitude")) {}
  std::vector<double> frequencies() const override { return sines_.frequencies; }

 protected:
  double at(const Positions& p, std::int64_t t, std::int64_t c) const override {
    return amplitude_ * sines_.at(p[t], c);
  }

 private:
  const Sines sines_;
  const double amplitude_;
};

}  // namespace

extern const Entry sinusoidal_entry;
const Entry sinusoidal_entry = entry<Sinusoidal>(
    {.name = "sinusoidal",
     .aliases = {"absolute", "ape", "sin", "sinusoid", "vaswani"},
     .title = "Fixed sines and cosines with geometrically spaced frequencies",
     .paper = "https://arxiv.org/abs/1706.03762",
     .formula = "e[p,2i] = sin(p*w_i), e[p,2i+1] = cos(p*w_i), w_i = base^(-2i/C)",
     .latex =
         R"(e_{p,2i} = \sin(p\,\omega_i), \quad e_{p,2i+1} = \cos(p\,\omega_i), \quad \omega_i = \mathrm{base}^{-2i/C})",
     .pitfall = "three combinations of layout and frequency rule are in use; tensor2tensor's halves are not "
                "a permutation of the paper's channels",
     .year = 2017,
     .relative = false,

     .options = sine_options({{.name = "amplitude",
                               .help = "factor on every channel",
                               .standard = "1",
                               .least = 0,
                               .most = 1e6}})});

}  // namespace gnomon
