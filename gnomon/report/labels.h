#pragma once
#include <string>
#include <vector>

#include "gnomon/report/svg.h"

namespace gnomon::report {

struct Point {
  double x, y;
};
using Line = std::vector<Point>;  // in units of the picture

// The name of a line, which ends at `end`.
struct Label {
  std::string name;
  int style;
  Point end, at = {};    // where what leads to the name ends; the text begins 8 units to the right
  bool in_sight = true;  // the end of the line lies in the picture
};

// Heights of labels that want to stand at `wanted`, rising, at least `gap` apart and within [low, high]: with the least sum
// of squared moves (isotonic regression by pooling adjacent violators).
std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high);

struct LabelField {  // of the lines
  double left, top, right, bottom;
};

// Where labels stand: in a column to the right of the field, moved apart, or, for a line that ends early, beside its end,
// where it covers the least of other lines.
void place(std::vector<Label>& labels, const std::vector<Line>& lines, const LabelField& field, Size size);

}  // namespace gnomon::report
