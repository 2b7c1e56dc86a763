#pragma once
#include "gnomon/encodings/rotary.h"

namespace gnomon {

// Rotary encodings that measure far keys with another ruler: near keys (p_i − p_j < window) as RoPE does, the
// others by q turned by far_turn(Role::q) and k by far_turn(Role::k). Two products: the second lives in
// channels beside the first, and attention takes it where it applies. It cannot be baked into cached keys.
class TwoPass : public Rotary, public FarPart {
 public:
  TwoPass(const Options& options, const Shape& shape, std::string_view owner)
      : Rotary(shape, rotary_window(owner, options, shape)),
        theta_(options.number("theta")),
        near_(options.number("window")) {}
  std::vector<double> frequencies() const override {
    return geometric_frequencies(theta_, window().channels);
  }
  Widths widths() const override { return {.far = shape_.D}; }

  bool far(const Scene& s, std::int64_t i, std::int64_t j) const override {
    return s.positions[i] - s.positions[j] >= near_;
  }
  void far_row(const Scene& s, Role role, std::int64_t t, std::vector<double>& row) const override;
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override;
  void lower(const Batch& b, Terms& t) const override;

 protected:
  // By how many tokens q or k at this position turns for far pairs.
  virtual double far_turn(Role role, double position) const = 0;
  double near() const { return near_; }

 private:
  const double theta_, near_;
};

}  // namespace gnomon
