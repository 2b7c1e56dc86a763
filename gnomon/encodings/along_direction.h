#pragma once
#include "gnomon/encodings/encoding.h"

namespace gnomon {

// The family of encodings that add a number f(p) along one learned direction u (C): e[t,c] = f(t)·u[c].
class AlongDirection : public Encoding, public InputPart {
 public:
  using Encoding::Encoding;
  std::vector<ParamSpec> params() const override { return {{"direction", {shape_.C}, 0, 1, false}}; }

  double input(const Scene& s, std::int64_t t, std::int64_t c) const override {
    return along(s.positions, t) * s.w[c];
  }
  void input(const Batch& b, float* e) const override {
    for (std::int64_t t = 0; t < b.tokens(); ++t) {
      const double f = along(b.positions, t);
      for (std::int64_t c = 0; c < shape_.C; ++c) e[t * shape_.C + c] = float(f * b.w[c]);
    }
  }
  void input_backward(const Batch& b, const float* de, const BatchGrad& grad) const override {
    for (std::int64_t c = 0; c < shape_.C; ++c) {
      double sum = 0;
      for (std::int64_t t = 0; t < b.tokens(); ++t) sum += along(b.positions, t) * de[t * shape_.C + c];
      grad.w[c] += float(sum);
    }
  }

 protected:
  virtual double along(const Positions& positions, std::int64_t t) const = 0;
};

}  // namespace gnomon
