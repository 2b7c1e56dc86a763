// RIFLEx: one frequency of the time axis slows down, so that a longer video does not repeat. Zhao et al. 2025,
// https://arxiv.org/abs/2502.15894, equations 4, 7 and 8; thu-ml/RIFLEx, riflex_utils.py.
//
//   pair i of an axis of s pairs turns by its coordinate times theta^(−i/s), but pair k − 1 of the first axis by
//     θ = turn·2π/(factor·original)
//   k: the pair, counted from 1, whose period round(2π·theta^((k−1)/s)) is nearest to `repeats`, the frame that repeats the first
//
// sections=0: one axis, time, in all pairs of the window; else the pairs of frame, row and column, such as HunyuanVideo's 8/28/28
// with theta=256, pairing=adjacent, k=4. Lengths are in latent frames. The paper has turn=1, the authors' code 0.9 "to be
// conservative". The code leaves a model alone whose new length is within the period of k; so does this, unless the
// model was trained this way (always=on). Acts on q and k. No parameters.
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

std::vector<std::int64_t> axes_of(const Options& options, std::int64_t pairs) {
  std::vector<std::int64_t> axes;
  std::int64_t sum = 0;
  for (const double x : options.numbers("sections")) axes.push_back(std::int64_t(x)), sum += axes.back();
  if (axes == std::vector<std::int64_t>{0}) return {pairs};
  if (axes.size() <= 4 && sum == pairs && axes[0] > 0) return axes;
  throw Error(Fault::usage, text("riflex: sections=", options.value("sections").print(), " has ",
                                 counted(axes.size(), "number"), " with the sum ", sum,
                                 "; allowed are up to four with the sum ", pairs, ", the first above 0"));
}

class Riflex final : public Rotary {
 public:
  Riflex(const Options& options, const Shape& shape)
      : Rotary(shape, rotary_window("riflex", options, shape)),
        theta_(options.number("theta")),
        sections_(axes_of(options, window().pairs())),
        grid_{std::int64_t(sections_.size()), options.whole("columns")},
        frames_(options.number("factor") * original_length(options, shape)),
        slow_(options.number("turn") * 2 * std::numbers::pi / frames_),
        always_(options.word("always") == "on") {
    const double repeats = options.number("repeats");
    k_ = options.whole("k") ? options.whole("k")
                            : nearest(repeats > 0 ? repeats : original_length(options, shape));
    if (k_ > sections_[0]) {
      throw Error(Fault::usage, text("riflex: k=", k_, " is no pair of the time axis; allowed are 1 to ",
                                     sections_[0], ", or 0 for the one that `repeats` says"));
    }
  }
  std::int64_t axes() const override { return grid_.axes; }
  std::vector<double> frequencies() const override {
    std::vector<double> w;
    for (const std::int64_t pairs : sections_) {
      for (std::int64_t i = 0; i < pairs; ++i) w.push_back(std::pow(theta_, -double(i) / double(pairs)));
    }
    if (always_ || frames_ > period(k_)) w[std::size_t(k_ - 1)] = slow_;
    return w;
  }

 protected:
  double turn(const Positions& p, std::int64_t t, std::int64_t pair) const override {
    std::int64_t axis = 0;
    for (; pair >= sections_[std::size_t(axis)]; ++axis) pair -= sections_[std::size_t(axis)];
    return coordinate(p, t, axis, grid_);
  }

 private:
  double period(std::int64_t k) const {
    return std::nearbyint(2 * std::numbers::pi * std::pow(theta_, double(k - 1) / double(sections_[0])));
  }
  std::int64_t nearest(double frames) const {
    std::int64_t best = 1;
    for (std::int64_t k = 2; k <= sections_[0]; ++k) {
      if (std::abs(period(k) - frames) < std::abs(period(best) - frames)) best = k;
    }
    return best;
  }
  const double theta_;
  const std::vector<std::int64_t> sections_;
  const Grid grid_;
  const double frames_, slow_;
  const bool always_;
  std::int64_t k_;
};

}  // namespace

extern const Entry riflex_entry;
const Entry riflex_entry = entry<Riflex>(
    {.name = "riflex",
     .title = "RIFLEx: one slower frequency on the time axis, against repeats in a longer video",
     .paper = "https://arxiv.org/abs/2502.15894",
     .formula = "RoPE, but pair k of the time axis turns by p*turn*2*pi/(s*L)",
     .latex =
         R"(\text{pair } k \;\text{of the time axis turns by}\; \frac{2\pi\, a\, p}{s L}, \quad a = 0.9)",
     .pitfall =
         "k counts from 1, and lengths are latent frames; the paper has a full turn, the code 0.9 of it",
     .year = 2025,
     .relative = true,
     .extrapolates = true,
     .options =
         rotary_options({{.name = "k",
                          .help = "pair of the time axis that slows down, counted from 1; 0 = by repeats",
                          .standard = "0",
                          .least = 0,
                          .most = 65536,
                          .whole = true},
                         {.name = "repeats",
                          .help = "frame at which the video begins to repeat; 0 = the original length",
                          .standard = "0",
                          .least = 0,
                          .most = 1e9},
                         factor_option("2"),
                         original_option(),
                         {.name = "turn",
                          .help = "part of a turn that the slow pair makes in the new length: 1 in the "
                                  "paper, 0.9 in the authors' code",
                          .standard = "0.9",
                          .least = 1e-6,
                          .most = 1,
                          .must_be_named = true},
                         {.name = "always",
                          .help = "slow down also if the new length is within the period of the pair",
                          .standard = "off",
                          .words = {"off", "on"}},
                         {.name = "sections",
                          .help = "number of pairs of frame, row and column, such as 8/28/28; 0 = "
                                  "time alone",
                          .standard = "0",
                          .least = 0,
                          .most = 1 << 16,
                          .whole = true,
                          .list = true},
                         columns_option()})});

}  // namespace gnomon
