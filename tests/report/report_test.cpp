// What pictures of pages are made of: places of labels, ranges of axes, numbers for readers, styles.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "gnomon/core/readable.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/labels.h"
#include "gnomon/report/svg.h"

namespace gnomon::report {
namespace {

double moved(const std::vector<double>& wanted, const std::vector<double>& at) {
  double sum = 0;
  for (std::size_t i = 0; i < at.size(); ++i) sum += (at[i] - wanted[i]) * (at[i] - wanted[i]);
  return sum;
}

// All places of three labels on a grid of whole units.
double least_by_trying(const std::vector<double>& wanted, double gap, double low, double high) {
  double least = INFINITY;
  for (double a = low; a <= high; ++a) {
    for (double b = a + gap; b <= high; ++b) {
      for (double c = b + gap; c <= high; ++c) least = std::min(least, moved(wanted, {a, b, c}));
    }
  }
  return least;
}

TEST(Labels, KeepApartAndMoveLeast) {
  EXPECT_EQ(spread({10, 50, 90}, 12, 0, 100), (std::vector<double>{10, 50, 90}));
  EXPECT_EQ(spread({}, 12, 0, 100), std::vector<double>());
  for (const std::vector<double>& wanted :
       {std::vector<double>{50, 50, 50}, {0, 1, 2}, {95, 97, 99}, {20, 26, 80}, {3, 3, 60}, {30, 33, 36}}) {
    const auto at = spread(wanted, 12, 0, 100);
    EXPECT_GE(at[1] - at[0], 12 - 1e-9);
    EXPECT_GE(at[2] - at[1], 12 - 1e-9);
    EXPECT_GE(at[0], -1e-9);
    EXPECT_LE(at[2], 100 + 1e-9);
    EXPECT_LE(moved(wanted, at), least_by_trying(wanted, 12, 0, 100) + 1e-9);
  }
}

TEST(Axes, EndWhereMostDo) {
  const Range one{1, 2}, two{1.5, 2.5}, three{1, 3}, far{1, 40};
  EXPECT_EQ(range_of_most({one, two, three, far}).high, 3);
  EXPECT_EQ(range_of_most({one, two, far}).high, 40) << "one of three is not a few";
  EXPECT_EQ(range_of_most({one, two, three, {1, 6}}).high, 6) << "half of the axis is left";
  EXPECT_EQ(range_of_most({one, two, three, far, far}).high, 40) << "two of five are not a few";
  EXPECT_EQ(range_of_most({one, one, one, {-9, 1}}).low, 1);
  LineChart chart{"t", "", {"x"}, {"y", false, {}, true}, {}};
  for (const double top : {2., 2.5, 3., 40.})
    chart.series.push_back(
        {"up to " + std::to_string(int(10 * top)), {{0, 1}, {1, top}}, int(chart.series.size())});
  EXPECT_NE(draw(chart).find("Beyond the picture: up to 400 (up to 40.00)."), std::string::npos);
  chart.y.of_most = false;
  EXPECT_EQ(draw(chart).find("Beyond the picture"), std::string::npos);
}

TEST(Numbers, AreWrittenForReaders) {
  EXPECT_EQ(significant(0.004), "0.004");
  EXPECT_EQ(significant(1024), "1,024");
  EXPECT_EQ(significant(0.114868), "0.115");
  EXPECT_EQ(significant(-2.5), "−2.5");
  EXPECT_EQ(significant(0), "0");
  EXPECT_EQ(significant(100), "100");
  EXPECT_EQ(shortened("concat(sinusoidal)", 18), "concat(sinusoidal)");
  EXPECT_EQ(shortened("äöü", 3), "äöü");
  EXPECT_EQ(shortened("äöüß", 3), "äö…");
}

TEST(Styles, AreToldApartWithoutColour) {
  std::set<std::string> seen;
  for (int style = 0; style < 64; ++style) {
    std::string mark = marker(style, 0, 0, 4);
    mark.erase(mark.find(" color"));
    EXPECT_TRUE(seen.insert(dash(style) + mark).second) << style;
  }
}

// Everything ends at one place, early and late.
// The scale of colours begins at 0 where no number is negative: half of the colours would be of numbers that cannot be.
TEST(HeatMaps, BeginAt0WhereNothingIsNegative) {
  const auto drawn = [](std::vector<double> values) {
    return draw(HeatMap{"t", "", "x", "y", 2, 2, std::move(values)});
  };
  const std::string shares = drawn({0, 0.25, 0.5, 1}), rounded = drawn({-1e-15, 0.25, 0.5, 1}),
                    both = drawn({0, 0.25, -0.5, 1}), no_number = drawn({NAN, 0.25, 0.5, 1});
  for (const std::string* one : {&shares, &rounded, &no_number}) {
    EXPECT_EQ(one->find("−"), std::string::npos);
    for (const char* tick : {">0.00<", ">0.50<", ">1.00<"})
      EXPECT_NE(one->find(tick), std::string::npos) << tick;
    EXPECT_NE(one->find("white is 0, red up to 1."), std::string::npos);
  }
  for (const char* tick : {">−1.00<", ">0.00<", ">1.00<"})
    EXPECT_NE(both.find(tick), std::string::npos) << tick;
  EXPECT_NE(both.find("blue is negative"), std::string::npos);
}

TEST(Labels, OfOneEndDoNotTouch) {
  for (const double end : {300., 700.}) {
    std::vector<Label> labels;
    for (int n = 0; n < 12; ++n) labels.push_back({"a label of some length", n, {end, 200}});
    place(labels, {{{60, 200}, {end, 200}}}, {50, 30, 640, 340}, Size::wide);
    for (std::size_t a = 0; a < labels.size(); ++a) {
      EXPECT_GE(labels[a].at.y, 30);
      EXPECT_LE(labels[a].at.y, 340);
      for (std::size_t b = 0; b < a; ++b)
        EXPECT_GE(std::abs(labels[a].at.y - labels[b].at.y), 12) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace gnomon::report
