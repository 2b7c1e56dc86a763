#pragma once
#include "gnomon/encodings/encoding.h"

namespace gnomon {

// The rotary family: pair n of q and of k at token t turns by coordinate(t,n)·θ_n and is multiplied by
// scale(). The channels that turn are a window of the head; the others pass through. Written once here; a
// member says what its frequencies, coordinates and scales are.

// Options that the whole family shares: theta, pairing and the window; `more` come after them.
std::vector<OptionSpec> rotary_options(std::vector<OptionSpec> more = {});
// The window that the options name: `channels` of the head, or the `fraction` of it by the rule `rounding`, from channel
// `offset` on or at its end (side=trailing). transformers truncates, int(head·fraction), and has ⌈n/2⌉ frequencies
// theta^(−2i/n) for an odd n; here n must be even. Throws Error(usage) naming `owner` for windows without pairs or
// beyond the head.
RotaryWindow rotary_window(std::string_view owner, const Options& options, const Shape& shape);
// `factor`: by which the context grows; `original`: the length that the model was first trained for, in tokens,
// where 0 is the training window.
OptionSpec factor_option(std::string_view standard);
OptionSpec original_option();
double original_length(const Options& options, const Shape& shape);
// theta^(−2i/channels), i = 0..pairs−1.
std::vector<double> geometric_frequencies(double theta, std::int64_t channels);

// Pair n of the row times the complex number re + i·im.
void multiply_pair(const RotaryWindow& window, std::int64_t n, double re, double im,
                   std::vector<double>& row);

// The least and the largest position of a sequence.
struct Reach {
  double first, last;
  double length() const { return last + 1; }  // tokens of a context that begins at 0
};
Reach reach_of(const Positions& row);

class Rotary : public Encoding, public TurnPart {
 public:
  Rotary(const Shape& shape, const RotaryWindow& window) : Encoding(shape), window_(window) {}

  // The factor is that of the first pair of k at position 0: a member whose pairs have others keeps no keys.
  Turns turns_at(double length) const override;
  void map_row(const Scene& s, Role role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override;
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override;

 protected:
  const RotaryWindow& window() const { return window_; }
  // The turn of q or k at these positions, times its scale.
  Rotate rotation(const Positions& positions, Role role) const;
  // Frequencies of a sequence of these positions: those of frequencies(), unless the context decides.
  virtual std::vector<double> frequencies_in(const Reach&) const { return frequencies(); }
  virtual double turn(const Positions& p, std::int64_t t, std::int64_t /*pair*/) const { return p[t]; }
  // Factor of pair n of q (Role::q) or k at this position of a sequence.
  virtual double scale(Role, double /*position*/, const Reach&, std::int64_t /*pair*/) const { return 1; }
  virtual bool scales_differ() const { return false; }  // q and k have different scales
  // Factor of the whole logit, of the channels that pass through as well. q has it, so cached keys do not.
  virtual double softmax_scale(const Reach&) const { return 1; }
  virtual bool scales_softmax() const { return false; }  // there is such a factor

 private:
  const RotaryWindow window_;
};

// M-RoPE: pair n turns by the coordinate of its stream, t, h or w; the frequency index counts on over all pairs. Tokens
// with one coordinate are text, t = h = w, which is RoPE. Option `sections`: the pairs of t, h and w (of each coordinate,
// where up to `most` = 4 are allowed), which sum to the pairs of the window; or 0 for `share` of them for h and for w
// each. Throws Error(usage) for others.
class StreamRotary : public Rotary {
 public:
  StreamRotary(std::string_view owner, const Options& options, const Shape& shape, double share,
               std::size_t most = 3);
  static std::vector<OptionSpec> options(std::vector<OptionSpec> more = {});
  std::int64_t axes() const override { return std::int64_t(sections_.size()); }
  std::vector<double> frequencies() const override {
    return geometric_frequencies(theta_, window().channels);
  }

 protected:
  virtual std::int64_t stream(std::int64_t pair) const = 0;  // 0, 1, 2: t, h, w; or the coordinate of four
  double turn(const Positions& p, std::int64_t t, std::int64_t pair) const override;
  const std::vector<std::int64_t>& sections() const { return sections_; }

 private:
  const std::string_view owner_;
  const double theta_;
  const std::vector<std::int64_t> sections_;
};

// Rotations whose frequencies θ are learned: pair n of head h turns by Σ_a coordinate_a·θ[a,h,n]. The parameters begin with
// w (axes, heads or 1, pairs), and θ = theta(w) number by number, unless a member makes θ of them otherwise.
class LearnedRotary : public Encoding, public MapPart {
 public:
  LearnedRotary(const Shape& shape, const RotaryWindow& window, const Grid& grid, bool shared)
      : Encoding(shape), window_(window), grid_(grid), shared_(shared) {}
  bool per_layer() const override { return true; }
  bool keeps_keys() const override { return true; }
  std::int64_t axes() const override { return grid_.axes; }

  void map_row(const Scene& s, Role role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override;
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override;
  void map_backward(const Batch& b, std::span<const Step> steps, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override;

 protected:
  virtual double theta(double w, std::int64_t /*pair*/) const { return w; }
  virtual double theta_slope(double, std::int64_t /*pair*/) const { return 1; }  // dθ/dw
  // θ (axes, heads or 1, pairs) of the parameters, and from its gradient theirs.
  virtual std::vector<double> thetas(std::span<const double> w) const;
  virtual void thetas_backward(std::span<const double> w, const std::vector<double>& dtheta, float* dw) const;
  std::int64_t tables_of_heads() const { return shared_ ? 1 : shape_.H; }
  std::int64_t index(std::int64_t axis, std::int64_t h, std::int64_t pair) const {
    return (axis * tables_of_heads() + (shared_ ? 0 : h)) * window_.pairs() + pair;
  }
  const RotaryWindow window_;
  const Grid grid_;
  const bool shared_;

 private:
  std::vector<double> coordinates(const Positions& positions) const;                       // (tokens, axes)
  std::int64_t count() const { return grid_.axes * tables_of_heads() * window_.pairs(); }  // of θ
};

}  // namespace gnomon
