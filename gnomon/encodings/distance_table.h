#pragma once
#include "gnomon/encodings/encoding.h"

namespace gnomon {

// A learned row E for each distance, D channels, shared by the heads, and multiplied by q, or by q and by k:
//   s[h,i,j] = (q_i·k_j + q_i·E[δ + L − 1] (+ k_j·E[δ + L − 1]))/√D,   δ = p_i − p_j,   |δ| < L
// A distance without a row is an error. Parameters: table E (2L−1, D), each layer its own.
class DistanceTable : public Encoding, public CrossPart {
 public:
  DistanceTable(const Options& options, const Shape& shape, std::string_view owner, bool keys_too);
  static std::vector<OptionSpec> options();
  bool per_layer() const override { return true; }
  std::optional<std::int64_t> positions_end() const override { return length_; }
  std::vector<ParamSpec> params() const override;
  double cross(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override;
  void lower(const Batch& b, Terms& terms) const override;
  void lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const override;

 private:
  std::int64_t row_of(double delta) const;
  template <class Body>
  void each(const Terms& t, const Body& f) const;
  const std::string_view owner_;
  const std::int64_t length_;
  const bool keys_too_;
};

}  // namespace gnomon
