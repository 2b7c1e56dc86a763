// Clipped RoPE: the slowest pairs fade out. arXiv 2602.05258 (CoPE); the authors' github.com/hrlics/CoPE, modeling_cope.py.
//
//   pair i turns by p·theta^(−2i/r)·c_i;   of the last n pairs, the m-th (m = 0..n−1) has
//   clip=soft: c = (1 + cos(π·m/(n − 1)))/2      clip=hard: c = 0      all others: c = 1
//
// The first of the n keeps its frequency and the last stands still. n = 1 clips nothing softly, as in the authors' code. For
// weights that were trained with RoPE. Acts on q and k. No parameters.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class RopeClipped final : public Rotary {
 public:
  RopeClipped(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("rope_clipped", options, shape)),
        theta_(options.number("theta")),
        pairs_(std::min(options.whole("pairs"), window().pairs())),
        hard_(options.word("clip") == "hard") {}
  std::vector<double> frequencies() const override {
    auto w = geometric_frequencies(theta_, window().channels);
    for (std::int64_t m = 0; m < pairs_; ++m) {
      const double turn = pairs_ > 1 ? double(m) / double(pairs_ - 1) : 0;
      w[w.size() - std::size_t(pairs_ - m)] *= hard_ ? 0 : 0.5 * (1 + std::cos(std::numbers::pi * turn));
    }
    return w;
  }

 private:
  const double theta_;
  const std::int64_t pairs_;
  const bool hard_;
};

}  // namespace

extern const Entry rope_clipped_entry;
const Entry rope_clipped_entry = entry<RopeClipped>(
    {.name = "rope_clipped",
     .aliases = {"clipped_rope", "cope_clip"},
     .title = "Clipped RoPE: the slowest pairs fade out to no rotation",
     .paper = "https://arxiv.org/abs/2602.05258",
     .formula = "pair i turns by p*theta^(-2i/r)*c_i; c falls from 1 to 0 over the last n pairs",
     .latex =
         R"(\text{pair } i \;\text{turns by}\; p\, \theta^{-2i/r} c_i, \quad c_i = \tfrac{1}{2}\left(1 + \cos\tfrac{\pi m}{n - 1}\right))",
     .pitfall = "its authors call it CoPE, as contextual position encoding is called, too; they clip 20 "
                "pairs whatever the head's size",
     .year = 2026,
     .relative = true,
     .extrapolates = true,
     .options = rotary_options({{.name = "pairs",
                                 .help = "number of the slowest pairs that are clipped",
                                 .standard = "20",
                                 .least = 0,
                                 .most = 32768,
                                 .whole = true},
                                {.name = "clip",
                                 .help = "soft: half a cosine from 1 to 0; hard: they stand still",
                                 .standard = "soft",
                                 .words = {"soft", "hard"}}})});

}  // namespace gnomon
