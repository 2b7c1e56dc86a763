// The laws over pairs and triples: encodings that meet inside attention are refused with a reason, or mean the same in every
// order, which is their definitions composed by stages; and their gradients are those of that.
#include <gtest/gtest.h>

#include "tests/laws/laws.h"

namespace gnomon {
namespace {

constexpr std::int64_t kTokens = 19;
const Shape kShape{16, 2, 8, 64, true};

// Encodings of one layer, made from a spec that names each, with parameters of their own.
struct Together {
  std::vector<std::string> names;
  Scheme scheme;
  std::vector<std::vector<double>> w;

  explicit Together(const std::vector<std::string>& of) : names(of) {
    std::string spec;
    for (const std::string& name : of) spec += (spec.empty() ? "" : "+") + name;
    scheme = make_scheme(Spec::parse(spec), kShape);
    for (std::size_t n = 0; n < of.size(); ++n)
      w.push_back(Case(kShape, *scheme.attention[n].encoding, kTokens, 3, std::hash<std::string>{}(of[n])).w);
  }
  // In the order in which a layer runs them.
  std::vector<Defined> encodings() const {
    std::vector<Defined> all;
    for (const std::size_t n : scheme.patterns[0]) all.push_back({scheme.attention[n].encoding.get(), w[n]});
    return all;
  }
};
Case words() { return Case(kShape, *make_encoding("none", kShape), kTokens, 3); }
struct Ran {
  Floats out;
  Plan plan;
};
Ran forward(const Together& of, const Case& c) {
  const Fast fast(of.encodings(), c, Floats(c.q.size()), Floats(kTokens * kShape.C), 8);
  return {fast.out, fast.plan()};
}
// Why the encodings do not go together; empty: they do.
std::string refusal(const std::vector<std::string>& names) {
  try {
    const Together of(names);
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::usage);
    return e.what();
  }
  return "";
}
std::vector<std::string> inside_attention() {
  std::vector<std::string> all;
  for (const Entry* entry : encodings()) {
    if (entry->acts != 0 && !(entry->acts & (kInput | kPositions))) all.emplace_back(entry->name);
  }
  return all;
}
void expect_near(const Floats& found, const std::vector<double>& want, double tolerance) {
  for (std::size_t n = 0; n < want.size(); ++n) ASSERT_NEAR(found[n], want[n], tolerance) << "number " << n;
}

TEST(Pairs, AreRefusedWithAReasonOrAreTheirDefinitionsComposed) {
  const auto names = inside_attention();
  const Case c = words();
  int accepted = 0, refused = 0;
  for (std::size_t n = 0; n < names.size(); ++n) {
    for (std::size_t m = n; m < names.size(); ++m) {
      SCOPED_TRACE(names[n] + " + " + names[m]);
      const std::string why = refusal({names[n], names[m]});
      ASSERT_EQ(why.empty(), refusal({names[m], names[n]}).empty()) << why;
      if (!why.empty()) {
        EXPECT_NE(why.find(names[n]), std::string::npos) << why;
        EXPECT_NE(why.find(names[m]), std::string::npos) << why;
        ++refused;
        continue;
      }
      const Together ab({names[n], names[m]}), ba({names[m], names[n]});
      const auto want = attention_by_definition(ab.encodings(), c);
      const Ran one = forward(ab, c), other = forward(ba, c);
      expect_near(one.out, want, 3e-5);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(one.plan == other.plan && one.out == other.out);
      ++accepted;
    }
  }
  std::printf("%d pairs are their definitions composed, %d are refused\n", accepted, refused);
  EXPECT_GT(accepted, 600);
  EXPECT_GT(refused, 300);
}

TEST(Pairs, WhatHasNoMeaningIsRefused) {
  EXPECT_NE(refusal({"rope", "yarn"}).find("both change channel 0 of q and k"), std::string::npos);
  EXPECT_NE(refusal({"rope", "rope"}).find("both change channel 0"), std::string::npos);
  EXPECT_NE(refusal({"rope", "rerope"}).find("both change channel 0"), std::string::npos);
  EXPECT_NE(refusal({"cope", "cope"}).find("both count keys by gates"), std::string::npos);
  EXPECT_NE(refusal({"content_profile", "content_profile"}).find("both mix profiles"), std::string::npos);
  EXPECT_NE(refusal({"stick_breaking", "stick_breaking"}).find("without a softmax"), std::string::npos);
  EXPECT_NE(refusal({"rerope", "self_extend"}).find("both"), std::string::npos);
  EXPECT_NE(refusal({"rope", "shaw"}).find("as projected"), std::string::npos);
  EXPECT_NE(refusal({"cope", "tupe"}).find("reads the product of q and k"), std::string::npos);
  EXPECT_NE(refusal({"tupe", "t5(scale=off)"}).find("scales the product of q and k"), std::string::npos);
  EXPECT_EQ(refusal({"rope(fraction=0.5)", "rope(fraction=0.5, side=trailing)"}), "");
  EXPECT_EQ(refusal({"fire", "cope"}), "");
}

// Three drawn by chance, the same each time, in all orders.
TEST(Triples, AreTheirDefinitionsComposedInEveryOrder) {
  const auto names = inside_attention();
  const Case c = words();
  const Random random(1, "triples");
  int tried = 0;
  for (std::uint64_t draw = 0; tried < 120; ++draw) {
    std::vector<std::string> three;
    for (std::uint64_t n = 0; n < 3; ++n) three.push_back(names[random.below(3 * draw + n, names.size())]);
    if (!refusal(three).empty()) continue;
    ++tried;
    SCOPED_TRACE(three[0] + " + " + three[1] + " + " + three[2]);
    const auto want = attention_by_definition(Together(three).encodings(), c);
    std::sort(three.begin(), three.end());
    do {
      expect_near(forward(Together(three), c).out, want, 3e-5);
      if (HasFatalFailure()) return;
    } while (std::next_permutation(three.begin(), three.end()));
  }
}

class Gradients : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Gradients, testing::ValuesIn(simd_targets()), target_name);

// Where one has a score or rows of its own and others add to them: q, k, v and every parameter.
TEST_P(Gradients, AreCentralDifferencesOfTheComposition) {
  for (const auto& names :
       {std::vector<std::string>{"cope(positions=9)", "alibi", "rope"},
        {"rerope(window=7)", "log_n(original=8)", "t5"},
        {"rope", "grape_additive", "fox"},
        {"dape", "rope", "kerple_log"},
        {"fire", "shaw", "window(size=9)"},
        {"tupe", "rope_value", "data_alibi"},
        {"content_profile(extent=6, scale=0.5, floor=3)", "rope", "log_n(rule=inkling, scale=0.5, floor=3)"},
        {"stick_breaking", "pope", "alibi_learned"}}) {
    SCOPED_TRACE(names[0] + " + " + names[1] + " + " + names[2]);
    Together of(names);
    std::vector<Learning> learning;
    for (const std::size_t n : of.scheme.patterns[0])
      learning.push_back({of.scheme.attention[n].encoding.get(), &of.w[n]});
    for (const std::int64_t tile : {5, 64}) {
      Case c = words();
      expect_laws(learning, c, {2e-5, 2e-4, tile});
    }
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace gnomon
