// A control of a study: the rows of the sinusoid in a random order.
//
//   e[p] = PE[π(p)],   π a permutation of 0..length−1
//
// The same set of vectors, so the same norms, dot products and subspace; only which position has which is lost. Acts on
// the input. No parameters. There is no vector beyond the permutation.
#include <algorithm>
#include <numeric>

#include "gnomon/encodings/sines.h"

namespace gnomon {
namespace {

class Permuted final : public FixedInput {
 public:
  Permuted(const Options& options, const Shape& shape)
      : FixedInput(shape), sines_(make_sines(options, shape.C)) {
    order_.resize(options.whole("length") ? options.whole("length") : shape.length);
    std::iota(order_.begin(), order_.end(), 0);
    const Random random(std::uint64_t(options.whole("seed")), "permuted positions");
    for (std::size_t n = order_.size(); n-- > 1;) std::swap(order_[n], order_[random.below(n, n + 1)]);
  }
  std::optional<std::int64_t> positions_end() const override { return std::int64_t(order_.size()); }

 protected:
  double at(const Positions& p, std::int64_t t, std::int64_t c) const override {
    return sines_.at(double(order_[whole_position("permuted", p[t], std::int64_t(order_.size()))]), c);
  }

 private:
  const Sines sines_;
  std::vector<std::int64_t> order_;
};

}  // namespace

extern const Entry permuted_entry;
const Entry permuted_entry = entry<Permuted>(
    {.name = "permuted",
     .title = "Control: the sinusoid with its positions in a random order",
     .paper = "https://arxiv.org/abs/1706.03762",
     .formula = "e[p] = PE[pi(p)], pi a random permutation",
     .latex = R"(e_p = \mathrm{PE}_{\pi(p)}, \quad \pi \;\text{a random permutation})",
     .pitfall = "positions beyond its length have no vector",
     .year = 2017,
     .relative = false,

     .options = sine_options({{.name = "length",
                               .help = "number of permuted positions; 0 = the training window",
                               .standard = "0",
                               .least = 0,
                               .most = 1 << 24,
                               .whole = true},
                              {.name = "seed",
                               .help = "seed of the permutation",
                               .standard = "1",
                               .least = 0,
                               .most = 1e9,
                               .whole = true}})});

}  // namespace gnomon
