// What `check` says of dumps that other programs made (tests/golden/make_dumps.py), right ones and wrong ones, and of hostile
// ones.
#include "gnomon/models/check/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

using Json = nlohmann::json;

Json golden() { return Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "dumps.json")).at("cases"); }
Dump dump_of(const Json& c) {
  return read_dump(Path(GNOMON_TESTS) / "golden" / "dumps" / (std::string(c.at("name")) + ".safetensors"));
}
CheckOptions options_of(const Json& c) {
  const auto given = c.at("options").get<std::vector<std::string>>();
  CheckOptions o;
  for (std::size_t n = 0; n + 1 < given.size(); n += 2) {
    EXPECT_EQ(given[n], "--spec");
    o.spec = given[n + 1];
  }
  return o;
}
// One value for all, or one for each.
template <class T>
T each(const Json& value, std::size_t n) {
  return value.is_array() ? value.at(n).get<T>() : value.get<T>();
}
bool is(const std::string& spec, const std::string& wanted) {
  if (wanted.empty() || wanted.back() != '*') return spec == wanted;
  return spec.compare(0, wanted.size() - 1, wanted, 0, wanted.size() - 1) == 0;
}

TEST(Check, DumpsOfOtherProgramsAreNamed) {
  for (const Json& c : golden()) {
    const std::string name = c.at("name");
    const auto all = check(dump_of(c), options_of(c));
    ASSERT_FALSE(all.empty()) << name;
    std::string said;
    for (std::size_t n = 0; n < all.size(); ++n) {
      const Checked& one = all[n];
      EXPECT_PRED2(is, one.best.spec.print_given(), c.at("spec").get<std::string>())
          << name << ": " << one.words;
      const auto apart = each<std::string>(c.at("apart"), n);
      EXPECT_TRUE(c.at("spec") == "*" || one.best.apart == apart) << name << ": " << one.words;
      EXPECT_EQ(one.follows, each<bool>(c.at("follows"), n)) << name << ": " << one.words;
      said += one.words;
      for (const std::string& remark : one.remarks) said += "\n" + remark;
      EXPECT_TRUE(!one.follows || one.best.ratio <= 1) << name;
    }
    EXPECT_NE(said.find(c.at("says").get<std::string>()), said.npos) << name << ": " << said;
  }
}

// That a convention is named says something only if others are not: each has to be off by far more than rounding explains.
TEST(Check, OtherConventionsAreRuledOut) {
  int controls = 0;
  for (const Json& c : golden()) {
    const std::string name = c.at("name");
    const auto all = check(dump_of(c), options_of(c));
    for (const std::string wrong : c.at("out")) {
      bool ruled_out = false;
      for (const Checked& one : all) {
        for (const HeldHypothesis& h : one.ruled_out)
          ruled_out |= h.spec.print_given() == wrong && h.ratio > 3;
        for (const HeldHypothesis& h : one.also)
          EXPECT_FALSE(h.spec.print_given() == wrong && h.apart.empty()) << name << ": " << wrong;
      }
      EXPECT_TRUE(ruled_out) << name << ": " << wrong;
      ++controls;
    }
  }
  EXPECT_GT(controls, 30);
}

// What fits a dump and is named need not be guessed: it fits as what is expected as well, and the wrong ones do not.
TEST(Check, WhatIsNamedIsWhatMayBeExpected) {
  for (const Json& c : golden()) {
    if (!c.at("options").empty() || !c.at("follows").is_boolean() || !c.at("follows")) continue;
    const std::string name = c.at("name"), spec = c.at("spec");
    const std::string apart = c.at("apart");
    if (spec.back() == '*' || apart.find("heads are") != apart.npos || apart.find("cosines") != apart.npos)
      continue;
    const Dump dump = dump_of(c);
    for (const Checked& one : check(dump, {.spec = spec}))
      EXPECT_TRUE(one.follows) << name << ": " << one.words;
    for (const std::string wrong : c.at("out")) {
      if (wrong == spec) continue;  // ruled out from position 0 on, not from where the dump begins
      bool all = true;
      for (const Checked& one : check(dump, {.spec = wrong})) all &= one.follows;
      EXPECT_FALSE(all) << name << ": " << wrong;
    }
  }
}

DumpedArray array_of(std::string name, std::vector<std::int64_t> shape, float value = 0.5F) {
  std::size_t size = 1;
  for (const std::int64_t extent : shape) size *= std::size_t(extent);
  return {std::move(name), std::move(shape), Floats(size, value)};
}

TEST(Check, HostileDumpsAreAnsweredOrRefused) {
  const float nan = std::nanf("");
  const std::vector<std::vector<DumpedArray>> hostile = {
      {array_of("q_before", {0, 2, 8}), array_of("q_after", {0, 2, 8})},
      {array_of("q_before", {4, 0, 8}), array_of("q_after", {4, 0, 8})},
      {array_of("q_before", {4, 2, 0}), array_of("q_after", {4, 2, 0})},
      {array_of("q_before", {4, 2, 1}), array_of("q_after", {4, 2, 1})},
      {array_of("q_before", {4, 2, 3}), array_of("q_after", {4, 2, 3})},
      {array_of("q_before", {4, 2, 8}, 0), array_of("q_after", {4, 2, 8}, 0)},
      {array_of("q_before", {4, 2, 8}, nan), array_of("q_after", {4, 2, 8}, nan)},
      {array_of("q_before", {4, 2, 8}, 3e38F), array_of("q_after", {4, 2, 8}, -3e38F)},
      {array_of("q_before", {4, 2, 8}, 1e-45F), array_of("q_after", {4, 2, 8}, 1e-45F)},
      {array_of("cos", {0, 4}), array_of("sin", {0, 4})},
      {array_of("cos", {4, 0}), array_of("sin", {4, 0})},
      {array_of("cos", {1, 1}), array_of("sin", {1, 1})},
      {array_of("cos", {5, 3}, 0), array_of("sin", {5, 3}, 0)},
      {array_of("inv_freq", {0})},
      {array_of("inv_freq", {1})},
      {array_of("inv_freq", {1}, nan)},
      {array_of("inv_freq", {64}, std::numeric_limits<float>::infinity())},
      {array_of("inv_freq", {64}, 3e-42F)},
      {array_of("bias", {0, 4, 4})},
      {array_of("bias", {2, 0, 4})},
      {array_of("bias", {2, 4, 0})},
      {array_of("bias", {2, 4, 4}, nan)},
      {array_of("bias", {2, 4, 4}, -std::numeric_limits<float>::infinity())},
      {array_of("bias", {2, 1})},
      {array_of("bias", {2, 3000}, 0)},
      {array_of("slopes", {0})},
      {array_of("slopes", {1}, nan)},
      {array_of("slopes", {300}, 0)},
      {array_of("table", {0, 4})},
      {array_of("table", {4, 0})},
      {array_of("table", {4, 1})},
      {array_of("table", {4, 7}, 0)},
      {array_of("table", {1, 4}, nan)},
  };
  for (const auto& arrays : hostile) {
    std::string place = arrays[0].name;
    for (const std::int64_t extent : arrays[0].shape) place += text(" ", extent);
    try {
      for (const Checked& c : check(Dump{arrays, {}}, {})) {
        EXPECT_FALSE(c.words.empty()) << place;
        EXPECT_TRUE(!c.follows || c.best.ratio <= 1) << place;
        const bool nothing = arrays[0].values.empty() || std::isnan(arrays[0].values[0]);
        EXPECT_FALSE(nothing && c.follows) << place;
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input) << place << ": " << e.what();
    }
  }
}

// Buckets are told by where the bias does not change: where it always does, nothing is T5's.
TEST(Check, ABiasOfItsOwnForEachDistanceIsNoBuckets) {
  DumpedArray bias = array_of("bias", {2, 12});
  for (std::size_t n = 0; n < bias.values.size(); ++n) bias.values[n] = std::sin(float(7 * n + 1));
  for (const Checked& c : check(Dump{{bias}, {}}, {})) EXPECT_FALSE(c.named) << c.words;
}

void expect_refused(std::vector<DumpedArray> arrays, const CheckOptions& options, Fault fault,
                    const char* says) {
  try {
    check(Dump{std::move(arrays), {}}, options);
    ADD_FAILURE() << says;
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), fault) << e.what();
    EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
  }
}

TEST(Check, WhatDoesNotBelongTogetherIsRefused) {
  expect_refused({array_of("q_before", {4, 2, 8})}, {}, Fault::input,
                 "the dump has q_before without q_after");
  expect_refused({array_of("q_before", {4, 2, 8}), array_of("q_after", {4, 2, 6})}, {}, Fault::input,
                 "shapes");
  expect_refused({array_of("cos", {4, 2}), array_of("sin", {4, 4})}, {}, Fault::input, "shapes");
  expect_refused({array_of("positions", {4})}, {}, Fault::input, "only positions");
  expect_refused({array_of("bias", {2, 5, 4})}, {}, Fault::input, "5 queries and 4 keys");
  expect_refused({array_of("cos", {4, 2}), array_of("sin", {4, 2}), array_of("positions", {3})}, {},
                 Fault::input, "positions: found 3");
  expect_refused({array_of("slopes", {4})}, {.spec = "alibi(slopes=no)"}, Fault::usage, "slopes");
}

}  // namespace
}  // namespace gnomon
