// Attention whose products round their factors to bfloat16, against the same from factors that are rounded already, and
// against its definition in double: forward and gradients, every SIMD target.
#include <algorithm>
#include <cmath>

#include "gnomon/core/half.h"
#include "gnomon/kernels/matmul.h"
#include "tests/kernels/attend_extras.h"

namespace gnomon {
namespace {

class AttendRounded : public OnEveryTarget {
 protected:
  // The vectors of other targets have no such product.
  static bool rounds() { return multiplies_in(Precision::bfloat16) && GetParam().starts_with("AVX3"); }
};
INSTANTIATE_TEST_SUITE_P(Targets, AttendRounded, testing::ValuesIn(simd_targets()), target_name);

Problem in(Precision precision, Problem p) {
  p.s.precision = precision;
  return p;
}
// To the nearest, ties to even; or cut.
Problem rounded(Problem p) {
  for (Floats* x : {&p.q, &p.k, &p.v})
    for (float& n : *x) n = float(BFloat16(n));
  return p;
}
Problem cut(Problem p) {
  for (Floats* x : {&p.q, &p.k, &p.v})
    for (float& n : *x) n = std::bit_cast<float>(std::bit_cast<std::uint32_t>(n) & 0xffff0000u);
  return p;
}
bool same(const Fused& a, const Fused& b) {
  return a.out == b.out && a.lse == b.lse && a.dq == b.dq && a.dk == b.dk && a.dv == b.dv &&
         a.dterms == b.dterms && a.dbias == b.dbias && a.dsinks == b.dsinks;
}
double distance(const Floats& a, const Floats& b) {
  double off = 0, all = 0;
  for (std::size_t n = 0; n < a.size(); ++n) off += std::pow(a[n] - b[n], 2), all += std::pow(b[n], 2);
  return std::sqrt(off / all);
}

// Tiles at the diagonal, whole ones, odd widths and odd numbers of tokens, windows, groups, and a scale that rounds nothing.
std::vector<Problem> problems() {
  const auto shape = [](std::int64_t T, std::int64_t K, std::int64_t D, bool causal) {
    return AttendShape{
        .B = 2, .H = 2, .queries = T, .keys = T, .K = K, .D = D, .scale = 0.25f, .causal = causal};
  };
  AttendShape windowed = shape(250, 32, 48, true), grouped = shape(67, 16, 16, true),
              asking = shape(301, 24, 40, true);
  windowed.left = 37, grouped.kv_heads = 1, asking.queries = 9;
  std::vector<Problem> all;
  for (const bool causal : {true, false}) {
    all.emplace_back(shape(1, 5, 3, causal), 0u);
    all.emplace_back(shape(31, 33, 17, causal), unsigned(kBias | kPadding));
    all.emplace_back(shape(129, 64, 64, causal), 0u);
    all.emplace_back(shape(307, 19, 80, causal), unsigned(kCap | kSinks));
  }
  all.emplace_back(shape(131, 20, 31, true), unsigned(kStick));
  for (const AttendShape& s : {windowed, grouped, asking}) all.emplace_back(s, unsigned(kMask));
  return all;
}

TEST_P(AttendRounded, FactorsThatAreRoundedAlreadyGiveTheSameBits) {
  for (const Problem& p : problems()) {
    SCOPED_TRACE(testing::Message() << p.s.queries << " of " << p.s.keys << ", " << p.s.K << ", " << p.s.D);
    const Fused f(in(Precision::bfloat16, p)), plain(p);
    EXPECT_EQ(same(f, Fused(in(Precision::bfloat16, rounded(p)))), rounds());
    EXPECT_FALSE(same(f, Fused(in(Precision::bfloat16, cut(p)))));
    EXPECT_EQ(same(f, plain), !rounds());
  }
}

// Beside the factors of the score the weights are rounded: by at most 2^-9 of themselves.
TEST_P(AttendRounded, IsNearItsDefinition) {
  if (!rounds()) GTEST_SKIP() << "in float32";
  for (const Problem& given : problems()) {
    SCOPED_TRACE(testing::Message() << given.s.queries << " of " << given.s.keys << ", " << given.s.K);
    if (given.s.left >= 0) continue;  // the definition here has no windows
    const Problem p = rounded(given);
    const Fused f(in(Precision::bfloat16, p));
    const float most =
        *std::max_element(p.v.begin(), p.v.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
    std::vector<double> out;
    p.each_row([&](std::int64_t b, std::int64_t h, std::int64_t i) {
      const double lse = p.row(b, h, i, out);
      const float found = f.lse[(b * p.s.H + h) * p.s.queries + i];
      if (std::isinf(lse)) {
        EXPECT_EQ(found, lse);
      } else {
        EXPECT_NEAR(found, lse, 1e-5);
      }
      for (std::int64_t d = 0; d < p.s.D; ++d)
        EXPECT_NEAR(p.heads(f.out.data(), p.s.queries, p.s.H, p.s.D).row(b, i, h)[d], out[d],
                    std::abs(most) / 512 + 1e-5);
    });
  }
}

TEST_P(AttendRounded, GradientsAreNearThoseOfFloat32) {
  for (const Problem& p : problems()) {
    if (p.s.keys == 1) continue;
    SCOPED_TRACE(testing::Message() << p.s.queries << " of " << p.s.keys << ", " << p.s.K << ", " << p.s.D);
    const Fused f(in(Precision::bfloat16, p)), plain(p);
    for (const auto& [near, exact] :
         {std::pair{&f.dq, &plain.dq}, {&f.dk, &plain.dk}, {&f.dv, &plain.dv}, {&f.out, &plain.out}}) {
      const double off = distance(*near, *exact);
      EXPECT_LT(off, 0.02);
      EXPECT_EQ(off > 1e-4, rounds()) << off;
    }
  }
}

// A head that meets a number of 2^50 or more is computed in float32, the others are not.
TEST_P(AttendRounded, WhatIsNotTameStaysInFloat32) {
  Problem p({.B = 1, .H = 2, .queries = 40, .keys = 40, .K = 16, .D = 16, .scale = 0.25f, .causal = true}, 0);
  p.v[(7 * 2 + 1) * 16 + 3] = 0x1p51f;
  const Fused f(in(Precision::bfloat16, p)), plain(p);
  for (const std::int64_t h : {0, 1}) {
    bool equal = true;
    for (std::int64_t i = 0; i < 40; ++i)
      equal = equal && std::equal(&f.out[(i * 2 + h) * 16], &f.out[(i * 2 + h) * 16] + 16,
                                  &plain.out[(i * 2 + h) * 16]);
    EXPECT_EQ(equal, h == 1 || !rounds()) << h;
  }
}

}  // namespace
}  // namespace gnomon
