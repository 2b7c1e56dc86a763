// SHAPE: shifted absolute position embedding. Kiyono, Kobayashi, Suzuki, Inui 2021, https://arxiv.org/abs/2109.05644, section 3.
//
//   p becomes p + k, k whole and uniform over 0..most, anew for each sequence; no shift in evaluation
//
// Acts on the positions. No parameters.
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Shifted final : public Encoding, public PlacePart {
 public:
  Shifted(const Options& options, const Shape& shape)
      : Encoding(shape), most_(options.whole("most") ? options.whole("most") : shape.length) {}
  void place(const Random& random, std::uint64_t draw, bool training, std::span<double> row) const override {
    if (!training) return;
    const double shift = double(random.below(draw, std::uint64_t(most_) + 1));
    for (double& p : row) p += shift;
  }

 private:
  const std::int64_t most_;
};

}  // namespace

extern const Entry shape_entry;
const Entry shape_entry = entry<Shifted>(
    {.name = "shape",
     .title = "SHAPE: a random shift of all positions in training",
     .paper = "https://arxiv.org/abs/2109.05644",
     .formula = "p + k, k uniform over 0..most, for each sequence, in training",
     .latex =
         R"(p + k, \quad k \;\text{uniform over}\; 0 \dots \mathrm{most}, \;\text{for each sequence, in training})",
     .pitfall = "in translation, source and target need the same shift; a table needs `most` more rows",
     .year = 2021,
     .relative = false,
     .extrapolates = true,
     .options = {{.name = "most",
                  .help = "largest shift in tokens; 0 = the training window",
                  .standard = "0",
                  .least = 0,
                  .most = 1 << 24,
                  .whole = true}}});

}  // namespace gnomon
