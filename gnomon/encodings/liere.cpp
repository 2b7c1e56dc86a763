// LieRE: a learned rotation of several axes. Ostmeier et al. 2024, https://arxiv.org/abs/2406.10322, section 4; the authors'
// StanfordMIMI/LieRE, models/rope_vit.py, LierePositionEncoder and FlexibleAttention.
//
//   q and k of token t: block n of head h is multiplied by exp(Σ_a p_a·A[a,h,n])
//   A[a,h,n] = U − Uᵀ, U the part above the diagonal of generators[a,h,n];   p_a = coordinate a over the extent
//
// The generators do not commute: with two axes or more and blocks of more than two channels the logits do not depend on the
// differences of the coordinates alone. The authors divide coordinates by the steps of a side less 1, so they run from 0 to 1 at the
// training size; their class token stands at 0. Acts on q and k. Parameters: generators (axes, H or 1, blocks, size, size),
// uniform in [0, 2π) at the start, of which only the part above the diagonal is read; each layer its own.
#include <numbers>

#include "gnomon/encodings/dense_rotary.h"

namespace gnomon {
namespace {

class LieRe final : public DenseRotary {
 public:
  LieRe(const Options& options, const Shape& shape)
      : DenseRotary(options, shape, options.word("heads") == "shared") {}
  std::vector<ParamSpec> params() const override {
    const Random random(1, "liere generators");
    std::vector<double> start;
    for (std::int64_t n = 0; n < grid_.axes * of_axis(); ++n)
      start.push_back(2 * std::numbers::pi * random.uniform(std::uint64_t(n)));
    return {{"generators", {grid_.axes, tables_of_heads(), blocks(), size_, size_}, 0, 0, false, start}};
  }

 protected:
  std::vector<double> generators(std::span<const double> w) const override {
    std::vector<double> A(std::size_t(grid_.axes * of_axis()));
    each_above(std::int64_t(A.size()),
               [&](std::size_t above, std::size_t below) { A[above] = w[above], A[below] = -w[above]; });
    return A;
  }
  void generators_backward(std::span<const double>, const std::vector<double>& dA, float* dw) const override {
    each_above(std::int64_t(dA.size()),
               [&](std::size_t above, std::size_t below) { dw[above] += float(dA[above] - dA[below]); });
  }

 private:
  // f(index of a number above the diagonal, of its mirror image)
  template <class Body>
  void each_above(std::int64_t numbers, const Body& f) const {
    for (std::int64_t n = 0; n < numbers; ++n) {
      const std::int64_t r = n / size_ % size_, c = n % size_;
      if (r < c) f(std::size_t(n), std::size_t(n + (c - r) * (size_ - 1)));
    }
  }
};

}  // namespace

extern const Entry liere_entry;
const Entry liere_entry = entry<LieRe>(
    {.name = "liere",
     .aliases = {"lie_rotary", "lie_rope"},
     .title = "LieRE: rotations of whole blocks of channels by learned generators",
     .paper = "https://arxiv.org/abs/2406.10322",
     .formula = "block n of head h turns by exp(sum_a p_a*A[a,h,n]), A skew-symmetric and learned",
     .latex =
         R"(R(p) = \exp\Big(\sum_a p_a A_{a,h,n}\Big) \;\text{on blocks of}\; q \;\text{and}\; k, \quad A^{\top} = -A)",
     .pitfall = "with two axes the generators do not commute, so moving all positions changes the logits; "
                "coordinates run from 0 to 1",
     .year = 2024,
     .relative = false,
     .options = DenseRotary::options({{.name = "heads",
                                       .help = "each head has its own generators, or all heads share them",
                                       .standard = "own",
                                       .words = {"own", "shared"}}})});

}  // namespace gnomon
