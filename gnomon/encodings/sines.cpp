#include "gnomon/encodings/sines.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/parallel.h"

namespace gnomon {

Floats FixedInput::tables(const Positions& positions) const {
  const std::int64_t C = shape_.C;
  Floats e(positions.size() * C);
  for (std::int64_t n = 0; n < positions.size() * C; ++n) e[n] = float(at(positions, n / C, n % C));
  return e;
}
void FixedInput::input(const Batch& b, float* e) const { std::copy(b.tables.begin(), b.tables.end(), e); }

OneWave::OneWave(const Options& options, const Shape& shape, double (*wave)(const Angle&))
    : FixedInput(shape), wave_(wave) {
  for (double c = 0; c < double(shape.C); ++c)
    frequencies_.push_back(std::pow(options.number("base"), -c / double(shape.C)));
}
std::vector<OptionSpec> OneWave::options() {
  return {{.name = "base",
           .help = "ratio of the longest to the shortest wavelength",
           .standard = "10000",
           .least = 1,
           .most = 1e12}};
}

double Sines::at(double position, std::int64_t c) const {
  const std::int64_t pairs = std::int64_t(frequencies.size());
  if (c >= 2 * pairs) return 0;
  const std::int64_t i = halves ? c % pairs : c / 2;
  const bool sine = (halves ? c < pairs : c % 2 == 0) != cosines_first;
  const Angle angle(position, frequencies[i]);
  return sine ? angle.sin() : angle.cos();
}

std::vector<OptionSpec> sine_options(std::vector<OptionSpec> more) {
  std::vector<OptionSpec> all{
      {.name = "layout",
       .help = "order of the channels: [sin cos sin cos], [sin sin cos cos] or [cos cos sin sin]",
       .standard = "interleaved",
       .words = {"interleaved", "halves", "cosines_first"},
       .must_be_named = true,
       .word_aliases = {{"adjacent", "interleaved"}, {"half", "halves"}, {"concatenated", "halves"}}},
      {.name = "frequencies",
       .help = "exponent of the frequencies: -2i/C or -i/(C/2-1)",
       .standard = "paper",
       .words = {"paper", "tensor2tensor"},
       .must_be_named = true,
       .word_aliases = {{"t2t", "tensor2tensor"}, {"vaswani", "paper"}}},
      {.name = "base",
       .help = "ratio of the longest to the shortest wavelength",
       .standard = "10000",
       .least = 1,
       .most = 1e12,
       .aliases = {"theta"}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Sines make_sines(const Options& options, std::int64_t channels) {
  const std::string_view layout = options.word("layout");
  Sines s{layout != "interleaved", layout == "cosines_first", {}};
  const double base = options.number("base"), pairs = double(channels / 2);
  const bool tensor2tensor = options.word("frequencies") == "tensor2tensor";
  for (double i = 0; i < pairs; ++i) {
    s.frequencies.push_back(tensor2tensor ? std::exp(-i * std::log(base) / std::max(pairs - 1, 1.0))
                                          : std::pow(base, -2 * i / double(channels)));
  }
  return s;
}

}  // namespace gnomon
