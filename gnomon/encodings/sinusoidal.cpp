// Sinusoidal encoding. Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5; tensor2tensor,
// layers/common_attention.py, get_timing_signal_1d.
//
//   pair i = 0..n−1 of a vector of C channels, n = ⌊C/2⌋:  A·sin(p·w_i), A·cos(p·w_i)
//   frequencies=paper:          w_i = base^(−2i/C)         wavelengths 2π .. 2π·base^((C−2)/C)
//   frequencies=tensor2tensor:  w_i = base^(−i/(n−1))      wavelengths 2π .. 2π·base; w_0 = 1 for n = 1
//   layout=interleaved: channels 2i, 2i+1        layout=halves: channels i, n+i
//   An odd last channel is 0, as tensor2tensor has it.
//
// Three conventions are in the wild: the paper's (interleaved, paper), tensor2tensor's (halves,
// tensor2tensor), and the mixture (halves, paper) of x-transformers; the last two differ in their
// frequencies, not only in their order.
// Acts on the input. No parameters.
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Sinusoidal final : public Encoding {
 public:
  Sinusoidal(const Options& options, const Shape& shape)
      : Encoding(shape),
        halves_(options.word("layout") == "halves"),
        tensor2tensor_(options.word("frequencies") == "tensor2tensor"),
        base_(options.number("base")),
        amplitude_(options.number("amplitude")) {}

  std::vector<double> frequencies() const override {
    std::vector<double> w;
    for (std::int64_t i = 0; i < pairs(); ++i) w.push_back(frequency(i));
    return w;
  }

  double input(const Scene& s, std::int64_t t, std::int64_t c) const override {
    return at(s.positions[t], c);
  }

  Floats tables(Positions positions) const override {
    Floats e(std::int64_t(positions.size()) * shape_.C);
    for (std::size_t t = 0; t < positions.size(); ++t) {
      for (std::int64_t i = 0; i < pairs(); ++i) {
        const double angle = positions[t] * frequency(i);
        float* row = &e[std::int64_t(t) * shape_.C];
        row[halves_ ? i : 2 * i] = float(amplitude_ * std::sin(angle));
        row[halves_ ? pairs() + i : 2 * i + 1] = float(amplitude_ * std::cos(angle));
      }
    }
    return e;
  }
  void input(const Batch& b, float* e) const override { std::copy(b.tables.begin(), b.tables.end(), e); }

 private:
  std::int64_t pairs() const { return shape_.C / 2; }
  double frequency(std::int64_t i) const {
    if (!tensor2tensor_) return std::pow(base_, -2.0 * double(i) / double(shape_.C));
    return std::exp(-double(i) * std::log(base_) / double(std::max<std::int64_t>(pairs() - 1, 1)));
  }
  double at(double p, std::int64_t c) const {
    if (c >= 2 * pairs()) return 0;
    const std::int64_t i = halves_ ? c % pairs() : c / 2;
    const bool sine = halves_ ? c < pairs() : c % 2 == 0;
    return amplitude_ * (sine ? std::sin(p * frequency(i)) : std::cos(p * frequency(i)));
  }
  const bool halves_, tensor2tensor_;
  const double base_, amplitude_;
};

}  // namespace

extern const Entry sinusoidal_entry;
const Entry sinusoidal_entry = {
    .name = "sinusoidal",
    .title = "Fixed sines and cosines of geometric frequencies",
    .paper = "https://arxiv.org/abs/1706.03762",
    .year = 2017,
    .acts = kInput,
    .relative = false,
    .options =
        {{.name = "layout",
          .help = "order of the channels: [sin cos sin cos] or [sin sin cos cos]",
          .standard = "interleaved",
          .words = {"interleaved", "halves"},
          .must_be_named = true},
         {.name = "frequencies",
          .help = "exponent of the frequencies: -2i/C or -i/(C/2-1)",
          .standard = "paper",
          .words = {"paper", "tensor2tensor"},
          .must_be_named = true},
         {.name = "base",
          .help = "ratio of the longest to the shortest wavelength",
          .standard = "10000",
          .least = 1,
          .most = 1e12},
         {.name = "amplitude", .help = "factor of every channel", .standard = "1", .least = 0, .most = 1e6}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Sinusoidal>(options, shape);
    }};

}  // namespace gnomon
