#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

// What every picture of this folder is drawn with.
namespace gnomon::report {

// A picture is as wide as its column and scales: `units` of its own are so wide, and letters are 12 of them high where
// it is wide, 10.5 where it is narrow. Line charts and dot plots are drawn twice, and the style sheet shows the wide one on
// paper and from 700 pixels on.
enum class Size { wide, narrow };
struct Canvas {
  double width, height;
  std::string kind;                // classes of the style sheet
  std::string title, description;  // for those who do not see it
};
std::string svg(const Canvas& canvas, const std::string& content);
std::string figure(const std::string& title, const std::string& body, const std::string& note);
inline const char* class_of(Size size) { return size == Size::wide ? "wide" : "narrow"; }
inline double letter_height(Size size) { return size == Size::wide ? 12 : 10.5; }

std::string text_at(double x, double y, const std::string& anchor, const std::string& content,
                    const std::string& extra = "");
std::string line_at(double x1, double y1, double x2, double y2, const std::string& kind);

std::size_t characters(std::string_view s);  // code points of UTF-8
// Units that a text takes in the widest of the usual fonts, DejaVu Sans.
inline double width_of(std::string_view s, Size size) {
  return 0.61 * letter_height(size) * double(characters(s));
}
constexpr double kLine = 14;  // from one line of a label to the next
// A text in lines of at most this width, broken between words; a longer word has a line of its own.
std::vector<std::string> in_lines(std::string_view s, double width, Size size);
std::string shortened(std::string_view s, std::size_t most);  // to so many characters, the last of them "…"

// Lines of one style share colour, dash and marker. Ten colours, all of at least 3.4:1 against white and against the dark
// page; dash and marker tell the first 64 styles apart without them.
const char* colour(int style);
std::string dash(int style);  // an attribute; solid: none
std::string marker(int style, double x, double y, double radius);

struct AxisScale {
  double low, high, from, to;
  bool logarithmic;
  double operator()(double x) const;
};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double x);  // that is finite
  void add(const Range& other) { add(other.low), add(other.high); }
  double length() const { return high > low ? high - low : 0; }
  bool holds(double x) const { return low <= x && x <= high; }
  void widen(double share, bool logarithmic);
};
// The range of most: without a few (at most a quarter) that lie so far off that the others would have less than a third of
// the axis. The range of all where there are none such.
Range range_of_most(const std::vector<Range>& all);

// Round numbers: about `count` ticks at 1, 2 or 5 times a power of ten.
std::vector<double> round_ticks(double low, double high, int count);
int digits_of(double step);  // after the point, that tell ticks apart

}  // namespace gnomon::report
