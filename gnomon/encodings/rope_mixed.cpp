// RoPE-Mixed: learned frequencies on both axes. Heo et al. 2024, https://arxiv.org/abs/2403.13298, section 3.2,
// equation 14; the authors' rope-vit, init_2d_freqs.
//
//   pair n of head h turns by y·w[0,h,n] + x·w[1,h,n]
//   start: pairs n and n + D/4 have size theta^(−4n/D) and two directions at a right angle, random for each head
//
// Tokens with one coordinate stand row by row on a grid of `columns` columns. Acts on q and k. Parameters: frequencies w
// (2, H, D/2), each layer its own.
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class RopeMixed final : public LearnedRotary {
 public:
  RopeMixed(const Options& options, const Shape& shape)
      : LearnedRotary(shape, rotary_window("rope_mixed", options, shape), {2, options.whole("columns")},
                      false),
        base_(options.number("theta")) {
    if (window_.channels % 4) {
      throw Error(Fault::usage,
                  text("rope_mixed: found ", window_.channels,
                       " rotated channels, which two axes cannot share equally; allowed are multiples of 4"));
    }
  }
  std::vector<ParamSpec> params() const override {
    const std::int64_t pairs = window_.pairs();
    const Random random(1, "rope_mixed directions");
    std::vector<double> start(std::size_t(2 * shape_.H * pairs));
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      const double direction = 2 * std::numbers::pi * random.uniform(std::uint64_t(h));
      for (std::int64_t n = 0; n < pairs; ++n) {
        const double size = std::pow(base_, -4.0 * double(n % (pairs / 2)) / double(window_.channels));
        const double angle = direction + (n < pairs / 2 ? 0 : std::numbers::pi / 2);
        start[index(0, h, n)] = size * std::sin(angle);
        start[index(1, h, n)] = size * std::cos(angle);
      }
    }
    return {{"frequencies", {2, shape_.H, pairs}, 0, 0, false, start}};
  }

 private:
  const double base_;
};

}  // namespace

extern const Entry rope_mixed_entry;
const Entry rope_mixed_entry = entry<RopeMixed>(
    {.name = "rope_mixed",
     .aliases = {"mixed_rope"},
     .title = "RoPE-Mixed: learned frequencies on two axes",
     .paper = "https://arxiv.org/abs/2403.13298",
     .formula = "pair n of head h turns by y*w[0,h,n] + x*w[1,h,n]",
     .latex = R"(\text{pair } n \;\text{of head}\; h \;\text{turns by}\; y\, w_{0,h,n} + x\, w_{1,h,n})",
     .pitfall = "the angles do not separate by axis, so the tables need a row for every position and head",
     .year = 2024,
     .relative = true,
     .options = [] {
       auto all = rotary_options({columns_option()});
       all[0].standard = "10";
       return all;
     }()});

}  // namespace gnomon
