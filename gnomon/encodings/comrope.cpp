// ComRoPE: learned rotations that commute. Yu et al. 2025, https://arxiv.org/abs/2506.03737, section 4; the authors'
// Longin-Yu/ComRoPE, model.py, ComRoPELDAttention and ComRoPEAPAttention.
//
//   q and k of token t: block n of head h is multiplied by exp(Σ_a p_a·m[a,n]·B[h,n]),   B = F − Fᵀ
//   axes_by=multiplier (linearly dependent, LD): m learned, the same for all heads
//   axes_by=partition (axial partition, AP): m[a,n] = 1 where n mod axes = a, else 0
//
// The blocks of one head and number are multiples of one matrix, so they commute and the logits depend on the differences of
// the coordinates. Acts on q and k. Parameters: freqs F (H, blocks, size, size), multiplier m (axes, blocks), N(0, 1) at the
// start; each layer its own. The authors' coordinates are (index + 1/2)/patches.
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/dense_rotary.h"

namespace gnomon {
namespace {

class ComRope final : public DenseRotary {
 public:
  ComRope(const Options& options, const Shape& shape)
      : DenseRotary(options, shape, false), learned_(options.word("axes_by") == "multiplier") {
    if (!learned_ && (shape.D % size_ || blocks() % grid_.axes)) {
      throw Error(Fault::usage, text("comrope: axes_by=partition deals ", counted(blocks(), "block"), " of ",
                                     size_, " channels out to ", grid_.axes,
                                     " axes; allowed are heads of a multiple of size·axes channels"));
    }
  }
  std::vector<ParamSpec> params() const override {
    std::vector<ParamSpec> all{{"freqs", {tables_of_heads(), blocks(), size_, size_}, 0, 1, false}};
    if (learned_) all.push_back({"multiplier", {grid_.axes, blocks()}, 0, 1, false});
    return all;
  }

 protected:
  std::vector<double> generators(std::span<const double> w) const override {
    std::vector<double> A(std::size_t(grid_.axes * of_axis()));
    each(std::int64_t(A.size()), [&](std::size_t at, std::size_t f, std::size_t mirrored, std::size_t m) {
      A[at] = factor(w, m) * (w[f] - w[mirrored]);
    });
    return A;
  }
  void generators_backward(std::span<const double> w, const std::vector<double>& dA,
                           float* dw) const override {
    std::vector<double> d(w.size());
    each(std::int64_t(dA.size()), [&](std::size_t at, std::size_t f, std::size_t mirrored, std::size_t m) {
      d[f] += factor(w, m) * dA[at], d[mirrored] -= factor(w, m) * dA[at];
      if (learned_) d[std::size_t(of_axis()) + m] += dA[at] * (w[f] - w[mirrored]);
    });
    for (std::size_t n = 0; n < d.size(); ++n) dw[n] += float(d[n]);
  }

 private:
  double factor(std::span<const double> w, std::size_t m) const {
    if (learned_) return w[std::size_t(of_axis()) + m];
    const std::int64_t axis = std::int64_t(m) / blocks(), block = std::int64_t(m) % blocks();
    return block % grid_.axes == axis ? 1 : 0;
  }
  // f(number of A, of F, of its mirror image, of m)
  template <class Body>
  void each(std::int64_t numbers, const Body& f) const {
    for (std::int64_t n = 0; n < numbers; ++n) {
      const std::int64_t at = n % of_axis(), block = at / (size_ * size_) % blocks();
      const std::int64_t r = n / size_ % size_, c = n % size_;
      f(std::size_t(n), std::size_t(at), std::size_t(at + (c - r) * (size_ - 1)),
        std::size_t(n / of_axis() * blocks() + block));
    }
  }
  const bool learned_;
};

}  // namespace

extern const Entry comrope_entry;
const Entry comrope_entry = entry<ComRope>(
    {.name = "comrope",
     .aliases = {"comrope_ld", "comrope_ap"},
     .title = "ComRoPE: learned rotations of blocks of channels that commute",
     .paper = "https://arxiv.org/abs/2506.03737",
     .formula = "block n of head h turns by exp(sum_a p_a*m[a,n]*(F - F^T)[h,n])",
     .latex =
         R"(R(p) = \exp\Big(\sum_a p_a\, m_{a,n} \big(F_{h,n} - F_{h,n}^{\top}\big)\Big) \;\text{on blocks of}\; q \;\text{and}\; k)",
     .pitfall = "the multipliers are shared by the heads, the matrices are not; the authors' coordinates run "
                "from 0 to 1",
     .year = 2025,
     .relative = true,
     .options = DenseRotary::options(
         {{.name = "axes_by",
           .help = "a learned multiplier for each axis and block (LD), or each block serves one axis (AP)",
           .standard = "multiplier",
           .words = {"multiplier", "partition"},
           .word_aliases = {{"ld", "multiplier"}, {"ap", "partition"}}}})});

}  // namespace gnomon
