#pragma once
#include "gnomon/encodings/gates.h"

namespace gnomon {

// Biases that gates along the sequence add up: the logit of query i and key j gets Σ_{l=j+1..i} d(w_h·x_l + b_h), where x is what
// the layer projects q and k from. A member says what d is. The sum is a difference of two running sums, kept in double. For
// causal masks. Parameters: weight (H,C), bias (H), each layer its own.
class RunningGates : public Encoding, public BiasPart {
 public:
  RunningGates(const Shape& shape, double start) : Encoding(shape), start_(start) {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsInput; }
  std::vector<ParamSpec> params() const override {
    return {{"weight", {shape_.H, shape_.C}, 0, 0.02, true}, {"bias", {shape_.H}, start_, 0, false}};
  }

  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    double sum = 0;
    for (std::int64_t l = j + 1; l <= i; ++l) sum += decay(gate(s.w.data(), &s.x[l * shape_.C], h));
    return sum;
  }
  void lower(const Batch& b, Terms& t) const override {
    const Content& content = *b.content;
    t.by_query.resize(content.B * shape_.H * content.T), t.by_key.resize(t.by_query.size());
    each_head(content, [&](std::int64_t first, std::int64_t batch, std::int64_t h) {
      double sum = 0;
      for (std::int64_t l = 0; l < content.T; ++l) {
        sum += decay(gate(b.w, content.x.row(batch * content.T + l), h));
        t.by_query[first + l] += float(sum), t.by_key[first + l] -= float(sum);
      }
    });
  }
  // A gate counts for every query at or after it and every key before it.
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    const Content& content = *b.content;
    each_head(content, [&](std::int64_t first, std::int64_t batch, std::int64_t h) {
      double sum = 0;
      for (std::int64_t l = content.T; l-- > 0;) {
        sum += double(g.by_query[first + l]) - double(g.by_key[first + l]);
        const float* x = content.x.row(batch * content.T + l);
        const float d = float(sum * decay_slope(gate(b.w, x, h)));
        float* dx = grad.content->x.row(batch * content.T + l);
        for (std::int64_t c = 0; c < shape_.C; ++c) {
          grad.w[h * shape_.C + c] += d * x[c];
          dx[c] += d * b.w[h * shape_.C + c];
        }
        grad.w[shape_.H * shape_.C + h] += d;
      }
    });
  }

 protected:
  virtual double decay(double z) const = 0;  // d(z), at most 0
  virtual double decay_slope(double z) const = 0;

 private:
  template <class W, class X>
  double gate(const W* w, const X* x, std::int64_t h) const {
    double sum = double(w[shape_.H * shape_.C + h]);
    for (std::int64_t c = 0; c < shape_.C; ++c) sum += double(w[h * shape_.C + c]) * double(x[c]);
    return sum;
  }
  template <class Body>
  void each_head(const Content& content, const Body& f) const {
    for (std::int64_t n = 0; n < content.B * shape_.H; ++n) f(n * content.T, n / shape_.H, n % shape_.H);
  }
  const double start_;
};

}  // namespace gnomon
