// A control of a study: the sinusoid in another basis.
//
//   e[p] = Q·PE[p],   Q a random orthogonal matrix (C,C)
//
// Norms, distances and dot products are those of the sinusoid; no channel belongs to one frequency any more. What a model
// does with single channels would change, what it does with the subspace would not. Acts on the input. No parameters.
#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/encodings/sines.h"

namespace gnomon {
namespace {

// Gram-Schmidt, twice, on normal numbers: rows of an orthogonal matrix.
std::vector<double> random_orthogonal(std::int64_t n, std::uint64_t seed) {
  check_extents("rotated", {{"C", n, 1, 4096}});  // O(n³): beyond, it takes more than minutes
  const Random random(seed, "rotated positions");
  std::vector<double> q(std::size_t(n * n));
  for (std::int64_t r = 0; r < n; ++r) {
    double* row = &q[r * n];
    for (std::int64_t c = 0; c < n; ++c) row[c] = random.normal(std::uint64_t(r * n + c));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t b = 0; b < r; ++b) {
        double dot = 0;
        for (std::int64_t c = 0; c < n; ++c) dot += row[c] * q[b * n + c];
        for (std::int64_t c = 0; c < n; ++c) row[c] -= dot * q[b * n + c];
      }
    }
    double norm = 0;
    for (std::int64_t c = 0; c < n; ++c) norm += row[c] * row[c];
    for (std::int64_t c = 0; c < n; ++c) row[c] /= std::sqrt(norm);
  }
  return q;
}

class Rotated final : public FixedInput {
 public:
  Rotated(const Options& options, const Shape& shape)
      : FixedInput(shape),
        sines_(make_sines(options, shape.C)),
        basis_(random_orthogonal(shape.C, std::uint64_t(options.whole("seed")))) {}

 protected:
  double at(const Positions& p, std::int64_t t, std::int64_t c) const override {
    double sum = 0;
    for (std::int64_t k = 0; k < shape_.C; ++k) sum += basis_[c * shape_.C + k] * sines_.at(p[t], k);
    return sum;
  }
  Floats tables(const Positions& p) const override {
    const std::int64_t C = shape_.C;
    Floats e(p.size() * C);
    std::vector<double> plain(std::size_t(C), 0.0);
    for (std::int64_t t = 0; t < p.size(); ++t) {
      for (std::int64_t k = 0; k < C; ++k) plain[k] = sines_.at(p[t], k);
      for (std::int64_t c = 0; c < C; ++c) {
        double sum = 0;
        for (std::int64_t k = 0; k < C; ++k) sum += basis_[c * C + k] * plain[k];
        e[t * C + c] = float(sum);
      }
    }
    return e;
  }

 private:
  const Sines sines_;
  const std::vector<double> basis_;
};

}  // namespace

extern const Entry rotated_entry;
const Entry rotated_entry =
    entry<Rotated>({.name = "rotated",
                    .title = "Control: the sinusoid in a random orthogonal basis",
                    .paper = "https://arxiv.org/abs/1706.03762",
                    .formula = "e[p] = Q*PE[p], Q random orthogonal",
                    .latex = R"(e_p = Q\, \mathrm{PE}_p, \quad Q \;\text{random orthogonal})",
                    .pitfall = "the vectors cost C times more to compute than plain sinusoids",
                    .year = 2017,
                    .relative = false,

                    .options = sine_options({{.name = "seed",
                                              .help = "seed of the basis",
                                              .standard = "1",
                                              .least = 0,
                                              .most = 1e9,
                                              .whole = true}})});

}  // namespace gnomon
