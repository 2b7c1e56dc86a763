// Axial RoPE: a set of pairs for each of two to four axes. Heo et al. 2024, https://arxiv.org/abs/2403.13298, section 3.1
// (RoPE-Axial).
//
//   the first sections[0] pairs turn by the first coordinate, the next sections[1] by the second, and so on; of r/2 pairs
//   index=reset:        θ_i = theta^(−i/s), i = 0..s−1, again for each axis of s pairs
//                       with `bases` each axis has a theta of its own (Cosmos, which raises that of time as ntk does; diffusers,
//                       transformer_cosmos.py, CosmosRotaryPosEmbed)
//   index=continued:    θ_n = theta^(−2n/r), counted on over all axes
//   index=alternating:  of two equal axes, dealt out in turn, even n to y, odd n to x (Pixtral; Hugging Face transformers,
//                       modeling_pixtral.py, compute_axial_rope_parameters)
//   index=interleaved:  as reset, but the pairs of equal axes take turns, n to axis n mod axes (Kimi K2.5; modeling_kimi_k25.py)
//
// sections=0 are two equal ones: y, x. Image models have more and unequal ones, (16, 56, 56) channels for frame, height and width,
// adjacent pairs, and coordinates from the middle of the image on, below 0 on one side (Flux, Qwen-Image, Z-Image; diffusers,
// QwenEmbedRope). So do models of video: Wan has (D − 4⌊D/6⌋, 2⌊D/6⌋, 2⌊D/6⌋) channels, HunyuanVideo (16, 56, 56) with theta=256
// (Wan-Video/Wan2.1, wan/modules/model.py; Tencent-Hunyuan/HunyuanVideo, posemb_layers.py). unit=turn: a coordinate of 1 is a whole turn, 2π, of the fastest pair; so DINOv3, with theta=100 and the centres
// of patches in [−1, 1] (modeling_dinov3_vit.py; its tokens that are no patches stay as they are: at 0, 0).
//
// Tokens with one coordinate stand row by row on a grid of `columns` columns. Acts on q and k. No parameters.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

// The pairs of each axis.
std::vector<std::int64_t> axes_of(const Options& options, const RotaryWindow& window) {
  std::vector<std::int64_t> axes;
  std::int64_t sum = 0;
  for (const double x : options.numbers("sections")) axes.push_back(std::int64_t(x)), sum += axes.back();
  if (axes == std::vector<std::int64_t>{0}) {
    if (window.pairs() % 2 == 0) return {window.pairs() / 2, window.pairs() / 2};
    throw Error(Fault::usage,
                text("rope_axial: found ", window.channels,
                     " rotated channels, which two axes cannot share equally; allowed are multiples of 4"));
  }
  if (axes.size() < 2 || axes.size() > 4 || sum != window.pairs()) {
    throw Error(Fault::usage, text("rope_axial: sections=", options.value("sections").print(), " has ",
                                   counted(axes.size(), "number"), " with the sum ", sum,
                                   "; allowed are two to four with the sum ", window.pairs()));
  }
  if (options.word("index") == "alternating" && (axes.size() != 2 || axes[0] != axes[1])) {
    throw Error(Fault::usage,
                text("rope_axial: index=alternating gives frequencies to two axes in turn; found sections=",
                     options.value("sections").print(), "; allowed are two equal sections"));
  }
  if (options.word("index") == "interleaved" &&
      std::count(axes.begin(), axes.end(), axes[0]) != std::ptrdiff_t(axes.size())) {
    throw Error(Fault::usage,
                text("rope_axial: index=interleaved gives pairs to the axes in turn; found sections=",
                     options.value("sections").print(), "; allowed are equal sections"));
  }
  return axes;
}

// The base of each axis.
std::vector<double> bases_of(const Options& options, std::size_t axes) {
  std::vector<double> bases = options.numbers("bases");
  if (bases == std::vector<double>{0}) return std::vector<double>(axes, options.number("theta"));
  const bool own = options.word("index") == "reset" || options.word("index") == "interleaved";
  if (own && bases.size() == axes && *std::min_element(bases.begin(), bases.end()) > 0) return bases;
  throw Error(Fault::usage, text("rope_axial: bases=", options.value("bases").print(),
                                 " with index=", options.word("index"), "; allowed are ", axes,
                                 " numbers above 0, with index=reset or interleaved, or 0 for theta"));
}

class RopeAxial final : public Rotary {
 public:
  RopeAxial(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("rope_axial", options, shape)),
        theta_(options.number("theta")),
        index_(options.word("index")),
        interleaved_(index_ == "interleaved"),
        unit_(options.word("unit") == "turn" ? 2 * std::numbers::pi : 1),
        sections_(axes_of(options, window())),
        bases_(bases_of(options, sections_.size())),
        grid_{std::int64_t(sections_.size()), options.whole("columns")} {}
  std::int64_t axes() const override { return grid_.axes; }
  std::vector<double> frequencies() const override {
    const auto all = geometric_frequencies(theta_, window().channels);
    std::vector<double> w;
    for (std::int64_t pair = 0; pair < window().pairs(); ++pair) {
      const auto [axis, i] = place(pair);
      const double own =
          std::pow(bases_[std::size_t(axis)], -double(i) / double(sections_[std::size_t(axis)]));
      w.push_back(unit_ * (index_ == "alternating" ? all[std::size_t(2 * i + axis)]
                           : index_ == "continued" ? all[std::size_t(pair)]
                                                   : own));
    }
    return w;
  }

 protected:
  double turn(const Positions& p, std::int64_t t, std::int64_t pair) const override {
    return coordinate(p, t, place(pair).axis, grid_);
  }

 private:
  struct Place {
    std::int64_t axis, index;  // index: of the pairs of this axis
  };
  Place place(std::int64_t pair) const {
    if (interleaved_) return {pair % axes(), pair / axes()};
    std::int64_t axis = 0;
    for (; pair >= sections_[std::size_t(axis)]; ++axis) pair -= sections_[std::size_t(axis)];
    return {axis, pair};
  }
  const double theta_;
  const std::string index_;
  const bool interleaved_;
  const double unit_;
  const std::vector<std::int64_t> sections_;
  const std::vector<double> bases_;
  const Grid grid_;
};

}  // namespace

extern const Entry rope_axial_entry;
const Entry rope_axial_entry = entry<RopeAxial>(
    {.name = "rope_axial",
     .aliases = {"axial_rope", "rope_2d", "2d_rope"},
     .title = "Axial RoPE: each axis has its own set of pairs",
     .paper = "https://arxiv.org/abs/2403.13298",
     .formula = "the s pairs of an axis turn by its coordinate, theta_i = theta^(-i/s)",
     .latex =
         R"(\text{pair } i \;\text{of axis}\; a \;\text{turns by}\; x_a\, \theta^{-i/s}, \quad s \;\text{pairs for the axis})",
     .pitfall = "libraries differ in whether the frequency index restarts at the second axis",
     .year = 2024,
     .relative = true,
     .options = rotary_options(
         {{.name = "index",
           .help =
               "frequency index at the second axis: it restarts, continues, alternates between the axes, or "
               "restarts while their pairs take turns",
           .standard = "reset",
           .words = {"reset", "continued", "alternating", "interleaved"},
           .must_be_named = true},
          columns_option(),
          {.name = "sections",
           .help = "number of pairs of each axis, such as 8/28/28; 0 = two equal halves",
           .standard = "0",
           .least = 0,
           .most = 1 << 16,
           .whole = true,
           .list = true},
          {.name = "bases",
           .help = "theta of each axis, such as 21000/10000/10000; 0 = theta for all",
           .standard = "0",
           .least = 0,
           .most = 1e15,
           .list = true},
          {.name = "unit",
           .help = "angle of the fastest pair at coordinate 1: 1 radian, or a full turn of 2*pi",
           .standard = "radian",
           .words = {"radian", "turn"}}})});

}  // namespace gnomon
