// DINOv3's axial rotation: the centres of patches between −1 and 1. Siméoni et al. 2025, https://arxiv.org/abs/2508.10104;
// facebookresearch/dinov3, dinov3/layers/rope_position_encoding.py.
//
//   the first half of the pairs turns by y, the second by x, pair i of its n = r/4 by 2π·c/period_i:
//   c = 2·(index + 1/2)/size − 1,   period_i = theta^(i/n), or with min_period and max_period
//                                   period_i = max·(max/min)^(i/(n − 1) − 1), which reaches both (min where n is 1)
//   norm=separate: size is that of the axis, rows or columns;  max, min: the larger or smaller of the two for both
//
// A token whose row is −1 is no patch (class token, registers) and does not turn. Tokens with one coordinate stand row
// by row on the grid. In training the authors shift, stretch and scale c by random numbers, one draw for all
// tokens of an image; that is left to the caller, who may give fractions of rows and columns. Acts on q and k. No parameters.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class RopeDino final : public Rotary {
 public:
  RopeDino(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("rope_dino", options, shape)),
        theta_(options.number("theta")),
        least_(options.number("min_period")),
        most_(options.number("max_period")),
        grid_{2, options.whole("columns")},
        size_{double(options.whole("rows")), double(grid_.columns)} {
    if (window().pairs() % 2) {
      throw Error(Fault::usage,
                  text("rope_dino: found ", window().channels,
                       " rotated channels, which two axes cannot share equally; allowed are multiples of 4"));
    }
    if ((least_ > 0) != (most_ > 0) || most_ < least_) {
      throw Error(Fault::usage, text("rope_dino: min_period=", options.value("min_period").print(),
                                     ", max_period=", options.value("max_period").print(),
                                     "; allowed are both, rising, or neither"));
    }
    const std::string norm = options.word("norm");
    if (norm == "max") size_[0] = size_[1] = std::max(size_[0], size_[1]);
    if (norm == "min") size_[0] = size_[1] = std::min(size_[0], size_[1]);
  }
  std::int64_t axes() const override { return grid_.axes; }
  std::vector<double> frequencies() const override {
    std::vector<double> w;
    for (std::int64_t pair = 0; pair < window().pairs(); ++pair)
      w.push_back(2 * std::numbers::pi / period(pair % of_axis()));
    return w;
  }

 protected:
  double turn(const Positions& p, std::int64_t t, std::int64_t pair) const override {
    if (coordinate(p, t, 0, grid_) == -1) return 0;
    const std::int64_t axis = pair / of_axis();
    return 2 * (coordinate(p, t, axis, grid_) + 0.5) / size_[axis] - 1;
  }

 private:
  std::int64_t of_axis() const { return window().pairs() / 2; }
  double period(std::int64_t i) const {
    const double n = double(of_axis());
    if (most_ == 0) return std::pow(theta_, double(i) / n);
    return n == 1 ? least_ : most_ * std::pow(most_ / least_, double(i) / (n - 1) - 1);
  }
  const double theta_, least_, most_;
  const Grid grid_;
  double size_[2];
};

}  // namespace

extern const Entry rope_dino_entry;
const Entry rope_dino_entry = entry<RopeDino>(
    {.name = "rope_dino",
     .aliases = {"dinov3", "dino_rope"},
     .title = "DINOv3's axial RoPE: patches of any grid stand between -1 and 1",
     .paper = "https://arxiv.org/abs/2508.10104",
     .formula = "pair i of an axis turns by 2*pi*c/theta^(4i/r), c = 2*(index + 1/2)/size - 1",
     .latex =
         R"(\text{pair } i \;\text{of axis}\; a \;\text{turns by}\; 2\pi c_a\, \theta^{-4i/r}, \quad c_a = \frac{2 x_a + 1}{n_a} - 1)",
     .pitfall =
         "the unit is a whole turn, and the frequencies depend on the size of the grid; class token and "
         "registers, with the row -1, do not turn",
     .year = 2025,
     .relative = true,
     .options = [] {
       auto all = rotary_options({{.name = "rows",
                                   .help = "rows of the grid of patches",
                                   .standard = "16",
                                   .least = 1,
                                   .most = 1 << 16,
                                   .whole = true},
                                  {.name = "columns",
                                   .help = "columns of the grid of patches",
                                   .standard = "16",
                                   .least = 1,
                                   .most = 1 << 16,
                                   .whole = true},
                                  {.name = "norm",
                                   .help = "each axis is divided by its own size, or both by the larger or "
                                           "the smaller one",
                                   .standard = "separate",
                                   .words = {"separate", "max", "min"}},
                                  {.name = "min_period",
                                   .help = "shortest period, where 2 is the whole image; 0 = by theta",
                                   .standard = "0",
                                   .least = 0,
                                   .most = 1e9},
                                  {.name = "max_period",
                                   .help = "longest period, where 2 is the whole image; 0 = by theta",
                                   .standard = "0",
                                   .least = 0,
                                   .most = 1e9}});
       all[0].standard = "100";
       all[0].help = "the periods of the pairs go from 1 up to this";
       return all;
     }()});

}  // namespace gnomon
