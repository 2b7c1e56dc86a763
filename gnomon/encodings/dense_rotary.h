#pragma once
#include <vector>

#include "gnomon/encodings/encoding.h"

namespace gnomon {

// Options of rotations on a grid: axes, columns and extent; `more` come after them. By the extent coordinates are divided.
std::vector<OptionSpec> grid_options(std::vector<OptionSpec> more);
double grid_extent(const Options& options, const Shape& shape);

// Channels that one matrix may turn.
inline constexpr std::int64_t kMostDense = 1024;
// Throws Error(usage) naming the owner for a head with more.
void check_dense(std::string_view owner, const Shape& shape);

// Dense rotations: block n of the channels of q and of k, `size` neighbours, is multiplied by
//   R(p) = exp(Σ_a p_a·A[a,h,n]),   A skew-symmetric,   p_a = coordinate a over the extent
// Channels after the last whole block stay. A member says what its generators A are; `shared`: those of all heads are the same.
// A matrix of each token and head takes `size` times the memory of q.
class DenseRotary : public Encoding, public MapPart {
 public:
  DenseRotary(const Options& options, const Shape& shape, bool shared);
  // axes, columns, extent and size; `more` come after them.
  static std::vector<OptionSpec> options(std::vector<OptionSpec> more);
  bool per_layer() const override { return true; }
  bool keeps_keys() const override { return true; }
  std::int64_t axes() const override { return grid_.axes; }

  void map_row(const Scene& s, Role role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override;
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override;
  void map_backward(const Batch& b, std::span<const Step> steps, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override;

 protected:
  // A (axes, heads or 1, blocks, size, size) of the parameters, and from its gradient theirs.
  virtual std::vector<double> generators(std::span<const double> w) const = 0;
  virtual void generators_backward(std::span<const double> w, const std::vector<double>& dA,
                                   float* dw) const = 0;
  std::int64_t blocks() const { return shape_.D / size_; }
  std::int64_t tables_of_heads() const { return shared_ ? 1 : shape_.H; }
  std::int64_t of_axis() const { return tables_of_heads() * blocks() * size_ * size_; }  // numbers of A
  const Grid grid_;
  const std::int64_t size_;

 private:
  std::vector<double> places(const Positions& positions) const;  // (tokens, axes)
  // Σ_a p_a·A[a, block], of the block's number among those of all heads.
  std::vector<double> exponent(const std::vector<double>& A, const double* place, std::int64_t block) const;
  const double extent_;
  const bool shared_;
};

}  // namespace gnomon
