// A control of a study: a fixed random vector for each position, of the variance of sinusoids.
//
//   e[p,c] = N(0, 1/2), a function of (seed, p, c) alone
//
// It tells positions apart as well as any encoding and says nothing of their distance. Whole positions from 0. Acts on the
// input. No parameters.
#include <cmath>

#include "gnomon/encodings/sines.h"

namespace gnomon {
namespace {

class RandomVectors final : public FixedInput {
 public:
  RandomVectors(const Options& options, const Shape& shape)
      : FixedInput(shape), random_(std::uint64_t(options.whole("seed")), "random positions") {}

 protected:
  double at(const Positions& p, std::int64_t t, std::int64_t c) const override {
    const std::int64_t place = whole_position("random", p[t], std::int64_t{1} << 40);
    return std::sqrt(0.5) * random_.normal(std::uint64_t(place * shape_.C + c));
  }

 private:
  const Random random_;
};

}  // namespace

extern const Entry random_entry;
const Entry random_entry = entry<RandomVectors>(
    {.name = "random",
     .title = "Control: a fixed random vector for each position",
     .paper = "https://arxiv.org/abs/1706.03762",
     .formula = "e[p,c] = N(0, 1/2) by (seed, p, c)",
     .latex = R"(e_{p,c} \sim N\left(0, \tfrac{1}{2}\right) \;\text{by}\; (\mathrm{seed}, p, c))",
     .pitfall =
         "the vectors say nothing about distance; positions unseen in training have meaningless vectors",
     .year = 2017,
     .relative = false,

     .options = {{.name = "seed",
                  .help = "seed of the random numbers",
                  .standard = "1",
                  .least = 0,
                  .most = 1e9,
                  .whole = true}}});

}  // namespace gnomon
