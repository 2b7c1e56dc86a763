// V-JEPA 2's rotation by frame, row and column, as it is published. Assran et al. 2025, https://arxiv.org/abs/2506.09985;
// facebookresearch/vjepa2, src/models/utils/modules.py, rotate_queries_or_keys; Hugging Face transformers, modeling_vjepa2.py.
//
//   each axis has the next m = 2·⌊⌊D/3⌋/2⌋ channels; channel c of them has the angle p·θ_c, θ_c = 10000^(−(c mod m/2)/(m/2))
//   channels (2i, 2i+1) are a pair:  x → x·cos(p·θ_2i) − y·sin(p·θ_2i),   y → y·cos(p·θ_{2i+1}) + x·sin(p·θ_{2i+1})
//
// The table repeats all angles, as pairs (i, i + m/2) would have it, but neighbours are paired: the two channels of a pair have
// angles of their own. That is no rotation: lengths change, and logits depend on more than the differences of positions. The
// authors know it and keep it for their checkpoints. What was meant is rope_axial(pairing=adjacent, index=reset,
// sections=…, channels=…). Channels after the third axis stay as they are, as does a head of fewer than 6.
//
// Tokens with one coordinate stand row by row on frames of `columns` by `columns`. Acts on q and k. No parameters.
#include <cmath>

#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {
namespace {

class VJepa2 final : public Encoding, public MapPart {
 public:
  VJepa2(const Options& options, const Shape& shape)
      : Encoding(shape), width_(shape.D / 3 / 2 * 2), grid_{3, options.whole("columns")} {}
  std::int64_t axes() const override { return grid_.axes; }
  bool keeps_keys() const override { return true; }

  void map_row(const Scene& s, Role, std::int64_t, std::int64_t t, std::vector<double>& row) const override {
    for (std::int64_t c = 0; c < 3 * width_; c += 2) {
      const Angle first = angle(s.positions, t, c), second = angle(s.positions, t, c + 1);
      double &x = row[std::size_t(c)], &y = row[std::size_t(c + 1)];
      const double turned = x * first.cos() - y * first.sin();
      y = y * second.cos() + x * second.sin(), x = turned;
    }
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    if (width_ == 0) return;
    MultiplyBlocks step{2, 3 * width_ / 2, 1, b.tokens(), {}};
    for (std::int64_t t = 0; t < b.tokens(); ++t) {
      for (std::int64_t c = 0; c < 3 * width_; c += 2) {
        const Angle first = angle(b.positions, t, c), second = angle(b.positions, t, c + 1);
        for (const double x : {first.cos(), -first.sin(), second.sin(), second.cos()})
          step.matrices.push_back(float(x));
      }
    }
    steps.push_back({Role::q | Role::k, std::move(step)});
  }

 private:
  Angle angle(const Positions& p, std::int64_t t, std::int64_t c) const {
    const std::int64_t half = width_ / 2;
    return {coordinate(p, t, c / width_, grid_),
            std::pow(10000.0, -double(c % width_ % half) / double(half))};
  }
  const std::int64_t width_;  // channels of an axis
  const Grid grid_;
};

}  // namespace

extern const Entry vjepa2_entry;
const Entry vjepa2_entry = entry<VJepa2>(
    {.name = "vjepa2",
     .aliases = {"v_jepa2", "vjepa"},
     .title = "V-JEPA 2: neighbours are a pair, but each turns by an angle of its own",
     .paper = "https://arxiv.org/abs/2506.09985",
     .formula = "x' = x*cos(p*t_2i) - y*sin(p*t_2i), y' = y*cos(p*t_2i+1) + x*sin(p*t_2i+1), t_c = "
                "10000^(-2(c mod m/2)/m)",
     .latex =
         R"(x' = x \cos p\theta_{2i} - y \sin p\theta_{2i}, \quad y' = y \cos p\theta_{2i+1} + x \sin p\theta_{2i+1}, \quad \theta_c = 10000^{-2 (c \bmod m/2)/m})",
     .pitfall =
         "it is no rotation, so it is not relative; a corrected table does not fit the published weights",
     .year = 2025,
     .relative = false,
     .options = {columns_option()}});

}  // namespace gnomon
