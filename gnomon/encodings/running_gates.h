#pragma once
#include <algorithm>
#include <vector>

#include "gnomon/encodings/gates.h"

namespace gnomon {

// Biases that gates along the sequence add up: the logit of query i and key j gets Σ_{l=j+1..i} d(w_h·x_l + b_h), where x is what
// the layer projects q and k from. A member says what d is. The sum is a difference of two running sums, kept in double. They
// begin anew where no later token sees an earlier one, so no number of one document reaches another. For causal masks.
// Parameters: weight (H,C), bias (H), each layer its own.
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
    const std::vector<bool> begins = beginnings(t, content.T);
    each_head(content, [&](std::int64_t first, std::int64_t batch, std::int64_t h) {
      double sum = 0;
      for (std::int64_t l = 0; l < content.T; ++l) {
        if (begins[std::size_t((batch * content.T + l) % std::int64_t(begins.size()))]) sum = 0;
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
  // Of the tokens of one row of masks or of each sequence: whether nobody from this token on sees one before it.
  static std::vector<bool> beginnings(const Terms& t, std::int64_t T) {
    std::vector<bool> all(std::max<std::size_t>(t.first_key.size(), std::size_t(T)));
    std::int64_t seen = T;  // the first key that a token from here on sees
    for (std::int64_t n = std::int64_t(t.first_key.size()); n-- > 0;) {
      seen = std::min<std::int64_t>(n % T == T - 1 ? T : seen, t.first_key[std::size_t(n)]);
      all[std::size_t(n)] = seen >= n % T;
    }
    return all;
  }
  template <class Body>
  void each_head(const Content& content, const Body& f) const {
    for (std::int64_t n = 0; n < content.B * shape_.H; ++n) f(n * content.T, n / shape_.H, n % shape_.H);
  }
  const double start_;
};

}  // namespace gnomon
