// Randomised positions. Ruoss et al. 2023, https://arxiv.org/abs/2305.16843, section 3.
//
//   positions 0..T−1 become T distinct whole numbers drawn from 0..most−1, in order; anew for each sequence
//
// Every encoding then has seen all positions below `most`, whatever the training length. Also in evaluation, as the authors
// do. Acts on the positions. No parameters. A sequence longer than `most` is an error.
#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Randomised final : public Encoding, public PlacePart {
 public:
  Randomised(const Options& options, const Shape& shape)
      : Encoding(shape), most_(options.whole("most") ? options.whole("most") : 8 * shape.length) {}
  std::optional<std::int64_t> positions_end() const override { return most_; }

  // Floyd's sample of T among `most`.
  void place(const Random& random, std::uint64_t draw, bool, std::span<double> row) const override {
    const std::int64_t T = std::int64_t(row.size());
    if (T > most_) {
      throw Error(Fault::usage, text("randomised: found ", T, " tokens; allowed are up to most=", most_));
    }
    std::vector<std::int64_t> chosen;
    for (std::int64_t n = most_ - T; n < most_; ++n) {
      const auto pick = std::int64_t(random.below(draw * (1 << 24) + std::uint64_t(n), std::uint64_t(n) + 1));
      const auto at = std::lower_bound(chosen.begin(), chosen.end(), pick);
      if (at == chosen.end() || *at != pick) {
        chosen.insert(at, pick);
      } else {
        chosen.push_back(n);
      }
    }
    for (std::int64_t t = 0; t < T; ++t) row[t] = double(chosen[t]);
  }

 private:
  const std::int64_t most_;
};

}  // namespace

extern const Entry randomised_entry;
const Entry randomised_entry = entry<Randomised>(
    {.name = "randomised",
     .aliases = {"randomized"},
     .title = "Randomised positions: a sorted draw from a longer range",
     .paper = "https://arxiv.org/abs/2305.16843",
     .formula = "p = a sorted draw of T from 0..most-1, for each sequence",
     .latex =
         R"(p = \;\text{a sorted draw of}\; T \;\text{from}\; 0 \dots \mathrm{most} - 1, \;\text{for each sequence})",
     .pitfall = "draw anew for each sequence, not for each batch; draw in evaluation too",
     .year = 2023,
     .relative = false,
     .extrapolates = true,
     .options = {{.name = "most",
                  .help = "number of positions to draw from; 0 = eight training windows",
                  .standard = "0",
                  .least = 0,
                  .most = 1 << 24,
                  .whole = true}}});

}  // namespace gnomon
