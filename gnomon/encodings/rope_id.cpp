// RoPE-ID: rotation in distribution. Wertheimer et al. 2026, https://arxiv.org/abs/2603.18017.
//
//   of the pairs of the window, the first ⌊share·pairs⌋ turn by p·θ_i; the others stand still
//   θ_i = 2π/fastest·(turns·fastest/length)^(i/(n − 1)),   i = 0..n−1: from one turn in `fastest` tokens to `turns` turns in `length`
//
// So every pair that turns has been all around in training, and longer inputs show no angle that is new. With one pair, it is
// the fastest. The paper's text was not at hand: the numbers are those that its reviews tell, half of the channels, 32 tokens and
// two turns; its temperature for long inputs is log_n. Acts on q and k. No parameters.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class RopeId final : public Rotary {
 public:
  RopeId(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("rope_id", options, shape)),
        turning_(std::max<std::int64_t>(1, std::int64_t(options.number("share") * double(window().pairs())))),
        fastest_(options.number("fastest")),
        slowest_(original_length(options, shape) / options.number("turns")) {}
  std::vector<double> frequencies() const override {
    std::vector<double> w(std::size_t(window().pairs()), 0.0);
    for (std::int64_t i = 0; i < turning_; ++i) {
      const double at = turning_ > 1 ? double(i) / double(turning_ - 1) : 0;
      w[std::size_t(i)] = 2 * std::numbers::pi / fastest_ * std::pow(fastest_ / slowest_, at);
    }
    return w;
  }

 private:
  const std::int64_t turning_;
  const double fastest_, slowest_;  // tokens of a turn
};

}  // namespace

extern const Entry rope_id_entry;
const Entry rope_id_entry = entry<RopeId>(
    {.name = "rope_id",
     .aliases = {"in_distribution_rope", "ropeid"},
     .title = "RoPE-ID: half of the pairs turn, each at least twice around in training",
     .paper = "https://arxiv.org/abs/2603.18017",
     .formula = "pair i of the first n turns by p*(2*pi/fastest)*(turns*fastest/length)^(i/(n-1)), the "
                "others not at all",
     .latex =
         R"(\text{pair } i < n \;\text{turns by}\; p\, \frac{2\pi}{f} \Big(\frac{u f}{L}\Big)^{i/(n-1)}, \;\text{else not at all}, \quad f \;\text{tokens},\; u \;\text{turns in}\; L)",
     .pitfall = "the frequencies follow from the training length; a checkpoint has to say which",
     .year = 2026,
     .relative = true,
     .extrapolates = true,
     .options = [] {
       auto all = rotary_options({original_option(),
                                  {.name = "share",
                                   .help = "share of the pairs that turn, at least one",
                                   .standard = "0.5",
                                   .least = 0,
                                   .most = 1},
                                  {.name = "fastest",
                                   .help = "tokens in which the fastest pair turns around once",
                                   .standard = "32",
                                   .least = 2,
                                   .most = 1e9},
                                  {.name = "turns",
                                   .help = "turns of the slowest pair that turns, in the original length",
                                   .standard = "2",
                                   .least = 1e-3,
                                   .most = 1e9}});
       all.erase(all.begin());  // no theta
       return all;
     }()});

}  // namespace gnomon
