#pragma once
#include <algorithm>
#include <cmath>

namespace gnomon {

// Σ position·frequency in radians, for its cos and sin. From 2^24 rad on it is kept in two doubles: one alone is off by up
// to half a radian at 2^52. Below, one is right within 4e-9, and nothing is added to its bits.
class Angle {
 public:
  Angle() = default;
  Angle(double position, double frequency) { add(position, frequency); }
  void add(double position, double frequency) {
    const double product = position * frequency, sum = high_ + product;
    if (std::max(std::abs(product), std::abs(high_)) >= 0x1p24) {
      const double taken = sum - high_;  // what each of the two roundings left
      low_ += std::fma(position, frequency, -product) + ((high_ - (sum - taken)) + (product - taken));
    }
    high_ = sum;
  }
  // The library's cos and sin reduce a double exactly; the rest turns further.
  double cos() const {
    const double c = std::cos(high_);
    return low_ == 0 ? c : c * std::cos(low_) - std::sin(high_) * std::sin(low_);
  }
  double sin() const {
    const double s = std::sin(high_);
    return low_ == 0 ? s : s * std::cos(low_) + std::cos(high_) * std::sin(low_);
  }

 private:
  double high_ = 0, low_ = 0;
};

}  // namespace gnomon
