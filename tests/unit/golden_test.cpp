// Definitions against numbers from code that gnomon does not share (tests/golden/make_golden.py), with a
// negative control: another convention must not reproduce them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "gnomon/combine/spec.h"
#include "gnomon/core/file.h"

namespace gnomon {
namespace {

using Json = nlohmann::json;

// Largest difference of an encoding from the numbers of a case.
using Distance = std::function<double(const std::string& spec, const Json& c)>;

void expect_golden(const std::string& file, const Distance& distance) {
  const Json golden = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / (file + ".json")));
  int cases = 0, controls = 0;
  for (const Json& c : golden.at("cases")) {
    const double tolerance = c.value("tolerance", 0.0);
    EXPECT_LE(distance(c.at("spec"), c), tolerance) << c.at("spec") << ", case " << cases << " of " << file;
    for (const std::string wrong : c.at("wrong")) {
      EXPECT_GT(distance(wrong, c), 100 * tolerance)
          << wrong << " passes for " << c.at("spec") << ", case " << cases;
      ++controls;
    }
    ++cases;
  }
  EXPECT_GT(cases, 0);
  EXPECT_GT(controls, 0);
}

double input_distance(const std::string& spec, const Json& c) {
  const auto positions = c.at("positions").get<std::vector<double>>();
  const std::int64_t C = c.at("channels");
  const auto e = make_encoding(spec, {C, 1, C, 4, true});
  const Floats tables = e->tables(positions);
  double most = 0;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    for (std::int64_t ch = 0; ch < C; ++ch) {
      const double want = c.at("values")[t][std::size_t(ch)];
      most = std::max(most, std::abs(e->input({positions, {}, {}, {}}, std::int64_t(t), ch) - want));
    }
  }
  return most;
}

TEST(Golden, PaperSinusoid) { expect_golden("sinusoidal_paper", input_distance); }
TEST(Golden, Tensor2tensorSinusoid) { expect_golden("sinusoidal_tensor2tensor", input_distance); }

// Far positions on the fast path: cos and sin within 1e-6 of 50-digit arithmetic at position 1048575.
TEST(Golden, TheFastPathKeepsFarPositions) {
  expect_golden("sinusoidal_paper", [](const std::string& spec, const Json& c) {
    const auto positions = c.at("positions").get<std::vector<double>>();
    const std::int64_t C = c.at("channels");
    const auto e = make_encoding(spec, {C, 1, C, 4, true});
    const Floats tables = e->tables(positions);
    Floats fast(std::int64_t(positions.size()) * C);
    e->input({positions, tables, nullptr}, fast.data());
    double most = 0;
    for (std::int64_t n = 0; n < std::int64_t(fast.size()); ++n)
      most = std::max(
          most, std::abs(fast[n] - c.at("values")[std::size_t(n / C)][std::size_t(n % C)].get<double>()));
    return most < 1e-6 ? 0 : most;
  });
}

TEST(Golden, Rotations) {
  expect_golden("rope", [](const std::string& spec, const Json& c) {
    const std::int64_t H = c.at("heads"), D = c.at("size");
    const auto positions = c.at("positions").get<std::vector<double>>(),
               q = c.at("q").get<std::vector<double>>(), k = c.at("k").get<std::vector<double>>();
    const auto e = make_encoding(spec, {H * D, H, D, 16, true});
    const std::int64_t T = std::int64_t(positions.size());
    double most = 0;
    for (std::int64_t n = 0; n < H * T * T; ++n) {
      const double want = c.at("logits")[std::size_t(n)];
      most = std::max(most, std::abs(e->logit({positions, q, k, {}}, n / (T * T), n / T % T, n % T) - want));
    }
    return most;
  });
}

TEST(Golden, AlibiSlopes) {
  expect_golden("alibi", [](const std::string& spec, const Json& c) {
    const std::int64_t H = c.at("heads");
    const auto e = make_encoding(spec, {4 * H, H, 4, 16, true});
    const std::vector<double> positions{5, 8}, zero(std::size_t(2 * H * 4));
    double most = 0;
    for (std::int64_t h = 0; h < H; ++h) {
      const double slope = c.at("slopes")[std::size_t(h)];
      most = std::max(most, std::abs(e->logit({positions, zero, zero, {}}, h, 1, 0) / (-3 * slope) - 1));
    }
    return most;
  });
}

TEST(Golden, T5Buckets) {
  expect_golden("t5", [](const std::string& spec, const Json& c) {
    const bool causal = c.at("causal");
    const auto e = make_encoding(spec, {4, 1, 4, 16, causal});
    std::vector<double> w(std::size_t(e->param_count()));
    for (std::size_t b = 0; b < w.size(); ++b) w[b] = double(b);  // the bias of a distance is its bucket
    const std::vector<double> zero(8);
    double most = 0;
    for (std::size_t n = 0; n < c.at("deltas").size(); ++n) {
      const std::vector<double> positions{0, c.at("deltas")[n].get<double>()};
      most = std::max(
          most, std::abs(e->logit({positions, zero, zero, w}, 0, 1, 0) - c.at("buckets")[n].get<double>()));
    }
    return most;
  });
}

// The values that the text of arXiv 2108.12409's users check first, and T5's: written out, no script needed.
TEST(Golden, WellKnownValues) {
  const double twelve[] = {.5,       .25,       .125,      .0625,     .03125,    .015625,
                           .0078125, .00390625, .70710678, .35355339, .17677670, .08838835};
  const auto alibi = make_encoding("alibi", {48, 12, 4, 16, true});
  const std::vector<double> two{0, 1}, zero(96);
  for (std::int64_t h = 0; h < 12; ++h)
    EXPECT_NEAR(alibi->logit({two, zero, zero, {}}, h, 1, 0), -twelve[h], 1e-8);

  const auto kernel = make_encoding("sinusoidal", {512, 1, 512, 16, true});
  const double K[] = {.973055, .905209, .827146, .768313, .740612, .735344};
  for (int k = 1; k <= 6; ++k) {
    const std::vector<double> positions{0, double(k)};
    double dot = 0;
    for (std::int64_t c = 0; c < 512; ++c)
      dot += kernel->input({positions, {}, {}, {}}, 0, c) * kernel->input({positions, {}, {}, {}}, 1, c);
    EXPECT_NEAR(dot / 256, K[k - 1], 5e-7);
  }
}

}  // namespace
}  // namespace gnomon
