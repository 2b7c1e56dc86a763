#pragma once
#include "gnomon/encodings/encoding.h"

namespace gnomon {

// The family of encodings that add a number f(w,h,δ) to the logit: s[h,i,j] = q_i·k_j/√D + f(w,h,p_i − p_j).
class DistanceBias : public Encoding, public BiasPart {
 public:
  using Encoding::Encoding;
  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    return by_distance(s.w, h, s.positions[i] - s.positions[j]);
  }
  void lower(const Batch& b, Terms& terms) const override {
    const std::vector<double> w(b.w, b.w + param_count());
    add_by_distance(terms, shape_.H,
                    [&](std::int64_t h, std::int64_t delta) { return by_distance(w, h, double(delta)); });
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    const std::vector<double> w(b.w, b.w + param_count());
    if (w.empty()) return;
    std::vector<double> dw(w.size());
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      for (std::int64_t r = 0; r < g.distances; ++r) {
        const double d = g.by_distance[h * g.distances + r];
        if (d != 0) by_distance_backward(w, h, double(g.first_distance + r), d, dw);
      }
    }
    for (std::size_t n = 0; n < dw.size(); ++n) grad.w[n] += float(dw[n]);
  }

 protected:
  virtual double by_distance(std::span<const double> w, std::int64_t h, double delta) const = 0;
  // Adds d·∂f/∂w to dw.
  virtual void by_distance_backward(std::span<const double> /*w*/, std::int64_t /*h*/, double /*delta*/,
                                    double /*d*/, std::span<double> /*dw*/) const {}
};

// ALiBi's slopes for H heads: 2^(−8(h+1)/H) for a power of two; otherwise those of the next lower power P, then
// every second one of those for 2P (the authors' get_slopes). `geometric`: the first formula for every H. `most`: another
// exponent than 8 (MPT's alibi_bias_max).
double alibi_slope(std::int64_t h, std::int64_t H, bool geometric, double most = 8);

// T5's bucket of δ = query − key among `buckets`, of which causal use has all and bidirectional use a half for
// each side. mesh-tensorflow, transformer_layers.py, _relative_position_bucket. `distance`: all beyond it share
// the last bucket.
struct Buckets {
  std::int64_t count, distance;
  bool causal;
};
std::int64_t t5_bucket(const Buckets& buckets, double delta);
OptionSpec bucket_count_option();     // `buckets`
OptionSpec bucket_distance_option();  // `distance`
// Throws Error(usage) naming `owner` for an odd number of buckets, 0, or a distance that leaves no logarithm.
void check_buckets(std::string_view owner, const Buckets& buckets);

}  // namespace gnomon
