// Scores that go from token to token: across several chunks, documents and windows, they are their definition.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/laws/laws.h"

namespace gnomon {
namespace {

class Carry : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Carry, testing::ValuesIn(simd_targets()), target_name);

const char* const kSpecs[] = {"wall",
                              "wall(bias=0)",
                              "path",
                              "path(projection=full,convolution=off)",
                              "wall(bias=0)+window(size=21)",
                              "path+window(size=21)",
                              "path+fox(scaled=on)",
                              "wall+stick_breaking",
                              "path+cope"};

// Encodings of one layer, with parameters of their own.
struct Layer {
  Scheme scheme;
  Case c;
  std::vector<std::vector<double>> w;
  Layer(const std::string& spec, const Shape& shape, const Placement& place)
      : scheme(make_scheme(Spec::parse(spec), shape)), c(shape, *scheme.attention[0].encoding, place) {
    for (const auto& one : scheme.attention) w.push_back(Case(shape, *one.encoding, place, w.size()).w);
  }
  std::vector<Learning> learning() {
    std::vector<Learning> all;
    for (const std::size_t n : scheme.patterns[0]) all.push_back({scheme.attention[n].encoding.get(), &w[n]});
    return all;
  }
  std::vector<Defined> defined() const {
    std::vector<Defined> all;
    for (const std::size_t n : scheme.patterns[0]) all.push_back({scheme.attention[n].encoding.get(), w[n]});
    return all;
  }
};

TEST_P(Carry, AcrossChunksDocumentsAndTilesIsTheDefinition) {
  const std::int64_t lengths[] = {9, 40, 1, 33};
  for (const char* spec : kSpecs) {
    for (const auto& [tile, D] : {std::pair<std::int64_t, std::int64_t>{7, 20}, {64, 4}}) {
      for (const bool packed : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << spec << ", tile " << tile << ", D " << D << (packed ? ", documents" : ""));
        Layer layer(spec, {2 * D, 2, D, 100, true},
                    packed ? Placement::packed(lengths) : Placement::consecutive(5, 83));
        expect_laws(layer.learning(), layer.c, {2e-5, 2e-4, tile, 7});  // the definition is slow
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Whatever the first document holds, not a bit of what the second returns changes, nor of its gradients by q, k and v.
TEST_P(Carry, NumbersOfAnotherDocumentDoNotReachOne) {
  const std::int64_t lengths[] = {21, 29}, first = 21, T = 50, D = 8;
  for (const char* spec : kSpecs) {
    SCOPED_TRACE(spec);
    Layer layer(spec, {2 * D, 2, D, 100, true}, Placement::packed(lengths));
    const Floats g = normals(std::int64_t(layer.c.q.size()), 5), none(T * 2 * D);
    const Fast before(layer.defined(), layer.c, g, none, 8);
    for (std::int64_t c = 0; c < 2 * D; ++c) layer.c.x[std::size_t(12 * 2 * D + c)] = NAN;
    layer.c.q[std::size_t(11 * D)] = layer.c.k[std::size_t(3 * D + 2)] = NAN;
    const Fast after(layer.defined(), layer.c, g, none, 8);
    Fast::each_number(layer.c, [&](std::int64_t n, std::int64_t t, std::int64_t) {
      if (t < first) return;
      ASSERT_EQ(before.out[n], after.out[n]);
      ASSERT_EQ(before.dq[n], after.dq[n]);
      ASSERT_EQ(before.dk[n], after.dk[n]);
      ASSERT_EQ(before.dv[n], after.dv[n]);
    });
    if (HasFatalFailure()) return;
  }
}

// Gates that forget everything at once, and axes that reflect: nothing overflows, and products stay exact.
TEST_P(Carry, GatesAtTheirEndsStayExact) {
  for (const double bias : {-50.0, -20.0, 0.0, 50.0}) {
    Layer layer(text("wall(bias=", bias, ")"), {16, 1, 16, 100, true}, Placement::consecutive(0, 90));
    expect_laws(layer.learning(), layer.c, {1e-5, 1e-4, 0, 3});
  }
  Layer layer("path", {16, 1, 16, 100, true}, Placement::consecutive(0, 90));
  for (std::size_t n = layer.w[0].size() - 1; n < layer.w[0].size(); ++n) layer.w[0][n] = 30;  // β = 2
  expect_laws(layer.learning(), layer.c, {1e-5, 1e-4, 0, 3});
}

TEST(CarryRefusals, SayWhy) {
  const auto why = [](const std::string& spec) -> std::string {
    try {
      make_scheme(Spec::parse(spec), {16, 2, 8, 64, true});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(why("path+rope").find("as projected"), std::string::npos);
  EXPECT_NE(why("wall+rope").find("as projected"), std::string::npos);
  EXPECT_NE(why("path+wall").find("change the score token by token"), std::string::npos);
  EXPECT_EQ(why("path+fox"), "");
  EXPECT_EQ(why("wall+fox"), "");
}

}  // namespace
}  // namespace gnomon
