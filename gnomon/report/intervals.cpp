#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/svg.h"

namespace gnomon::report {
namespace {

constexpr double kTop = 8, kMargin = 12;

Range range_of(const IntervalChart& chart) {
  std::vector<Range> rows;
  for (const auto& r : chart.rows) {
    const double half = std::isnan(r.half_width) ? 0 : r.half_width;
    Range row;
    row.add(0), row.add(r.value - half), row.add(r.value + half);
    for (const double p : r.points) row.add(p);
    rows.push_back(row);
  }
  Range all;
  for (const Range& row : rows) all.add(row);
  if (chart.of_most) all = range_of_most(rows);
  all.add(0);
  all.widen(0.05, false);
  return all;
}

// With signs where there are some below 0.
std::vector<std::string> written(const IntervalChart& chart, int digits) {
  const bool with_signs =
      std::any_of(chart.rows.begin(), chart.rows.end(), [](const auto& r) { return r.value < 0; });
  std::vector<std::string> out;
  for (const auto& r : chart.rows)
    out.push_back(text(with_signs && r.value > 0 ? "+" : "", grouped(r.value, digits),
                       std::isnan(r.half_width) ? "" : " ± " + grouped(r.half_width, digits)));
  return out;
}

// The estimate with its bar, the points under it; an arrow at the edge for what lies beyond.
std::string draw_row(const IntervalChart::Row& r, const AxisScale& sx, double y) {
  if (!std::isfinite(r.value)) return "";
  const double low = sx.low, high = sx.high;
  std::string out;
  const auto at = [&](double x) { return fixed(sx(std::clamp(x, low, high)), 1); };
  if (!std::isnan(r.half_width))
    out +=
        text("<line class=\"bar\" x1=\"", at(r.value - r.half_width), "\" x2=\"", at(r.value + r.half_width),
             "\" y1=\"", fixed(y, 1), "\" y2=\"", fixed(y, 1), "\" stroke=\"", colour(r.style), "\"/>");
  for (const double p : r.points) {
    if (low <= p && p <= high)
      out += text("<circle class=\"point\" cx=\"", at(p), "\" cy=\"", fixed(y + 8, 1), "\" r=\"2.2\" fill=\"",
                  colour(r.style), "\"/>");
  }
  if (low <= r.value && r.value <= high) return out + marker(r.style, sx(r.value), y, 5);
  const double edge = sx(r.value < low ? low : high), tip = r.value < low ? -9 : 9;
  return out + text("<path class=\"mark\" d=\"M", fixed(edge, 1), " ", fixed(y, 1), "l", fixed(-tip, 0),
                    " -5v10z\" color=\"", colour(r.style), "\"/>");
}

// Where rows begin, and their names in as many lines as they need: beside the row where the picture is wide, above it where
// it is narrow. The last top is where the rows end.
struct Rows {
  std::vector<std::vector<std::string>> names;
  std::vector<double> tops;
};
Rows rows_of(const IntervalChart& chart, Size size, double room) {
  Rows rows{{}, {kTop}};
  for (const auto& r : chart.rows) {
    auto& lines = rows.names.emplace_back(in_lines(r.name, room, size));
    for (std::string& line : lines) line = shortened(line, std::size_t(room / width_of("x", size) + 1e-9));
    const double more = kLine * double(lines.size() - 1);
    rows.tops.push_back(rows.tops.back() + (size == Size::wide ? std::max(28.0, 14 + more) : 42 + more));
  }
  return rows;
}

// The name and the number of a row; returns the height at which its estimate stands.
double draw_words(const Rows& rows, std::size_t i, double at, Size size, std::string& out) {
  const bool wide = size == Size::wide;
  const double more = kLine * double(rows.names[i].size() - 1),
               middle = (rows.tops[i] + rows.tops[i + 1]) / 2 - 2;
  double line = wide ? middle + 4 - more / 2 : rows.tops[i] + 12;
  for (const std::string& name : rows.names[i]) {
    out += text_at(at, line, wide ? "end" : "start", name, " class=\"name\"");
    line += kLine;
  }
  return wide ? middle : rows.tops[i] + 25 + more;
}

std::string drawn(const IntervalChart& chart, Size size) {
  const bool wide = size == Size::wide;
  const double width = wide ? 800 : 360;
  const Range range = range_of(chart);
  const auto ticks = round_ticks(range.low, range.high, wide ? 7 : 4);
  const int coarse = ticks.size() > 1 ? digits_of(ticks[1] - ticks[0]) : 0,
            digits = chart.digits >= 0 ? chart.digits : std::min(coarse + 1, 6);
  const std::vector<std::string> numbers = written(chart, digits);
  double names = 0, values = 0;
  for (const auto& r : chart.rows) names = std::max(names, width_of(r.name, size));
  for (const std::string& number : numbers) values = std::max(values, width_of(number, size));
  const double left = wide ? std::min(names + 14, width / 2) : kMargin,
               right = wide ? width - values - 20 : width - kMargin;
  const Rows rows = rows_of(chart, size, wide ? left - 14 : width - values - 14);
  const double bottom = rows.tops.back();
  const AxisScale sx{range.low, range.high, left, right, false};
  std::string out;
  for (const double t : ticks) {
    const std::string number = grouped(t, coarse);
    const double half = width_of(number, size) / 2;  // the outermost stay inside
    out += line_at(sx(t), kTop, sx(t), bottom, std::abs(t) < 1e-12 ? "axis" : "grid") +
           text_at(std::clamp(sx(t), half, width - half), bottom + 17, "middle", number);
  }
  std::string description = chart.label + ".";
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const auto& r = chart.rows[i];
    const double y = draw_words(rows, i, wide ? left - 12 : 0, size, out);
    out += text_at(width, wide ? y + 4 : rows.tops[i] + 12, "end", numbers[i], " class=\"name\"") +
           draw_row(r, sx, y);
    description += text(" ", r.name, ": ", numbers[i], ".");
  }
  out += line_at(left, bottom, right, bottom, "axis");
  double below = bottom + 36;
  for (const std::string& part : in_lines(chart.label, width, size)) {
    const double half = width_of(part, size) / 2;
    out += text_at(std::clamp((left + right) / 2, half, std::max(half, width - half)), below, "middle", part,
                   " class=\"label\"");
    below += kLine;
  }
  return svg({width, below - kLine + 10, class_of(size), chart.title, description}, out);
}

}  // namespace

std::string draw(const IntervalChart& chart) {
  return figure(chart.title, drawn(chart, Size::wide) + drawn(chart, Size::narrow), chart.note);
}

}  // namespace gnomon::report
