// Two encodings as CONTRIBUTING.md shows them, a bias and a map: each is a part with a definition and a fast path, and the
// laws hold for them alone and together, though no list knows them.
#include <gtest/gtest.h>

#include "tests/laws/laws.h"

namespace gnomon {
namespace {

class Falling final : public Encoding, public BiasPart {
 public:
  using Encoding::Encoding;
  double bias(const Scene& s, std::int64_t, std::int64_t i, std::int64_t j) const override {
    return -0.5 * std::abs(s.positions[i] - s.positions[j]);
  }
  void lower(const Batch&, Terms& t) const override {
    add_by_distance(t, shape_.H,
                    [&](std::int64_t, std::int64_t delta) { return -0.5 * double(std::abs(delta)); });
  }
};

class Shrinking final : public Encoding, public MapPart {
 public:
  using Encoding::Encoding;
  bool keeps_keys() const override { return true; }
  void map_row(const Scene& s, Role, std::int64_t, std::int64_t t, std::vector<double>& row) const override {
    for (double& x : row) x /= 1 + s.positions[t];
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    Scale scale{shape_.D, {}};
    for (std::int64_t t = 0; t < b.tokens(); ++t) scale.factor.push_back(float(1 / (1 + b.positions[t])));
    steps.push_back({Role::q | Role::k, scale});
  }
};

static_assert(sites_of<Encoding>() == 0 && sites_of<Falling>() == kLogits && sites_of<Shrinking>() == kQk);

constexpr std::int64_t kTokens = 13;
const Shape kShape{16, 2, 8, 64, true};

TEST(Parts, ABiasAndAMapAreAnEncodingEach) {
  const Falling falling(kShape);
  const Shrinking shrinking(kShape);
  Case c(kShape, falling, kTokens, 3);
  std::vector<double> none;
  expect_laws({{&falling, &none}}, c);
  expect_laws({{&shrinking, &none}}, c);
  expect_laws({{&falling, &none}, {&shrinking, &none}}, c);
  // The control: each of them matters.
  EXPECT_GT(std::abs(Definition(falling, c.scene()).logit(0, 9, 2) -
                     Definition(shrinking, c.scene()).logit(0, 9, 2)),
            0.1);
}

}  // namespace
}  // namespace gnomon
