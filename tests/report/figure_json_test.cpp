// Figures survive their JSON: what is drawn from it is what was drawn before.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/report/figure_json-inl.h"

namespace gnomon::report {
namespace {

// One of each kind, with what a format can lose: numbers that are not finite, signs, text that JSON escapes.
std::vector<Figure> one_of_each() {
  return {Table{{"spec", "nats <"}, {{{"a \"b\""}, {"−0.12", -.125, true}}, {{"ü"}, {"n/d"}}}},
          LineChart{"Loss",
                    "note",
                    {"steps", true, {1, 2, 4}},
                    {"nats", false, {}, true},
                    {{"one", {{1, 2.25}, {2, NAN}, {4, -1e-7}}, 3, true, false, false}, {"", {}, 0}}},
          IntervalChart{
              "Differences", "", "nats", {{"a", -.5, .125, 1, {-.4, -.6}}, {"b", .25, NAN, 0}}, true, 2},
          HeatMap{"Map", "", "key", "query", 2, 3, {1, -2, 3, .5, 0, 4}},
          Clocks{"Clocks", "", "hand", "time", {"ω0", "ω1"}, {{"0", {0, .5}}, {"1", {3.25, -1}}}},
          Dial{"Dial", "", {1, .5, .01}, 64},
          Orbits{"Orbits", "", {{"king", .5, -1}, {"queen", 2, 2}}, 8, .25},
          Maps{"Maps", "", "key", "query", 2, {{"head 0", {1, 2, 3, 4}}, {"head 1", {0, 0, 0, -1}}}}};
}

Figure read(const std::string& bytes) {
  const StrictJson json = parse_json(bytes, "figure");
  return figure_of(JsonValue(json, "figure"));
}

TEST(FigureJson, EveryKindIsDrawnAsBefore) {
  const auto all = one_of_each();
  ASSERT_EQ(all.size(), std::variant_size_v<Figure>);
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    ASSERT_EQ(all[kind].index(), kind);
    const std::string json = figure_json(all[kind]).dump();
    EXPECT_EQ(draw(read(json)), draw(all[kind])) << json;
    EXPECT_EQ(figure_json(read(json)).dump(), json);
  }
}

TEST(FigureJson, EveryMemberIsKept) {
  for (const Figure& figure : one_of_each()) {
    const StrictJson whole = figure_json(figure);
    for (const auto& [key, value] : whole.items()) {
      StrictJson less = whole;
      less.erase(key);
      EXPECT_THROW(read(less.dump()), Error) << key;
    }
  }
}

TEST(FigureJson, PositionVectorsAreKeptAsTheirSpec) {
  HeatMap map{"Map", "", "channel", "position", 1, 2, {0, 1}, "sinusoidal"};
  const StrictJson json = figure_json(map);
  EXPECT_TRUE(json["values"].empty());
  const HeatMap back = std::get<HeatMap>(read(json.dump()));
  EXPECT_EQ(std::tuple(back.encoding, back.rows, back.columns, back.values.size()),
            std::tuple("sinusoidal", 1, 2, 0));
  StrictJson both = json;
  both["values"] = {0, 1};
  EXPECT_THROW(read(both.dump()), Error);
}

TEST(FigureJson, SixDigitsAreKept) {
  const Figure figure = LineChart{"", "", {"x"}, {"y"}, {{"", {{1. / 3, 1234567.}}}}};
  const LineChart back = std::get<LineChart>(read(figure_json(figure).dump()));
  EXPECT_EQ(back.series[0].points[0], std::pair(.333333, 1234570.));
}

TEST(FigureJson, RefusesWhatCannotBeDrawn) {
  const auto all = one_of_each();
  const auto with = [&](std::size_t kind, const char* key, StrictJson value) {
    StrictJson json = figure_json(all[kind]);
    json[key] = std::move(value);
    return json.dump();
  };
  EXPECT_THROW(read(with(0, "kind", "pie")), Error);
  EXPECT_THROW(read(with(0, "head", {"one"})), Error);
  EXPECT_THROW(read(with(3, "rows", 3)), Error);
  EXPECT_THROW(read(with(3, "rows", 0)), Error);
  EXPECT_THROW(read(with(3, "values", "1")), Error);
  EXPECT_THROW(read(with(4, "columns", {"one"})), Error);
  EXPECT_THROW(read(with(6, "marks", 1'000'000)), Error);
  EXPECT_THROW(read(with(7, "size", 4)), Error);
}

}  // namespace
}  // namespace gnomon::report
