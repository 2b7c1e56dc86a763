// The rotary window, of every member of the family, and what models ask of an encoding beside its paper.
#include "gnomon/encodings/rotary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gnomon/core/file.h"
#include "tests/laws/laws.h"

namespace gnomon {
namespace {

std::vector<std::string> family() {
  std::vector<std::string> names;
  for (const Entry* entry : encodings()) {
    for (const auto& option : entry->options) {
      if (option.name == "channels") names.emplace_back(entry->name);
    }
  }
  return names;
}
bool bidirectional(const std::string& spec) {
  return !find_encoding(spec.substr(0, spec.find('('))).causal_only;
}

// The value of key j as query i reads it, in head 0: (D).
std::vector<double> value_read(const Encoding& e, const Scene& s, std::int64_t i, std::int64_t j) {
  const std::int64_t D = e.shape().D;
  std::vector<double> row(s.v.begin() + j * D, s.v.begin() + (j + 1) * D);
  if (const auto* map = part<ValueMapPart>(e)) {
    map->map_value(s, Role::v, 0, j, row);
    map->map_value(s, Role::out, 0, i, row);
  }
  return row;
}

TEST(RotaryWindow, TheWholeFamilyHasIt) {
  const std::vector<std::string> all = family();
  for (const char* name : {"rope",
                           "linear",
                           "ntk",
                           "ntk_by_parts",
                           "dynamic_ntk",
                           "yarn",
                           "longrope",
                           "llama3",
                           "dynamic_yarn",
                           "mrope",
                           "mrope_interleaved",
                           "xpos",
                           "proportional",
                           "rope_axial",
                           "rope_learned",
                           "rope_mixed",
                           "rope_value",
                           "rerope",
                           "self_extend",
                           "fope",
                           "lerope",
                           "rope_heads",
                           "rope_clipped",
                           "selective_rope",
                           "carope",
                           "repo",
                           "rope_dino",
                           "riflex",
                           "rope_id"})
    EXPECT_EQ(std::count(all.begin(), all.end(), name), 1) << name;
}

// A window is a smaller head: the logits of its channels alone, and the rest of q·k beside them.
TEST(RotaryWindow, IsASmallerHead) {
  const std::int64_t T = 9, D = 16, r = 8;
  for (const std::string& name : family()) {
    for (const char* pairing : {"halves", "adjacent"}) {
      for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{3}, D - r}) {
        const std::string window = text("pairing=", pairing, ", channels=", r,
                                        offset == D - r ? ", side=trailing" : text(", offset=", offset));
        SCOPED_TRACE(name + " " + window);
        const Shape whole{D, 1, D, 12, true}, part{D, 1, r, 12, true};
        const auto wide = make_encoding(name + "(" + window + ")", whole),
                   small = make_encoding(name + "(pairing=" + pairing + ")", part);
        const Case c(whole, *wide, T, 5);
        ASSERT_EQ(wide->param_count(), small->param_count());
        std::vector<double> q, k, v;
        for (std::int64_t n = 0; n < T * r; ++n) {
          const std::int64_t at = n / r * D + offset + n % r;
          q.push_back(c.q[at]), k.push_back(c.k[at]), v.push_back(c.v[at]);
        }
        const Scene inner{c.place, q, k, c.w, c.x, v};
        const Definition of_wide(*wide, c.scene()), of_small(*small, inner);
        for (std::int64_t i = 0; i < T; ++i) {
          for (std::int64_t j = 0; j <= i; ++j) {
            double rest = 0;
            for (std::int64_t d = 0; d < D; ++d) {
              if (d < offset || d >= offset + r) rest += c.q[i * D + d] * c.k[j * D + d];
            }
            const double want = of_small.logit(0, i, j) * std::sqrt(double(r)) + rest;
            ASSERT_NEAR(of_wide.logit(0, i, j) * std::sqrt(double(D)), want, 1e-9);
            const auto whole_value = value_read(*wide, c.scene(), i, j),
                       value = value_read(*small, inner, i, j);
            for (std::int64_t d = 0; d < r; ++d) ASSERT_NEAR(whole_value[offset + d], value[d], 1e-12);
          }
        }
      }
    }
  }
}

void expect_right(const std::string& spec, bool causal) {
  SCOPED_TRACE(spec + (causal ? " causal" : " bidirectional"));
  const Shape shape{32, 2, 16, 24, causal};
  const auto e = make_encoding(spec, shape);
  Case c(shape, *e, 19, 3);
  expect_laws({{e.get(), &c.w}}, c, {.tile = 8});
}

class Members : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Members, testing::ValuesIn(simd_targets()), target_name);

TEST_P(Members, WindowsWithinAHeadAreTheDefinition) {
  for (const std::string& name : family()) {
    for (const char* window : {"channels=8, offset=3", "fraction=0.5, side=trailing, pairing=adjacent"}) {
      const std::string spec = name + "(" + window + ")";
      for (const bool causal : {true, false}) {
        if (causal || bidirectional(spec)) expect_right(spec, causal);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Options that the law over single options does not reach: those whose standard is 0 or that need another.
TEST_P(Members, WhatModelsAskForIsTheDefinition) {
  for (const char* spec :
       {"yarn(softmax_mscale=0.7, original=8)",
        "yarn(softmax_mscale=0.7, original=8, channels=8, side=trailing)",
        "dynamic_yarn(softmax_mscale=0.7, original=8, channels=8)",
        "mrope(sections=2/3/3, order=alternating)", "mrope(sections=2/3/2/1)",
        "rope_axial(index=alternating, channels=8)", "rope_axial(index=interleaved, channels=8)",
        "proportional(share=0.5, factor=4, channels=12)", "alibi(heads=1, sides=separate)",
        "alibi(bias_max=5, scaled=on)", "shaw(clip=3, right=2)", "shaw(clip=2, right=5, values=off)",
        "dynamic_bias(hidden=5, depth=3)", "deberta_v2(epsilon=0.5)",
        "deberta(norm=on, epsilon=0.25, projections=shared)"}) {
    for (const bool causal : {true, false}) expect_right(spec, causal);
    if (HasFatalFailure()) return;
  }
}

std::string answer(const std::string& spec, std::int64_t D) {
  try {
    make_encoding(spec, {2 * D, 2, D, 64, true});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(RotaryWindow, ImpossibleOnesAreAnsweredByEveryMember) {
  for (const std::string& name : family()) {
    const auto expect = [&](const std::string& options, const std::string& part) {
      const std::string found = answer(name + "(" + options + ")", 16);
      EXPECT_NE(found.find(name + ": "), std::string::npos) << found;
      EXPECT_NE(found.find(part), std::string::npos) << name << ": " << found;
    };
    expect("fraction=0.3",
           "fraction 0.3 of a head of 16 channels rotates 5; allowed are even numbers from 2 to 16");
    expect("fraction=0", "rotates 0");
    expect("channels=7", "channels=7 of a head of 16 channels rotates 7");
    expect("channels=18", "allowed are even numbers from 2 to 16");
    expect("channels=8, fraction=0.5", "both set the number of rotated channels; give only one");
    expect("channels=8, offset=9", "allowed are offsets up to 8");
    expect("channels=8, side=trailing, offset=1", "offset must be 0");
  }
  EXPECT_NE(answer("alibi(heads=3)", 8).find("allowed are 0 to 2"), std::string::npos);
  EXPECT_NE(answer("mrope(sections=3/3/2, order=alternating)", 16).find("the last two equal"),
            std::string::npos);
  EXPECT_NE(answer("mrope_interleaved(sections=2/2/2/2)", 16).find("allowed are three with the sum"),
            std::string::npos);
}

// The rule: 96·0.27 = 25.92 is 26 by the nearest whole number and 25 by transformers' int(), which has no pairs here;
// 96·0.3 = 28.8 is the other way round.
TEST(RotaryWindow, TheRoundingIsNamed) {
  const Shape shape{96, 1, 96, 64, true};
  const auto pairs = [&](const std::string& spec) {
    return make_encoding(spec, shape)->frequencies().size();
  };
  EXPECT_EQ(pairs("rope(fraction=0.27)"), 13u);
  EXPECT_NE(answer("rope(fraction=0.27, rounding=down)", 96).find("rotates 25"), std::string::npos);
  EXPECT_NE(answer("rope(fraction=0.3)", 96).find("rotates 29"), std::string::npos);
  EXPECT_EQ(pairs("rope(fraction=0.3, rounding=down)"), 14u);
  EXPECT_EQ(pairs("rope(channels=26)"), 13u);
}

double numbers_off(const nlohmann::json& c, const Turns& turns) {
  const auto& w = turns.frequencies;
  if (std::int64_t(w.size()) != c.at("channels").get<std::int64_t>() / 2) return INFINITY;
  double sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * double(i + 1);
  const double found[] = {w[1], w[w.size() / 2], w.back(), sum, turns.factor};
  double most = 0;
  for (std::size_t n = 0; n < 5; ++n) {
    const double want = n < 4 ? c.at("values")[n].get<double>() : c.at("factor").get<double>();
    most = std::max(most, std::abs(found[n] / want - 1));
  }
  return most;
}

// transformers' own functions over fractions × head sizes × members. Their numbers are float32.
TEST(RotaryWindow, FrequenciesAreThoseOfTransformers) {
  const auto golden = nlohmann::json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "frequencies.json"));
  int even = 0, nearest_differs = 0;
  for (const auto& c : golden.at("cases")) {
    const std::string spec = c.at("spec");
    const std::int64_t D = c.at("size");
    const auto turns = [&](const std::string& named, std::int64_t size) {
      const auto e = make_encoding(named, {size, 1, size, 32, true});
      return part<TurnPart>(*e)->turns_at(golden.at("length"));
    };
    if (!c.contains("values")) {
      EXPECT_NE(answer(spec, D).find("allowed are even numbers"), std::string::npos) << spec << " of " << D;
      continue;
    }
    ++even;
    EXPECT_LT(numbers_off(c, turns(spec, D)), 5e-6) << spec << " of " << D;
    // The controls: the frequencies of the whole head, and those of the nearest even number.
    const std::string whole = spec.substr(0, spec.find("rounding=down")) + "fraction=1)";
    auto other = turns(whole, D);
    other.frequencies.resize(std::size_t(c.at("channels").get<std::int64_t>() / 2));
    EXPECT_GT(numbers_off(c, other), 1e-3) << whole << " passes for " << spec << " of " << D;
    std::string nearest = spec;
    nearest.replace(nearest.find("down"), 4, "nearest");
    nearest_differs += answer(nearest, D) != "no error" || numbers_off(c, turns(nearest, D)) > 1e-3;
  }
  EXPECT_GT(even, 200);
  EXPECT_GT(nearest_differs, 40);
}

}  // namespace
}  // namespace gnomon
