// The analyses of tables and subspaces: against what is known of made-up data, and against numbers that numpy found
// (tests/golden/make_claims.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/lens/decode.h"
#include "gnomon/lens/subspace.h"
#include "tests/lens/lens_matrices.h"

namespace gnomon {
namespace {

const nlohmann::json& numpy() {
  static const auto all = nlohmann::json::parse(std::ifstream(GNOMON_TESTS "/golden/claims.json"));
  return all;
}

TEST(Lens, ComponentsOfTheSinusoidAreNumpys) {
  const auto& control = numpy()["components_control"];
  int differ = 0;
  for (std::size_t k = 0; k < numpy()["components"].size(); ++k) {
    const auto& c = numpy()["components"][k];
    const Spectrum s = spectrum(sinusoid(c["d"], c["T"]));
    const double shares[] = {.9, .95, .99, .999};
    for (std::size_t n = 0; n < 4; ++n) {
      EXPECT_EQ(s.count(shares[n]), c["counts"][n].get<std::int64_t>()) << c;
      differ += s.count(shares[n]) != control[k]["counts"][n].get<std::int64_t>();
    }
    EXPECT_NEAR(s.participation_ratio(), c["participation"].get<double>(), 1e-8);
    EXPECT_NEAR(s.effective_rank(), c["effective_rank"].get<double>(), 1e-6);
    EXPECT_NEAR(s.variance(), squares(centred(sinusoid(c["d"], c["T"]))) / c["T"].get<double>(), 1e-9);
  }
  EXPECT_GT(differ, 10) << "components about the origin instead of the mean must not agree";
}

TEST(Lens, ChannelsOfTheSinusoidAreNumpys) {
  int differ = 0;
  for (std::size_t k = 0; k < numpy()["channels"].size(); ++k) {
    const auto &c = numpy()["channels"][k], &control = numpy()["channels_control"][k];
    const Channels found = channels(sinusoid(512, c["T"]));
    const double thresholds[] = {.007, .1, .5, 1, 1.9};
    for (std::size_t n = 0; n < 5; ++n) {
      EXPECT_EQ(found.range_above(thresholds[n]), c["range_above"][n].get<std::int64_t>());
      differ += found.range_above(thresholds[n]) != control["range_above"][n].get<std::int64_t>();
    }
    EXPECT_EQ(found.deviation_above(.1), c["deviation_above"].get<std::int64_t>());
  }
  EXPECT_GT(differ, 10) << "tensor2tensor's frequencies must not agree";
}

TEST(Lens, OverlapOfKnownSubspaces) {
  const Matrix basis = random_subspace(Random(1, "basis"), 0, 20, 8);
  const Spectrum all = spectrum(noise(100, 20, 2));
  const Overlap same = overlap(basis, basis), inside = overlap(basis, all.basis(20)),
                apart = overlap(all.basis(5), [&] {
                  Matrix rest(20, 5);
                  for (std::int64_t i = 0; i < 20; ++i) {
                    for (std::int64_t c = 0; c < 5; ++c) rest.at(i, c) = all.directions.at(i, 5 + c);
                  }
                  return rest;
                }());
  EXPECT_NEAR(same.mean_cos2, 1, 1e-12);
  EXPECT_NEAR(inside.mean_cos2, 1, 1e-12);
  EXPECT_NEAR(apart.max_cos, 0, 1e-12);
  EXPECT_NEAR(apart.grassmann, std::sqrt(5.0) * std::acos(0.0), 1e-9);
  EXPECT_NEAR(energy_within(noise(4000, 20, 5), basis), 8.0 / 20, .02);
}

TEST(Lens, RandomOverlapIsNumpysAndTheorys) {
  for (const auto& c : numpy()["overlap"]) {
    const SubspaceSizes s{c["sizes"][0], c["sizes"][1], c["sizes"][2]};
    const OverlapNull found = random_overlap(s, 100, 4);
    EXPECT_NEAR(found.mean_cos2, double(std::max(s.a, s.b)) / double(s.d), 4 * found.mean_cos2_sd / 10);
    EXPECT_NEAR(found.mean_cos2, c["mean"].get<double>(), 3 * c["mean_sd"].get<double>() / 5) << c;
    EXPECT_NEAR(found.max_cos, c["max"].get<double>(), 3 * c["max_sd"].get<double>() / 5) << c;
    EXPECT_NEAR(found.mean_cos2_sd / c["mean_sd"].get<double>(), 1, .35);
  }
  EXPECT_NEAR(wachter_edge({512, 42, 42}), .549, 6e-4);
  EXPECT_NEAR(wachter_edge({512, 128, 128}), .866, 6e-4);
  EXPECT_NEAR(wachter_edge({384, 64, 64}), .745, 6e-4);
  EXPECT_EQ(wachter_edge({10, 6, 6}), 1);
}

TEST(Lens, AnAnisotropicNullKnowsTheStrongDirections) {
  Matrix rows = noise(6000, 40, 30);
  EXPECT_NEAR(overlap_within(rows, 8, 100, 1).mean_cos2, random_overlap({40, 8, 8}, 100, 1).mean_cos2, .02);
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    for (std::int64_t c = 0; c < 8; ++c) rows.at(n, c) *= 100;
  }
  EXPECT_GT(overlap_within(rows, 8, 100, 1).mean_cos2, .9);
  EXPECT_GT(overlap_of_two(rows, 8, 100, 1).mean_cos2, .9);
  EXPECT_NEAR(overlap_of_two(noise(6000, 40, 31), 8, 200, 2).mean_cos2, 8.0 / 40, .02);
}

TEST(Lens, OffsetsOfGramMatrices) {
  for (const auto& c : numpy()["toeplitz"]) {
    const std::int64_t d = c["d"], T = c["T"];
    const Matrix e = sinusoid(d, T), mean_removed = centred(e);
    const auto share = [](const Matrix& m) {
      return offset_share(product_transposed(m, m), Diagonal::without);
    };
    EXPECT_NEAR(share(e), 1, 1e-9);
    EXPECT_NEAR(share(mean_removed), c["mean_removed"].get<double>(), 1e-9);
    const auto with = [](const Matrix& m) { return offset_share(product_transposed(m, m), Diagonal::with); };
    EXPECT_NEAR(with(mean_removed), d == 64 ? .9637 : .9594, 6e-5);
  }
  // Independent rows: the diagonal alone makes half of the share.
  const Matrix rows = noise(128, 128, 6), gram = product_transposed(rows, rows);
  EXPECT_NEAR(offset_share(gram, Diagonal::with), .505, .02);
  EXPECT_NEAR(offset_share(gram, Diagonal::without), .016, .015);
  EXPECT_NEAR(symmetric_share(gram), 1, 1e-12);
  EXPECT_NEAR(symmetric_share(noise(100, 100, 7)), .5, .03);
  // Equal by offset up to rounding, which ranks them: five levels reach 0.98, not 1.
  EXPECT_GT(monotonicity(product_transposed(sinusoid(512, 64), sinusoid(512, 64)), 5), .97);
  EXPECT_NEAR(monotonicity(gram, 5), 0, .1);
}

TEST(Lens, ShapesOfTables) {
  EXPECT_NEAR(roughness(noise(500, 64, 8)), 2, .05);
  EXPECT_NEAR(roughness(sinusoid(512, 128)), 13.80 / 109.7, 1e-3);
  const auto energy = frequency_energy(sinusoid(64, 64));
  double total = 0;
  for (const double e : energy) total += e;
  EXPECT_NEAR(total, 1, 1e-9);
  EXPECT_NEAR(energy[0], 0, 1e-12);
  EXPECT_NEAR(rotation_share(noise(96, 96, 9)), 1.0 / 96, .004);
  Matrix turn(96, 96);  // the rotation by one token itself
  for (std::int64_t c = 0; c < 96; c += 2)
    turn.at(c, c) = turn.at(c + 1, c + 1) = .6, turn.at(c, c + 1) = .8, turn.at(c + 1, c) = -.8;
  EXPECT_NEAR(rotation_share(turn), 1, 1e-12);
  EXPECT_NEAR(shift_error(sinusoid(16, 400), 7), 0, 1e-9);
  EXPECT_NEAR(spearman(std::vector<double>{1, 2, 3, 4}, std::vector<double>{10, 20, 30, 31}), 1, 1e-12);
}

TEST(Lens, DecodingIsNumpys) {
  for (const auto& c : numpy()["decoding"]) {
    const std::int64_t d = c["d"];
    if (d > 64) continue;  // the claims measure the rest
    const Random random(21, "uniform words");
    Matrix x(2000, d), e = sinusoid(d, 64);
    for (std::size_t n = 0; n < x.values.size(); ++n) x.values[n] = 2 * random.uniform(n) - 1;
    const WordDecoding w = decode_words(x, e);
    EXPECT_NEAR(w.naive, c["naive"].get<double>(), .05) << d;
    EXPECT_NEAR(w.mean_removed, c["mean_removed"].get<double>(), .05) << d;
    EXPECT_NEAR(w.projected, c["projected"].get<double>(), .05) << d;
    EXPECT_NEAR(decode_positions(x, e), c["position"].get<double>(), .05) << d;
  }
}

TEST(Lens, ANeighbourhoodIsLostAndFoundAgain) {
  // Words of 20 channels that differ in 12 of them; what is added lies in the other 8.
  Matrix words = noise(300, 20, 40), added = noise(6, 20, 41);
  for (std::int64_t n = 0; n < words.rows; ++n) std::fill_n(words.row(n).begin() + 12, 8, 0.0);
  for (std::int64_t n = 0; n < added.rows; ++n) std::fill_n(added.row(n).begin(), 12, 0.0);
  Matrix basis(20, 8);
  for (std::int64_t c = 0; c < 8; ++c) basis.at(12 + c, c) = 1;
  const std::vector<std::int64_t> asked{3, 299, 7};
  const Neighbourhood near(words, asked, 10);
  Matrix y(6, 20), turned(6, 20);
  for (std::int64_t n = 0; n < 6; ++n) {
    for (std::int64_t c = 0; c < 20; ++c) {
      y.at(n, c) = words.at(asked[std::size_t(n % 3)], c) + 50 * added.at(n, c);
      turned.at(n, c) = -y.at(n, c);
    }
  }
  const Matrix none(20, 0);
  EXPECT_NEAR(near.kept(y, none).neighbours, 1, 1e-12) << "no word reaches what was added";
  EXPECT_NEAR(near.kept(y, basis).neighbours, 1, 1e-12);
  EXPECT_NEAR(near.kept(y, basis).identity, 1, 1e-12);
  EXPECT_LT(near.kept(turned, none).neighbours, .1);
  EXPECT_EQ(near.kept(turned, none).identity, 0);
  // Where words have something in those channels too, the sum hides them there, and what lies outside comes back.
  Matrix full = noise(300, 20, 40);
  const Neighbourhood all(full, asked, 10);
  for (std::int64_t n = 0; n < 6; ++n) {
    for (std::int64_t c = 0; c < 20; ++c)
      y.at(n, c) = full.at(asked[std::size_t(n % 3)], c) + 5 * added.at(n, c);
  }
  EXPECT_GT(all.kept(y, basis).neighbours, all.kept(y, none).neighbours + .2);
  EXPECT_NEAR(all.kept(y, basis).identity, 1, 1e-12);
  // The recall of the older function, on what both can ask.
  Matrix e = noise(4, 20, 42), sums(600, 20);
  std::vector<std::int64_t> every(300);
  std::iota(every.begin(), every.end(), std::int64_t{0});
  for (std::int64_t n = 0; n < 600; ++n) {
    for (std::int64_t c = 0; c < 20; ++c) sums.at(n, c) = full.at(n % 300, c) + e.at(n < 300 ? 1 : 3, c);
  }
  EXPECT_NEAR(Neighbourhood(full, every, 10).kept(sums, none).neighbours, neighbour_recall(full, e, 10),
              1e-12);
}

}  // namespace
}  // namespace gnomon
