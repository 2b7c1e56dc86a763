// Numbers that users check first, each beside the wrong convention that is in use somewhere.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/encodings/definition.h"
#include "gnomon/encodings/distance_bias.h"
#include "gnomon/encodings/ramp.h"
#include "gnomon/spec/scheme.h"
#include "tests/laws/laws.h"
#include "tests/support/turn.h"

namespace gnomon {
namespace {

TEST(Acceptance, YarnRampsOfThreeModels) {
  const auto ramp = [](double theta, double original, std::int64_t D, bool truncate) {
    return turning_ramp({theta, original, D, truncate}, 32, 1);
  };
  EXPECT_EQ(ramp(1e4, 4096, 128, true).low, 20);  // Llama 2
  EXPECT_EQ(ramp(1e4, 4096, 128, true).high, 46);
  EXPECT_EQ(ramp(1e6, 32768, 128, true).low, 23);  // Qwen 2.5
  EXPECT_EQ(ramp(1e6, 32768, 128, true).high, 40);
  EXPECT_NEAR(ramp(150000, 4096, 64, false).low, 8.0928, 5e-5);  // gpt-oss
  EXPECT_NEAR(ramp(150000, 4096, 64, false).high, 17.398, 5e-4);
  EXPECT_EQ(ramp(150000, 4096, 64, true).low, 8);  // the controls: rounded; and L0 taken for the new length
  EXPECT_EQ(ramp(150000, 4096, 64, true).high, 18);
  EXPECT_NE(ramp(1e4, 4 * 4096, 128, true).low, 20);
}

TEST(Acceptance, YarnsFactorIsSquaredInTheLogits) {
  const Shape shape{8, 1, 8, 32, true};
  const std::vector<double> at{0, 0}, q = Case::doubles(16, 1), k = Case::doubles(16, 2);
  const auto logit = [&](const char* spec) {
    return Definition(*make_encoding(spec, shape), {at, q, k, {}}).logit(0, 1, 0);
  };
  const double plain = logit("rope"), a = 0.1 * std::log(4.0) + 1;
  EXPECT_NEAR(logit("yarn(factor=4)") / plain, a * a, 1e-12);
  EXPECT_NEAR(logit("yarn(factor=4, attention_factor=1)") / plain, 1,
              1e-12);  // an explicit one replaces the rule
  EXPECT_NEAR(logit("yarn(factor=4, mscale=1, mscale_all_dim=1)") / plain, 1, 1e-12);
  EXPECT_GT(std::abs(logit("yarn(factor=4)") / plain - a), 0.1);  // the control: once
}

TEST(Acceptance, Llama3KeepsBlendsAndDivides) {
  const auto count = [](const char* spec) {
    const auto plain = make_encoding("rope(theta=500000)", {128, 1, 128, 8192, true})->frequencies();
    const auto w = make_encoding(spec, {128, 1, 128, 8192, true})->frequencies();
    std::vector<int> n(3);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double ratio = plain[i] / w[i];
      ++n[ratio < 1 + 1e-12 ? 0 : ratio > 8 - 1e-9 ? 2 : 1];
    }
    return n;
  };
  EXPECT_EQ(count("llama3(factor=8, original=8192)"), (std::vector<int>{29, 6, 29}));
  EXPECT_NE(count("llama3(factor=8, original=131072)"),
            (std::vector<int>{29, 6, 29}));  // the new length for L0
}

TEST(Acceptance, LongRopeSwitchesAboveTheOriginalLength) {
  const auto e = make_encoding("longrope(short=1, long=2, factor=1, original=4096)", {8, 1, 8, 64, true});
  EXPECT_EQ(part<TurnPart>(*e)->turns_at(4096).frequencies[0], 1);
  EXPECT_EQ(part<TurnPart>(*e)->turns_at(4097).frequencies[0], 0.5);
}

TEST(Acceptance, AlibiSlopesWhereHeadsAreNoPowerOfTwo) {
  const double twelve[] = {.5,       .25,       .125,      .0625,     .03125,    .015625,
                           .0078125, .00390625, .70710678, .35355339, .17677670, .08838835};
  for (std::int64_t h = 0; h < 12; ++h) EXPECT_NEAR(alibi_slope(h, 12, false), twelve[h], 1e-8);
  for (const std::int64_t H : {12, 40, 112}) {  // BLOOM's sizes; Baichuan2-13B; BLOOM-176B
    double most = 0;
    for (std::int64_t h = 0; h < H; ++h)
      most = std::max(most, std::abs(alibi_slope(h, H, true) / alibi_slope(h, H, false) - 1));
    EXPECT_GT(most, 0.1) << H;  // the plain geometric rule
  }
  EXPECT_EQ(alibi_slope(32, 40, false), std::exp2(-0.125));  // the first of those for 64
}

TEST(Acceptance, Buckets) {
  EXPECT_EQ(t5_bucket({32, 128, false}, 8), 8);
  EXPECT_EQ(t5_bucket({32, 128, false}, -1), 17);
  EXPECT_EQ(t5_bucket({32, 128, true}, 16), 16);
  EXPECT_EQ(t5_bucket({32, 128, true}, 112), 30);
  EXPECT_EQ(t5_bucket({32, 128, true}, 113), 31);
  EXPECT_EQ(t5_bucket({32, 128, true}, 1e6), 31);
  EXPECT_EQ(t5_bucket({32, 128, true}, -5), 0);
  // DeBERTa's, seen through a table whose row r has K = (r, 0, ...): the logit tells the row.
  const auto bucket = [](std::int64_t delta) {
    const auto e = make_encoding(
        "deberta_v2(buckets=256, distance=512, terms=c2p, projections=own, norm=off)", {1, 1, 1, 1024, true});
    std::vector<double> w(std::size_t(e->param_count()));
    for (std::size_t r = 0; r < 512; ++r) w[r] = double(r);
    w[512] = 1;  // the projection
    const std::vector<double> at{0, double(delta)}, q{0, 1}, k{0, 0};
    return std::llround(Definition(*e, {at, q, k, w}).logit(0, 1, 0) * std::sqrt(2.0)) - 256;
  };
  EXPECT_EQ(bucket(128), 128);
  EXPECT_EQ(bucket(129), 129);
  EXPECT_EQ(bucket(511), 255);
  EXPECT_EQ(bucket(130), 130);  // by ceiling; a floor, as T5 has it, says 128 for 129 and 129 for 130
  EXPECT_EQ(bucket(-129), -129);
}

// Logits at p and p + 10^6: equal by the fast path; with angles in float they are not.
TEST(Acceptance, ShiftsByAMillionChangeNothing) {
  const std::int64_t D = 64, T = 8;
  const Shape shape{D, 1, D, 64, true};
  const auto e = make_encoding("rope", shape);
  const auto logits = [&](double shift, bool narrow) {
    Floats q = normals(T * D, 1), k = normals(T * D, 2);
    const Placement place = Placement::consecutive(shift, T);
    Rotate turn = turn_of(*e, place);
    for (std::int64_t n = 0; narrow && n < T * D / 2; ++n) {
      const float angle =
          float(place.values[n / (D / 2)]) * float(std::pow(1e4, -2.0 * double(n % (D / 2)) / D));
      turn.cos[n] = std::cos(angle), turn.sin[n] = std::sin(angle);
    }
    const RowLayout rows{1, T, 1, 0, D, D};
    const Step step{Role::q | Role::k, turn};
    apply(step, Role::q, rows, q.data());
    apply(step, Role::k, rows, k.data());
    std::vector<double> s;
    for (std::int64_t n = 0; n < T * T; ++n) {
      double sum = 0;
      for (std::int64_t d = 0; d < D; ++d) sum += double(q[n / T * D + d]) * k[n % T * D + d];
      s.push_back(sum);
    }
    return s;
  };
  const auto change = [&](bool narrow) {
    const auto a = logits(0, narrow), b = logits(1e6, narrow);
    double most = 0, size = 0;
    for (std::size_t n = 0; n < a.size(); ++n) {
      most = std::max(most, std::abs(a[n] - b[n]));
      size = std::max(size, std::abs(a[n]));
    }
    return most / size;
  };
  EXPECT_LT(change(false), 1e-6);
  EXPECT_GT(change(true), 1e-4);
}

// Adjacent pairs become halves by one permutation of the channels of q and k, the gains of a QK norm among them.
TEST(Acceptance, AdjacentPairsAreHalvesAfterAPermutation) {
  const std::int64_t D = 16, T = 6;
  const Shape shape{D, 1, D, 64, true};
  const auto adjacent = make_encoding("rope(pairing=adjacent)", shape), halves = make_encoding("rope", shape);
  const auto x = Case::doubles(2 * T * D, 1), gain = Case::doubles(D, 2);
  const auto moved = [&](std::int64_t c) { return c < D / 2 ? 2 * c : 2 * (c - D / 2) + 1; };
  // q and k are x times the gain of the norm; `gains`: whether the gain is permuted with the channels
  const auto logits = [&](const Encoding& e, bool permuted, bool gains) {
    std::vector<double> rows(x.size());
    for (std::size_t n = 0; n < x.size(); ++n) {
      const std::int64_t c = std::int64_t(n) % D, from = permuted ? moved(c) : c;
      rows[n] = x[n - std::size_t(c) + std::size_t(from)] * gain[gains ? from : c];
    }
    const std::vector<double> q(rows.begin(), rows.begin() + T * D), k(rows.begin() + T * D, rows.end());
    const Placement place = Placement::consecutive(3, T);
    std::vector<double> s;
    const Definition definition(e, {place, q, k, {}});
    for (std::int64_t n = 0; n < T * T; ++n) s.push_back(definition.logit(0, n / T, n % T));
    return s;
  };
  const auto want = logits(*adjacent, false, false), found = logits(*halves, true, true),
             forgotten = logits(*halves, true, false), unmoved = logits(*halves, false, false);
  double error = 0, without_gains = 0, without_moving = 0;
  for (std::size_t n = 0; n < want.size(); ++n) {
    error = std::max(error, std::abs(found[n] - want[n]));
    without_gains = std::max(without_gains, std::abs(forgotten[n] - want[n]));
    without_moving = std::max(without_moving, std::abs(unmoved[n] - want[n]));
  }
  EXPECT_LT(error, 1e-12);
  EXPECT_GT(without_gains, 0.1);
  EXPECT_GT(without_moving, 0.1);
}

TEST(Acceptance, TextUnderMropeIsRopeBitForBit) {
  const std::int64_t D = 128, T = 50;
  const Shape shape{D, 1, D, 64, true};
  std::vector<double> three;
  const Placement text = Placement::consecutive(100000, T);
  for (const double p : text.values) three.insert(three.end(), {p, p, p});
  for (const char* pairing : {"adjacent", "halves"}) {
    const std::string option = std::string("(pairing=") + pairing + ")";
    const Rotate want = turn_of(*make_encoding("rope" + option, shape), text);
    for (const char* name : {"mrope", "mrope_interleaved"}) {
      EXPECT_TRUE(turn_of(*make_encoding(name + option, shape), text) == want);
      EXPECT_TRUE(turn_of(*make_encoding(name + option, shape), {three, 1, 3}) == want);
    }
  }
  three[1] += 1;  // the control: another row
  EXPECT_FALSE(turn_of(*make_encoding("mrope", shape), {three, 1, 3}) ==
               turn_of(*make_encoding("rope", shape), text));
}

TEST(Acceptance, LeftoverPairsOfInterleavedMropeFollowT) {
  const std::int64_t D = 128;
  const auto e = make_encoding("mrope_interleaved(sections=24/20/20)", {D, 1, D, 64, true});
  // The stream of a pair: which coordinate moves its angle.
  const auto stream = [&](std::int64_t pair) {
    int found = -1;
    for (int axis = 0; axis < 3; ++axis) {
      std::vector<double> at{0, 0, 0};
      at[std::size_t(axis)] = 1;
      if (turn_of(*e, {at, 1, 3}).sin[pair] != 0) found = axis;
    }
    return found;
  };
  for (const std::int64_t pair : {60, 61, 62, 63}) EXPECT_EQ(stream(pair), 0) << pair;
  EXPECT_EQ(stream(58), 1);
  EXPECT_EQ(stream(59), 2);
  EXPECT_EQ(stream(57), 0);
}

TEST(Acceptance, ProportionalIsNotPartial) {
  const Shape shape{16, 1, 16, 64, true};
  const auto proportional = make_encoding("proportional(share=0.5)", shape),
             partial = make_encoding("rope(fraction=0.5)", shape);
  EXPECT_EQ(proportional->frequencies()[1], std::pow(1e4, -2.0 / 16));
  EXPECT_EQ(partial->frequencies()[1], std::pow(1e4, -2.0 / 8));
  const std::vector<double> at{0, 3}, q = Case::doubles(32, 1), k = Case::doubles(32, 2);
  const auto logit = [&](const Encoding& e) { return Definition(e, {at, q, k, {}}).logit(0, 1, 0); };
  EXPECT_GT(std::abs(logit(*proportional) - logit(*partial)), 0.01);
}

// xPos: q and k have the same centre, so a longer cache changes no logit; with centres by their own lengths it would.
TEST(Acceptance, XposDecodesWhatItPrefills) {
  const std::int64_t D = 8;
  const auto e = make_encoding("xpos", {D, 1, D, 64, true});
  const auto product = [&](std::int64_t T) {  // of pair 0 at positions 40 and 3, in a context of T tokens
    const auto size = [&](Role role, std::int64_t p) {
      const Rotate turn = turn_of(*e, Placement::consecutive(0, T), role);
      return std::hypot(turn.cos[p * D / 2], turn.sin[p * D / 2]);
    };
    return size(Role::q, 40) * size(Role::k, 3);
  };
  const double zeta = 0.4 / 1.4, want = std::pow(zeta, 37.0 / 512);
  for (const std::int64_t T : {41, 64, 4096}) EXPECT_NEAR(product(T), want, 1e-6);
  // the control: the centre of q at 0 (one token), of k at T/2
  EXPECT_GT(std::abs(std::pow(zeta, 40.0 / 512) * std::pow(zeta, -(3 - 2048.0) / 512) - want), 0.1);
}

}  // namespace
}  // namespace gnomon
