#pragma once
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {

// Disentangled attention: what DeBERTa v1 and v2 share. He et al. 2020, https://arxiv.org/abs/2006.03654, equations 2
// to 4; microsoft/DeBERTa, disentangled_attention.py.
//
//   s[h,i,j] = (q_i·k_j + q_i·K[row(δ)] + k_j·Q[r] + Q[r]·K[row(δ)])/√(f·D),   δ = p_i − p_j
//   r = row(δ) with direction=code: the authors gather by −(j − i) on the key axis and transpose, so every DeBERTa
//   checkpoint has it;  r = row(−δ) with direction=paper: δ(j,i), as equation 4 prints it
//   K = P·W_kᵀ + b_k, Q = P·W_qᵀ + b_q, P the table of 2·span rows; f = 1 + the number of terms beside q·k
//
// The terms are content→position (c2p), position→content (p2c), position→position (p2p). W are own, or those of
// the layer (projections=shared). The table and its projections are one for all layers, or each layer's own (layers=own):
// checkpoints that do not share the layer's projections have own ones in every layer, and one table.
class Disentangled : public Encoding, public CrossPart {
 public:
  Disentangled(const Options& options, const Shape& shape, std::int64_t span);
  unsigned reads() const override { return shared_ ? unsigned(kReadsProjections) : 0; }
  bool per_layer() const override { return own_; }
  std::vector<ParamSpec> params() const override;
  double content_scale() const override { return 1 / std::sqrt(factor_); }
  double cross(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override;
  void lower(const Batch& b, Terms& terms) const override;
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override;

  static std::vector<OptionSpec> options(std::string_view projections, std::vector<OptionSpec> more);

 protected:
  virtual double offset(double delta) const = 0;  // δ, or its bucket
  const std::int64_t span_;

 private:
  std::int64_t row_of(double delta) const;
  std::int64_t query_row(double delta) const { return row_of(paper_ ? -delta : delta); }
  std::int64_t rows() const { return 2 * span_; }
  // Offsets of the parameters.
  std::int64_t gain() const { return rows() * shape_.C; }
  std::int64_t weight_k() const { return gain() + (norm_ ? 2 * shape_.C : 0); }
  std::int64_t weight_q() const { return weight_k() + shape_.H * shape_.D * (shape_.C + 1); }
  struct Projected;
  Projected project(const Batch& b) const;
  void project_backward(const Batch& b, const Projected& p, const BatchGrad& grad) const;
  double projected(const Scene& s, Role role, std::int64_t row, std::int64_t channel) const;

  const bool c2p_, p2c_, p2p_, shared_, own_, norm_, paper_;
  const double factor_;   // f
  const double epsilon_;  // of the table's norm
};

}  // namespace gnomon
