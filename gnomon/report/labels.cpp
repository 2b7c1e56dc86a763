#include "gnomon/report/labels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gnomon::report {
namespace {

constexpr double kColumn = 22;  // from the plot to the markers of the column
constexpr double kText = 8;     // from a marker to its text

double gap_of(Size size) { return letter_height(size) + 2.5; }

struct Box {
  double left, top, right, bottom;
  bool meets(const Box& b) const {
    return left < b.right && b.left < right && top < b.bottom && b.top < bottom;
  }
  bool holds(const Point& p) const { return left < p.x && p.x < right && top < p.y && p.y < bottom; }
};
Box box_of(const Label& l, const Point& at, Size size) {
  const double half = gap_of(size) / 2;
  return {at.x - 5, at.y - half, at.x + kText + width_of(l.name, size), at.y + half};
}

// Units of the lines under a box.
double covered(const Box& box, const std::vector<Line>& lines) {
  constexpr double kStep = 3;
  double length = 0;
  for (const Line& line : lines) {
    for (std::size_t i = 1; i < line.size(); ++i) {
      const Point &a = line[i - 1], &b = line[i];
      const double steps = std::ceil(std::hypot(b.x - a.x, b.y - a.y) / kStep);
      for (double k = 0; k < steps; ++k)
        length += box.holds({a.x + (b.x - a.x) * k / steps, a.y + (b.y - a.y) * k / steps}) ? kStep : 0;
    }
  }
  return length;
}

// Up and down from the end of its line, the least covering place that no label has.
Point beside(const Label& l, const std::vector<Line>& lines, const std::vector<Box>& taken,
             const LabelField& field, Size size) {
  const double gap = gap_of(size);
  Point best = l.end;
  double least = INFINITY;
  for (int n = 0; n < 100; ++n) {
    const double dy = (n % 2 ? 1 : -1) * double((n + 1) / 2) * gap / 2;
    const Point at{l.end.x + (dy == 0 ? 0 : 12), l.end.y + dy};
    const Box box = box_of(l, at, size);
    if (box.top < field.top || box.bottom > field.bottom) continue;
    if (std::any_of(taken.begin(), taken.end(), [&](const Box& b) { return b.meets(box); })) continue;
    const double cost = covered(box, lines) + std::abs(dy);
    if (cost < least) least = cost, best = at;
  }
  return best;
}

}  // namespace

std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high) {
  struct Pool {
    double sum, count;
    double mean() const { return sum / count; }
  };
  std::vector<Pool> pools;  // of heights less what the labels below take
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    pools.push_back({wanted[i] - gap * double(i), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum, pools.back().count += last.count;
    }
  }
  std::vector<double> at;
  const double most = std::max(low, high - gap * (double(wanted.size()) - 1));
  for (const Pool& p : pools) {
    for (double k = 0; k < p.count; ++k)
      at.push_back(std::clamp(p.mean(), low, most) + gap * double(at.size()));
  }
  return at;
}

void place(std::vector<Label>& labels, const std::vector<Line>& lines, const LabelField& field, Size size) {
  constexpr double kNear = 40;  // of the right edge: such a line has reached it
  std::vector<Label*> column, early;
  for (Label& l : labels) (l.end.x > field.right - kNear ? column : early).push_back(&l);
  std::stable_sort(column.begin(), column.end(), [](auto* a, auto* b) { return a->end.y < b->end.y; });
  std::vector<double> wanted;
  for (const Label* l : column) wanted.push_back(l->end.y);
  const auto heights = spread(wanted, gap_of(size), field.top, field.bottom);
  std::vector<Box> taken;
  for (std::size_t n = 0; n < column.size(); ++n) {
    column[n]->at = {field.right + kColumn, heights[n]};
    taken.push_back(box_of(*column[n], column[n]->at, size));
    taken.back().left = field.right;  // with its leader
  }
  for (Label* l : early) {
    l->at = beside(*l, lines, taken, field, size);
    taken.push_back(box_of(*l, l->at, size));
  }
}

}  // namespace gnomon::report
