#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace gnomon {

// A plane of a space of `width` channels that turns: G(p) = exp(p·L), L = a·bᵀ − b·aᵀ,
//   G(p) = I + sin(p·s)/s·L + (1 − cos(p·s))/s²·L²,   s = √(|a|²|b|² − (a·b)²) radians a unit of p.
// Zhang et al. 2025, https://arxiv.org/abs/2512.07805, section 3. In double: p may be large.
class Plane {
 public:
  template <class W>
  Plane(const W* a_row, const W* b_row, std::int64_t width)
      : a_(a_row, a_row + width), b_(b_row, b_row + width) {
    measure();
  }
  // x = G(p)·x
  template <class X>
  void turn(double p, X* x) const {
    const Turned t = turned(project(x), p);
    for (std::size_t d = 0; d < a_.size(); ++d) x[d] = X(double(x[d]) + t.a * a_[d] + t.b * b_[d]);
  }
  // g: from the gradient of G(p)·x to that of x; da and db are added to.
  void backward(double p, const float* x, float* g, std::span<double> da, std::span<double> db) const;

 private:
  struct Projected {
    double u, v;  // b·x and a·x: L·x = a·u − b·v
  };
  struct Turned {
    double a, b;  // G(p)·x = x + a·(vector a) + b·(vector b)
  };
  template <class X>
  Projected project(const X* x) const {
    Projected z{0, 0};
    for (std::size_t d = 0; d < a_.size(); ++d) z.u += b_[d] * double(x[d]), z.v += a_[d] * double(x[d]);
    return z;
  }
  void measure();
  Turned turned(const Projected& x, double p) const;

  const std::vector<double> a_, b_;
  double aa_ = 0, bb_ = 0, ab_ = 0, s_ = 0;
};

}  // namespace gnomon
