#include <algorithm>
#include <cmath>
#include <set>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/labels.h"

namespace gnomon::report {
namespace {

struct Frame {
  Size size;
  double width, height, left;
  std::size_t longest;  // characters of a label
};
constexpr double kTop = 30, kBottom = 48, kMargin = 16;
constexpr Frame kFrames[] = {{Size::wide, 800, 390, 52, 34}, {Size::narrow, 360, 330, 42, 19}};
constexpr std::size_t kMostLabels = 12;
constexpr int kRows = 6;  // ticks of y, about

// What a chart shows of its data: ranges, and a sentence about what it does not show.
struct Extent {
  Range x, y;
  std::string beyond;
};

Extent extent_of(const LineChart& chart) {
  Extent e;
  std::vector<Range> heights;
  std::vector<const Series*> of;
  const bool means = std::any_of(chart.series.begin(), chart.series.end(), [](auto& s) { return !s.thin; });
  for (const Series& s : chart.series) {
    Range height;
    for (const auto& [x, y] : s.points) {
      if (std::isfinite(y)) e.x.add(x), height.add(y);
    }
    if (chart.y.of_most && means && s.thin) continue;
    if (height.low <= height.high) heights.push_back(height), of.push_back(&s);
  }
  if (chart.y.of_most) e.y = range_of_most(heights);
  for (std::size_t i = 0; i < heights.size(); ++i) {
    if (!chart.y.of_most) e.y.add(heights[i]);
    const bool above = !e.y.holds(heights[i].high), below = !e.y.holds(heights[i].low);
    if ((above || below) && !of[i]->name.empty())
      e.beyond +=
          text(e.beyond.empty() ? " Beyond the picture: " : ", ", of[i]->name, " (",
               above ? "up to " : "down to ", grouped(above ? heights[i].high : heights[i].low, 2), ")");
  }
  if (!e.beyond.empty()) e.beyond += ".";
  for (const double t : chart.x.ticks) e.x.add(t);
  for (const double t : chart.y.ticks) e.y.add(t);
  e.x.widen(chart.x.logarithmic ? 0 : 0.02, chart.x.logarithmic);
  e.y.widen(0.06, chart.y.logarithmic);
  return e;
}

std::string tick_text(double t, const std::vector<double>& ticks, bool given) {
  return given ? significant(t) : grouped(t, ticks.size() > 1 ? digits_of(ticks[1] - ticks[0]) : 0);
}

std::vector<double> ticks_of(const ChartAxis& axis, const AxisScale& s, int count) {
  return axis.ticks.empty() ? round_ticks(s.low, s.high, count) : axis.ticks;
}

std::string axes(const LineChart& chart, const AxisScale& sx, const AxisScale& sy, const Frame& frame) {
  const double bottom = sy.from, right = sx.to;
  std::string out;
  const auto xs = ticks_of(chart.x, sx, frame.size == Size::wide ? 8 : 5), ys = ticks_of(chart.y, sy, kRows);
  for (const double t : ys)
    out += line_at(sx.from, sy(t), right, sy(t), "grid") +
           text_at(sx.from - 7, sy(t) + 4, "end", tick_text(t, ys, !chart.y.ticks.empty()));
  double free = -1e9;  // labels of close ticks would touch
  for (const double t : xs) {
    out += line_at(sx(t), bottom, sx(t), bottom + 5, "axis");
    const std::string label = tick_text(t, xs, !chart.x.ticks.empty());
    const double half = width_of(label, frame.size) / 2, x = std::min(sx(t), frame.width - half);
    if (x - half < free + 6) continue;
    free = x + half;
    out += text_at(x, bottom + 19, "middle", label);
  }
  out += line_at(sx.from, bottom, right, bottom, "axis") + line_at(sx.from, sy.to, sx.from, bottom, "axis");
  double below = bottom + 38;
  for (const std::string& part : in_lines(chart.x.label, frame.width, frame.size)) {
    const double half = width_of(part, frame.size) / 2;
    out += text_at(std::clamp((sx.from + right) / 2, half, std::max(half, frame.width - half)), below,
                   "middle", part, " class=\"label\"");
    below += kLine;
  }
  return out + text_at(0, 12, "start", chart.y.label, " class=\"label\"");
}

// The part of a step from a to b between two heights; false: none.
bool cut(Point& a, Point& b, double top, double bottom) {
  const Point from = a, to = b;
  const auto at = [&](double y) {
    return Point{from.x + (to.x - from.x) * (y - from.y) / (to.y - from.y), y};
  };
  if (std::max(a.y, b.y) < top || std::min(a.y, b.y) > bottom) return false;
  for (Point* p : {&a, &b}) {
    if (p->y < top) *p = at(top);
    if (p->y > bottom) *p = at(bottom);
  }
  return true;
}

// The connected parts of a series that lie in the picture.
std::vector<Line> lines_of(const Series& s, const AxisScale& sx, const AxisScale& sy) {
  std::vector<Line> lines;
  bool open = false;
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    const auto& [x, y] = s.points[i];
    if (!std::isfinite(x) || !std::isfinite(y)) {
      open = false;
      continue;
    }
    Point b{sx(x), sy(y)};
    if (open) {
      Point a{sx(s.points[i - 1].first), sy(s.points[i - 1].second)};
      if (cut(a, b, sy.to, sy.from)) {
        const bool goes_on = !lines.empty() && lines.back().back().x == a.x && lines.back().back().y == a.y;
        if (!goes_on) lines.push_back({a});
        lines.back().push_back(b);
      }
    } else if (sy.to <= b.y && b.y <= sy.from) {
      lines.push_back({b});
    }
    open = true;
  }
  return lines;
}

std::string draw_line(const Series& s, const std::vector<Line>& lines) {
  std::string path;
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      path += text(i ? "L" : "M", fixed(line[i].x, 1), " ", fixed(line[i].y, 1));
  }
  if (!s.line || path.empty()) return "";
  return text("<path class=\"", s.thin ? "thin" : "line", "\" d=\"", path, "\" stroke=\"", colour(s.style),
              "\"", s.thin ? "" : dash(s.style), "/>");
}

// At every point, or at about four that differ from style to style.
std::string draw_markers(const Series& s, const AxisScale& sx, const AxisScale& sy) {
  std::string out;
  const std::size_t step = s.markers ? 1 : std::max<std::size_t>(s.points.size() / 4, 1),
                    first = s.markers ? 0 : std::size_t(s.style % 8) * step / 8;
  for (std::size_t i = first; i < s.points.size(); i += step) {
    const auto& [x, y] = s.points[i];
    if (std::isfinite(x) && std::isfinite(y) && sy.to <= sy(y) && sy(y) <= sy.from)
      out += marker(s.style, sx(x), sy(y), s.thin ? 2 : 4);
  }
  return out;
}

std::string legend_of(const LineChart& chart, Size size) {
  std::string out;
  std::set<std::string> listed;
  for (const Series& s : chart.series) {
    if (s.name.empty() || !listed.insert(s.name).second) continue;
    const std::string sample = s.line ? text("<path class=\"line\" d=\"M0 7H34\" stroke=\"", colour(s.style),
                                             "\"", dash(s.style), "/>")
                                      : "";
    out += text("<li data-series=\"", s.style,
                "\"><svg class=\"sample\" width=\"34\" height=\"14\" aria-hidden=\"true\">", sample,
                marker(s.style, 17, 7, 4), "</svg>", escape(s.name), "</li>");
  }
  return out.empty() ? "" : text("<ul class=\"legend ", class_of(size), "\">", out, "</ul>");
}

// What the script lights, hides and tells of: parts of one picture that belong to a series have its style.
std::string of_series(int style, std::string_view name, const std::string& content) {
  if (content.empty()) return "";
  const std::string named = name.empty() ? "" : text(" data-name=\"", escape(name), "\"");
  return text("<g class=\"series\" data-series=\"", style, "\"", named, ">", content, "</g>");
}

// The picture with what the script needs to read a value from a place: of each axis low, high, from, to, and 1 if logarithmic.
std::string with_scales(const AxisScale& sx, const AxisScale& sy, const std::string& content) {
  const auto told = [](const AxisScale& s) {
    return text(shortest(s.low), " ", shortest(s.high), " ", fixed(s.from, 1), " ", fixed(s.to, 1), " ",
                int(s.logarithmic));
  };
  return text("<g class=\"field\" data-x=\"", told(sx), "\" data-y=\"", told(sy), "\">", content, "</g>");
}

// The first and the last point that there is; none of an empty series.
std::vector<std::pair<double, double>> ends_of(const Series& s) {
  std::vector<std::pair<double, double>> ends;
  for (const auto& p : s.points) {
    if (!std::isfinite(p.first) || !std::isfinite(p.second)) continue;
    if (ends.size() == 2) ends.pop_back();
    ends.push_back(p);
  }
  return ends;
}

// The names of the lines where all fit at their ends, none where a legend has to name them.
std::vector<Label> labels_of(const LineChart& chart, const Extent& e, const Frame& frame) {
  std::vector<Label> labels;
  std::set<std::string> names;
  for (const Series& s : chart.series) {
    if (s.name.empty()) continue;
    labels.push_back({s.name, s.style, {}});
    if (!names.insert(s.name).second || (!s.line && chart.series.size() > 1)) return {};
    if (characters(s.name) > frame.longest) return {};
    const auto ends = ends_of(s);
    labels.back().in_sight = !ends.empty() && e.y.holds(ends.back().second);
    if (ends.size() == 2 && ends[1].second > e.y.high) labels.back().name += " ↑";
  }
  return labels.size() > kMostLabels ? std::vector<Label>() : labels;
}

// The marker stands at the end of the line; what leads from there to the name has none: it would look like one more point.
std::string draw_label(const Label& l, Size size) {
  const bool moved = std::abs(l.at.x - l.end.x) + std::abs(l.at.y - l.end.y) > 1;
  return text(
      moved ? text("<path class=\"leader\" d=\"M", fixed(l.end.x, 1), " ", fixed(l.end.y, 1), "L",
                   fixed(l.at.x + 5, 1), " ", fixed(l.at.y, 1), "\" stroke=\"", colour(l.style), "\"/>")
            : "",
      l.in_sight ? marker(l.style, l.end.x, l.end.y, 4) : "",
      text_at(l.at.x + 8, l.at.y + (size == Size::wide ? 4 : 3.5), "start", l.name, " class=\"name\""));
}

std::string description_of(const LineChart& chart) {
  std::string out = text(chart.y.label, " by ", chart.x.label, ".");
  for (const Series& s : chart.series) {
    const auto ends = ends_of(s);
    if (s.name.empty() || ends.empty()) continue;
    const auto told = [](const auto& p) { return text(significant(p.second), " at ", significant(p.first)); };
    out += text(" ", s.name, ": ", told(ends.front()), ends.size() > 1 ? ", " + told(ends.back()) : "", ".");
  }
  return out;
}

// Where the picture begins: right of the widest number beside it.
double left_of(const LineChart& chart, const Extent& e, const Frame& frame) {
  const std::vector<double> ticks =
      ticks_of(chart.y, {e.y.low, e.y.high, frame.height - kBottom, kTop, chart.y.logarithmic}, kRows);
  double left = frame.left;
  for (const double t : ticks)
    left = std::max(left, 9 + width_of(tick_text(t, ticks, !chart.y.ticks.empty()), frame.size));
  return left;
}

std::string drawn(const LineChart& chart, const Extent& e, const Frame& frame) {
  std::vector<Label> labels = labels_of(chart, e, frame);
  double column = kMargin;
  for (const Label& l : labels) column = std::max(column, 36 + width_of(l.name, frame.size));
  const AxisScale sx{e.x.low, e.x.high, left_of(chart, e, frame), frame.width - column, chart.x.logarithmic},
      sy{e.y.low, e.y.high, frame.height - kBottom, kTop, chart.y.logarithmic};
  std::string thin, thick, names;
  std::vector<Line> all;
  std::size_t named = 0;
  for (const Series& s : chart.series) {
    const std::vector<Line> lines = lines_of(s, sx, sy);
    const bool marked = s.markers || (!s.thin && chart.series.size() > 1);
    (s.thin ? thin : thick) +=
        of_series(s.style, s.name, draw_line(s, lines) + (marked ? draw_markers(s, sx, sy) : ""));
    if (!s.thin) all.insert(all.end(), lines.begin(), lines.end());
    if (labels.empty() || s.name.empty()) continue;
    const auto ends = ends_of(s);
    Label& label = labels[named++];
    if (!ends.empty())
      label.end = {sx(ends.back().first), std::clamp(sy(ends.back().second), sy.to, sy.from)};
  }
  place(labels, all, {sx.from, sy.to, sx.to, sy.from}, frame.size);
  for (const Label& l : labels) names += of_series(l.style, "", draw_label(l, frame.size));
  return (labels.empty() ? legend_of(chart, frame.size) : "") +
         svg({frame.width,
              frame.height + kLine * double(in_lines(chart.x.label, frame.width, frame.size).size() - 1),
              class_of(frame.size), chart.title, description_of(chart)},
             with_scales(sx, sy, axes(chart, sx, sy, frame) + thin + thick + names));
}

}  // namespace

std::string draw(const LineChart& chart) {
  const Extent e = extent_of(chart);
  std::string both;
  for (const Frame& frame : kFrames) both += drawn(chart, e, frame);
  return figure(chart.title, both, chart.note + e.beyond);
}

}  // namespace gnomon::report
