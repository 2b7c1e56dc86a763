#include "gnomon/report/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/report/picture.h"

namespace gnomon::report {
namespace {

// Okabe and Ito's colours that keep apart for colour-blind readers, black left to text; a dash and a marker
// each.
constexpr const char* kColours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                    "#E69F00", "#56B4E9", "#8C6BB1", "#7F7F7F"};
constexpr const char* kDashes[] = {"", "7 3", "2 3", "9 3 2 3", "", "5 2", "1 3", "12 4"};
const char* colour(int style) { return kColours[std::size_t(style) % std::size(kColours)]; }
std::string dash(int style) {
  const std::string pattern = kDashes[std::size_t(style) % std::size(kDashes)];
  return pattern.empty() ? "" : " stroke-dasharray=\"" + pattern + "\"";
}

constexpr double kWidth = 720, kHeight = 360, kLeft = 66, kRight = 16, kTop = 12, kBottom = 50;

struct Scale {
  double low, high, from, to;
  bool logarithmic;
  double operator()(double x) const {
    const auto at = [&](double v) { return logarithmic ? std::log2(v) : v; };
    return from + (at(x) - at(low)) / (at(high) - at(low)) * (to - from);
  }
};

// Round numbers: about `count` ticks at 1, 2 or 5 times a power of ten.
std::vector<double> round_ticks(double low, double high, int count) {
  const double raw = (high - low) / count, power = std::pow(10, std::floor(std::log10(raw)));
  const double step = power * (raw / power < 1.5 ? 1 : raw / power < 3.5 ? 2 : raw / power < 7.5 ? 5 : 10);
  std::vector<double> ticks;
  for (double t = std::ceil(low / step - 1e-9); t * step <= high + step * 1e-9; ++t)
    ticks.push_back(t * step);
  return ticks;
}
std::string tick_text(double t, double step) {
  const int digits = std::clamp(int(std::ceil(-std::log10(std::max(step, 1e-9)) - 1e-9)), 0, 6);
  return fixed(t, digits);
}

// Three digits of a tick that was asked for: 0.008, 1.84, 128.
std::string significant(double t) {
  if (t == 0 || std::abs(t) >= 100) return fixed(t, 0);
  const double unit = std::pow(10, std::floor(std::log10(std::abs(t))) - 2);
  return shortest(std::round(t / unit) / std::round(1 / unit));
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double x) {
    if (std::isfinite(x)) low = std::min(low, x), high = std::max(high, x);
  }
  void widen(double share, bool logarithmic) {
    if (!(low <= high)) low = logarithmic ? 1 : 0, high = logarithmic ? 2 : 1;
    if (logarithmic) {
      low /= 1.04, high *= 1.04;
      return;
    }
    const double room = high > low ? (high - low) * share : std::max(std::abs(low) * 0.05, 0.5);
    low -= room, high += room;
  }
};

std::string text_at(double x, double y, const std::string& anchor, const std::string& content,
                    const std::string& extra = "") {
  return text("<text x=\"", fixed(x, 1), "\" y=\"", fixed(y, 1), "\" text-anchor=\"", anchor, "\"", extra,
              ">", escape(content), "</text>");
}
std::string line_at(double x1, double y1, double x2, double y2, const std::string& kind) {
  return text("<line class=\"", kind, "\" x1=\"", fixed(x1, 1), "\" y1=\"", fixed(y1, 1), "\" x2=\"",
              fixed(x2, 1), "\" y2=\"", fixed(y2, 1), "\"/>");
}

std::string figure(const std::string& title, const std::string& legend, const std::string& svg,
                   const std::string& note) {
  return text("<figure><figcaption>", escape(title), "</figcaption>", legend, svg,
              note.empty() ? "" : "<p class=\"note\">" + escape(note) + "</p>", "</figure>\n");
}
std::string open_svg(double width, double height, const std::string& label) {
  return text("<svg viewBox=\"0 0 ", fixed(width, 0), " ", fixed(height, 0), "\" role=\"img\" aria-label=\"",
              escape(label), "\">");
}

// Under the axis; one at the right edge moves in.
std::string tick_label(double x, double y, const std::string& label) {
  const double half = 3.8 * double(label.size());  // of its width
  return text_at(std::min(x, kWidth - half), y, "middle", label);
}

std::string axes(const Axis& x, const Axis& y, const Scale& sx, const Scale& sy) {
  std::string out;
  const auto ticks_of = [](const Axis& axis, const Scale& s, int count) {
    return axis.ticks.empty() ? round_ticks(s.low, s.high, count) : axis.ticks;
  };
  const auto xs = ticks_of(x, sx, 8), ys = ticks_of(y, sy, 6);
  for (const double t : ys) {
    out += line_at(kLeft, sy(t), kWidth - kRight, sy(t), "grid") +
           text_at(kLeft - 8, sy(t) + 4, "end", tick_text(t, ys.size() > 1 ? ys[1] - ys[0] : 1));
  }
  double last = -1e9;
  for (const double t : xs) {
    out += line_at(sx(t), kHeight - kBottom, sx(t), kHeight - kBottom + 5, "axis");
    if (sx(t) - last < 34) continue;  // labels of close ticks would touch
    last = sx(t);
    const std::string label =
        x.ticks.empty() ? tick_text(t, xs.size() > 1 ? xs[1] - xs[0] : 1) : significant(t);
    out += tick_label(sx(t), kHeight - kBottom + 19, label);
  }
  out += line_at(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "axis") +
         line_at(kLeft, kTop, kLeft, kHeight - kBottom, "axis");
  out += text_at((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", x.label, " class=\"label\"");
  const double middle = (kTop + kHeight - kBottom) / 2;
  return out + text_at(14, middle, "middle", y.label,
                       text(" class=\"label\" transform=\"rotate(-90 14 ", fixed(middle, 1), ")\""));
}

std::string draw_series(const Series& s, const Scale& sx, const Scale& sy) {
  std::string path, dots;
  bool open = false;
  for (const auto& [x, y] : s.points) {
    if (!std::isfinite(x) || !std::isfinite(y)) {
      open = false;
      continue;
    }
    path += text(open ? "L" : "M", fixed(sx(x), 1), " ", fixed(sy(y), 1));
    open = true;
    if (s.markers)
      dots += text("<circle cx=\"", fixed(sx(x), 1), "\" cy=\"", fixed(sy(y), 1), "\" r=\"",
                   s.thin ? "2" : "4", "\"/>");
  }
  const std::string c = colour(s.style);
  std::string out;
  if (s.line)
    out += text("<path d=\"", path, "\" fill=\"none\" stroke=\"", c, "\" stroke-width=\"",
                s.thin ? "0.8" : "2.2", "\"", s.thin ? " opacity=\"0.45\"" : dash(s.style), "/>");
  if (!dots.empty()) out += text("<g fill=\"", c, "\"", s.thin ? " opacity=\"0.6\"" : "", ">", dots, "</g>");
  return out;
}

std::string legend_of(const std::vector<Series>& series) {
  std::string out;
  for (const auto& s : series) {
    if (s.name.empty()) continue;
    const std::string sample =
        s.line ? text("<line x1=\"0\" y1=\"6\" x2=\"30\" y2=\"6\" stroke=\"", colour(s.style),
                      "\" stroke-width=\"2.6\"", dash(s.style), "/>")
               : text("<circle cx=\"15\" cy=\"6\" r=\"4.5\" fill=\"", colour(s.style), "\"/>");
    out += text("<li><svg class=\"sample\" width=\"30\" height=\"12\" aria-hidden=\"true\">", sample,
                "</svg>", escape(s.name), "</li>");
  }
  return "<ul class=\"legend\">" + out + "</ul>";
}

}  // namespace

std::string escape(std::string_view s) {
  std::string out;
  for (const char c : s) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string draw(const LineChart& chart) {
  Range rx, ry;
  for (const auto& s : chart.series) {
    for (const auto& [x, y] : s.points) {
      if (std::isfinite(y)) rx.add(x), ry.add(y);
    }
  }
  for (const double t : chart.x.ticks) rx.add(t);
  for (const double t : chart.y.ticks) ry.add(t);
  rx.widen(chart.x.logarithmic ? 0 : 0.02, chart.x.logarithmic);
  ry.widen(0.06, chart.y.logarithmic);
  const Scale sx{rx.low, rx.high, kLeft, kWidth - kRight, chart.x.logarithmic},
      sy{ry.low, ry.high, kHeight - kBottom, kTop, chart.y.logarithmic};
  std::string svg = open_svg(kWidth, kHeight, chart.title) + axes(chart.x, chart.y, sx, sy);
  for (const bool thin : {true, false}) {  // means on top
    for (const auto& s : chart.series) {
      if (s.thin == thin) svg += draw_series(s, sx, sy);
    }
  }
  return figure(chart.title, legend_of(chart.series), svg + "</svg>", chart.note);
}

std::string draw(const IntervalChart& chart) {
  constexpr double kRow = 26;
  std::size_t longest = 4;
  for (const auto& r : chart.rows) longest = std::max(longest, r.name.size());
  const double left = std::min(20 + 7.2 * double(longest), kWidth / 2),
               bottom = kTop + kRow * double(chart.rows.size());
  Range range;
  range.add(0);
  for (const auto& r : chart.rows) {
    const double half = std::isnan(r.half_width) ? 0 : r.half_width;
    range.add(r.value - half), range.add(r.value + half);
  }
  range.widen(0.05, false);
  const Scale sx{range.low, range.high, left, kWidth - kRight, false};
  std::string svg = open_svg(kWidth, bottom + kBottom, chart.title);
  const auto ticks = round_ticks(range.low, range.high, 7);
  for (const double t : ticks) {
    svg += line_at(sx(t), kTop, sx(t), bottom, std::abs(t) < 1e-12 ? "axis" : "grid") +
           tick_label(sx(t), bottom + 19, tick_text(t, ticks.size() > 1 ? ticks[1] - ticks[0] : 1));
  }
  for (std::size_t i = 0; i < chart.rows.size(); ++i) {
    const auto& r = chart.rows[i];
    const double y = kTop + kRow * (double(i) + 0.5);
    svg += text_at(left - 10, y + 4, "end", r.name);
    if (!std::isfinite(r.value)) continue;
    if (!std::isnan(r.half_width)) {
      svg += text("<line x1=\"", fixed(sx(r.value - r.half_width), 1), "\" x2=\"",
                  fixed(sx(r.value + r.half_width), 1), "\" y1=\"", fixed(y, 1), "\" y2=\"", fixed(y, 1),
                  "\" stroke=\"", colour(r.style), "\" stroke-width=\"3\" opacity=\"0.55\"/>");
    }
    svg += text("<circle cx=\"", fixed(sx(r.value), 1), "\" cy=\"", fixed(y, 1), "\" r=\"5\" fill=\"",
                colour(r.style), "\"/>");
  }
  svg +=
      line_at(left, bottom, kWidth - kRight, bottom, "axis") +
      text_at((left + kWidth - kRight) / 2, bottom + kBottom - 8, "middle", chart.label, " class=\"label\"");
  return figure(chart.title, "", svg + "</svg>", chart.note);
}

std::string draw(const HeatMap& map) {
  double most = 0;
  for (const double v : map.values) most = std::max(most, std::abs(v));
  if (most == 0) most = 1;
  const double left = 58, right = 92, width = kWidth - left - right,
               height = std::clamp(width * double(map.rows) / double(map.columns), 120.0, 340.0);
  const double bottom = kTop + height;
  std::string svg = open_svg(kWidth, bottom + kBottom, map.title);
  const auto image = [&](double x, double y, double w, double h, const std::string& png) {
    return text("<image x=\"", fixed(x, 1), "\" y=\"", fixed(y, 1), "\" width=\"", fixed(w, 1),
                "\" height=\"", fixed(h, 1),
                "\" preserveAspectRatio=\"none\" class=\"pixels\" href=\"data:image/png;base64,", png,
                "\"/>");
  };
  svg += image(left, kTop, width, height, base64(diverging_png(map.rows, map.columns, map.values, most)));
  const auto edge_ticks = [](std::size_t n) {
    std::vector<double> ticks;
    for (const double t : round_ticks(0, double(n), 6)) {
      if (t < double(n) && t == std::floor(t)) ticks.push_back(t);
    }
    return ticks;
  };
  for (const double t : edge_ticks(map.columns)) {
    const double x = left + (t + 0.5) / double(map.columns) * width;
    svg += line_at(x, bottom, x, bottom + 5, "axis") + text_at(x, bottom + 19, "middle", shortest(t));
  }
  for (const double t : edge_ticks(map.rows)) {
    const double y = kTop + (t + 0.5) / double(map.rows) * height;
    svg += line_at(left - 5, y, left, y, "axis") + text_at(left - 8, y + 4, "end", shortest(t));
  }
  svg += text_at(left + width / 2, bottom + kBottom - 8, "middle", map.x_label, " class=\"label\"");
  svg += text_at(14, kTop + height / 2, "middle", map.y_label,
                 text(" class=\"label\" transform=\"rotate(-90 14 ", fixed(kTop + height / 2, 1), ")\""));
  std::vector<double> bar(64);
  for (std::size_t i = 0; i < bar.size(); ++i) bar[i] = 1 - 2 * double(i) / double(bar.size() - 1);
  const double x = kWidth - right + 20;
  svg += image(x, kTop, 14, height, base64(diverging_png(bar.size(), 1, bar, 1)));
  for (const double v : {1.0, 0.0, -1.0})
    svg += text_at(x + 20,
                   kTop + height * (1 - v) / 2 +
                       (v > 0   ? 10
                        : v < 0 ? 0
                                : 4),
                   "start",
                   fixed(v * most, most < 0.1  ? 4
                                   : most < 10 ? 2
                                               : 0));
  return figure(map.title, "", svg + "</svg>", map.note);
}

}  // namespace gnomon::report
