#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gnomon::report {

// For HTML text and attributes; what a screen obeys instead of showing it stands as \u202e.
std::string escape(std::string_view text);

// A line or a set of points. Series of the same `style` share colour, dash and marker.
struct Series {
  std::string name;  // at its end; empty = not named
  std::vector<std::pair<double, double>> points;
  int style = 0;
  bool thin = false;     // one seed beside the mean
  bool markers = false;  // at every point; otherwise at a few, to tell lines apart
  bool line = true;
};

struct ChartAxis {
  std::string label;               // with its unit
  bool logarithmic = false;        // base 2
  std::vector<double> ticks = {};  // empty: chosen
  bool of_most = false;  // of a y axis: a few series far away leave the picture, and the note names them
};

// One chart as a <figure>: axes with units, readable ticks, every series named at its end, or in a legend where there are
// too many or too long names for that. Points that are not finite are left out and break the line.
struct LineChart {
  std::string title, note;
  ChartAxis x, y;
  std::vector<Series> series;
};
std::string draw(const LineChart& chart);

// Estimates with their intervals, one row each, against a line at 0; each written out beside its row.
struct IntervalChart {
  std::string title, note, label;
  struct Row {
    std::string name;
    double value, half_width;  // half_width NaN: a point without an interval
    int style;
    std::vector<double> points = {};  // what the estimate is the mean of: one a seed, drawn small under it
  };
  std::vector<Row> rows;
  bool of_most = false;  // a few rows far away leave the picture: arrows point to them
  int digits = -1;       // of the numbers; -1: one more than the ticks have
};
std::string draw(const IntervalChart& chart);

// A matrix as colours: blue for negative, white for 0, red for positive; row 0 at the top. The scale begins at 0 where no number
// is negative.
struct HeatMap {
  std::string title, note, x_label, y_label;
  std::size_t rows, columns;
  std::vector<double> values;  // (rows, columns)
  std::string encoding =
      {};  // values are position vectors of this spec: as JSON the map has it instead of them
};
std::string draw(const HeatMap& map);

// Clock faces, one row a time and one column a hand: a hand points up at angle 0 and turns clockwise, so that its
// end stands at (sin, cos).
struct Clocks {
  std::string title, note, x_label, y_label;
  std::vector<std::string> columns;
  struct Row {
    std::string name;
    std::vector<double> angles;  // radians
  };
  std::vector<Row> rows;
};
std::string draw(const Clocks& clocks);

}  // namespace gnomon::report
