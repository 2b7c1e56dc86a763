// Binary digits of the position. A control of a study: exact, bounded, and its high digits are never seen in training.
//
//   e[p,c] = 2·bit_c(p) − 1 for c < bits,   0 for the other channels
//
// Whole positions from 0 to 2^bits − 1. Acts on the input. No parameters.
#include <algorithm>

#include "gnomon/encodings/sines.h"

namespace gnomon {
namespace {

class Binary final : public FixedInput {
 public:
  Binary(const Options& options, const Shape& shape)
      : FixedInput(shape), bits_(std::min<std::int64_t>(options.whole("bits"), shape.C)) {}
  std::optional<std::int64_t> positions_end() const override { return std::int64_t{1} << bits_; }

 protected:
  double at(const Positions& p, std::int64_t t, std::int64_t c) const override {
    const std::int64_t place = whole_position("binary", p[t], std::int64_t{1} << bits_);
    return c >= bits_ ? 0.0 : place >> c & 1 ? 1.0 : -1.0;
  }

 private:
  const std::int64_t bits_;
};

}  // namespace

extern const Entry binary_entry;
const Entry binary_entry =
    entry<Binary>({.name = "binary",
                   .title = "Binary digits of the position",
                   .paper = "https://kazemnejad.com/blog/transformer_architecture_positional_encoding/",
                   .formula = "e[p,c] = 2*bit_c(p) - 1",
                   .latex = R"(e_{p,c} = 2\, \mathrm{bit}_c(p) - 1)",
                   .pitfall = "the top digits are constant in training and flip beyond the trained length",
                   .year = 2019,
                   .relative = false,

                   .options = {{.name = "bits",
                                .help = "number of binary digits, at most the number of channels",
                                .standard = "16",
                                .least = 1,
                                .most = 40,
                                .whole = true}}});

}  // namespace gnomon
