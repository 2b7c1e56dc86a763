// Far positions and narrow storage: against long double, each with the wrong way as a control.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/spec/scheme.h"
#include "tests/support/support.h"
#include "tests/support/turn.h"

namespace gnomon {
namespace {

constexpr double kFar[] = {1000, 100000, 131071, 1000000, 1048575};

// cos and sin that the tables of a rotation hold, against long double from the same frequencies in long double.
TEST(Precision, RotationsKeepFarPositions) {
  const std::int64_t D = 128, pairs = D / 2;
  const auto e = make_encoding("rope(theta=500000)", {D, 1, D, 16, true});
  for (const double p : kFar) {
    const std::vector<double> one{p};
    const Rotate turn = turn_of(*e, one);
    double most = 0, running = 0;
    float angle = float(p);
    for (std::int64_t n = 0; n < pairs; ++n) {
      const long double exact = (long double)p * std::pow(500000.0L, -2.0L * (long double)n / (long double)D);
      most = std::max({most, std::abs(double(std::cos(exact) - turn.cos[n])),
                       std::abs(double(std::sin(exact) - turn.sin[n]))});
      running = std::max(running, std::abs(double(std::cos(exact)) - double(std::cos(angle))));
      angle *= float(std::pow(500000.0, -2.0 / double(D)));  // the control: a running product in float
    }
    EXPECT_LT(most, 1e-6) << p;
    EXPECT_TRUE(p < 1e5 || running > 1e-4) << p;
  }
}

// Sixteen bits hold 256 whole numbers in bfloat16: positions must not be among what is stored.
TEST(Precision, Bfloat16RowsKeepPositionsDistinct) {
  const std::int64_t T = 1024, D = 64;
  const auto e = make_encoding("rope", {D, 1, D, 16, true});
  const auto turned = [&](const std::vector<double>& positions) {
    const Rotate turn = turn_of(*e, positions);
    Floats rows(std::size_t(T * D), 1.0f);
    rotate({Pairing::halves, D / 2, turn.cos.data(), turn.sin.data()}, {1, T, 1, 0, D, D}, +1, rows.data());
    std::set<std::vector<std::uint16_t>> distinct;
    for (std::int64_t t = 0; t < T; ++t) {
      std::vector<std::uint16_t> bits;
      for (std::int64_t c = 0; c < D; ++c) bits.push_back(BFloat16(rows[t * D + c]).bits);
      distinct.insert(bits);
    }
    return distinct.size();
  };
  std::vector<double> exact, narrow;
  for (std::int64_t t = 0; t < T; ++t) {
    exact.push_back(double(t));
    narrow.push_back(double(float(BFloat16(float(t)))));
  }
  EXPECT_EQ(turned(exact), std::size_t(T));
  EXPECT_EQ(turned(narrow), 513u);  // the control: positions rounded to bfloat16
}

TEST(Precision, AlibiIsExactAt32768Tokens) {
  const std::int64_t T = 32768, H = 12;
  const auto e = make_encoding("alibi", {4 * H, H, 4, T, true});
  const Placement place = Placement::consecutive(0, T);
  Terms terms = terms_for(place, true);
  const Floats tables;
  part<TermsPart>(*e)->lower({place, tables, nullptr}, terms);
  const std::vector<double> zero(std::size_t(2 * H * 4));
  for (std::int64_t h = 0; h < H; ++h) {
    const std::vector<double> two{0, 1};
    const double slope = -Definition(*e, {two, zero, zero, {}}).logit(h, 1, 0);
    for (std::int64_t d = 0; d < T; ++d) ASSERT_EQ(terms.by_distance[h * T + d], float(-slope * double(d)));
    for (std::int64_t d = 1; d < T; ++d)
      ASSERT_LT(terms.by_distance[h * T + d], terms.by_distance[h * T + d - 1]);
  }
  // The control: the same bias in bfloat16 merges most neighbours.
  std::int64_t equal = 0;
  for (std::int64_t d = 1; d < T; ++d)
    equal += BFloat16(terms.by_distance[d]).bits == BFloat16(terms.by_distance[d - 1]).bits;
  EXPECT_GT(equal, T / 2);
}

TEST(Precision, SixteenBitsRoundToNearest) {
  const struct {
    float x, bf16, fp16;
  } cases[] = {{1.0f, 1.0f, 1.0f},
               {257.0f, 256.0f, 257.0f},
               {2049.0f, 2048.0f, 2048.0f},
               {2051.0f, 2048.0f, 2052.0f},
               {-0.1f, -0.10009765625f, -0.0999755859375f},
               {6e-8f, 6.00703061e-08f, 5.96046448e-08f},
               {1e-9f, 9.96806293e-10f, 0.0f}};
  for (const auto& c : cases) {
    EXPECT_FLOAT_EQ(float(BFloat16(c.x)), c.bf16) << c.x;
    EXPECT_FLOAT_EQ(float(Float16(c.x)), c.fp16) << c.x;
  }
  EXPECT_EQ(float(Float16(1e6f)), INFINITY);
  EXPECT_TRUE(std::isnan(float(Float16(NAN))));
  EXPECT_TRUE(std::isnan(float(BFloat16(NAN))));
}

// Keys in a cache under one context, turned to what the longer context asks for.
TEST(Rerotation, MovesCachedKeysToNewFrequencies) {
  const std::int64_t D = 64, T = 16;
  for (const char* spec : {"dynamic_ntk(factor=4, original=4096)", "dynamic_yarn(original=4096)",
                           "longrope(short=1.25, long=8, original=4096)"}) {
    SCOPED_TRACE(spec);
    const auto encoding = make_encoding(spec, {D, 1, D, 4096, true});
    const auto& map = *part<TurnPart>(*encoding);
    std::vector<double> positions;
    for (std::int64_t t = 0; t < T; ++t) positions.push_back(double(t * 8191));
    const Turns before = map.turns_at(2048), after = map.turns_at(131072);
    const Floats key = normals(T * D, 3);
    const RowLayout rows{1, T, 1, 0, D, D};
    const auto turned = [&](const Turns& turns) {  // of halves, by complex numbers
      Floats y = key;
      for (std::int64_t n = 0; n < T * D / 2; ++n) {
        const std::size_t a = std::size_t(n / (D / 2) * D + n % (D / 2)), b = a + D / 2;
        const std::complex<double> z(key[a], key[b]),
            w = z * std::polar(turns.factor, positions[std::size_t(n / (D / 2))] *
                                                 turns.frequencies[std::size_t(n % (D / 2))]);
        y[a] = float(w.real()), y[b] = float(w.imag());
      }
      return y;
    };
    ASSERT_EQ(before.window.pairing, Pairing::halves);
    const Floats old = turned(before), want = turned(after);
    Floats found = old;
    rerotate(before, after, positions, rows, found.data());
    double stale = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(found[i], want[i], 2e-6);
      stale = std::max(stale, double(std::abs(old[i] - want[i])));
    }
    EXPECT_GT(stale, 0.1);  // the control: kept as they were
    EXPECT_THROW(rerotate({before.window, {1.0}}, after, positions, rows, found.data()), Error);
    EXPECT_THROW(
        rerotate({{Pairing::adjacent, 0, D}, before.frequencies}, after, positions, rows, found.data()),
        Error);
  }
}

}  // namespace
}  // namespace gnomon
