#pragma once
#include <cstdint>
#include <vector>

namespace gnomon {

// exp(X) of a matrix X (n,n), row by row, in double, by scaling and squaring of Taylor's series; and from G, the gradient by
// exp(X), that by X. That is L(Xᵀ, G), with L the Fréchet derivative, which goes through the same squarings: Al-Mohy and Higham
// 2009, https://doi.org/10.1137/080716426, section 3. The relative error is below |X|·10^−15. One that is not finite gives NaN.
class Exponential {
 public:
  explicit Exponential(std::int64_t n) : n_(n) {}
  // Valid until the next call.
  const std::vector<double>& of(const std::vector<double>& x);
  const std::vector<double>& backward(const std::vector<double>& x, const std::vector<double>& g);

 private:
  // exp of x_ into p_; with `derivative` that in direction e_ into d_.
  void run(bool derivative);
  void product(const std::vector<double>& a, const std::vector<double>& b, std::vector<double>& to) const;
  void add_product(const std::vector<double>& a, const std::vector<double>& b, std::vector<double>& to) const;
  std::int64_t n_;
  std::vector<double> x_, e_, p_, d_, next_, dnext_;
};

}  // namespace gnomon
