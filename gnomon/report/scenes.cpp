#include "gnomon/report/scenes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/picture.h"
#include "gnomon/report/svg.h"

namespace gnomon::report {
namespace {

constexpr double kShown = 20;  // the position that is drawn without scripts

std::string hand(double x, double y, double r, double w, const std::string& style) {
  const double a = kShown * w;
  return text("<line data-w=\"", shortest(w), "\" data-r=\"", r, "\" x1=\"", x, "\" y1=\"", y, "\" x2=\"",
              fixed(x + r * std::sin(a), 2), "\" y2=\"", fixed(y - r * std::cos(a), 2), "\" ", style, "/>");
}

std::string face(double x, double y, double r) {
  return text("<circle cx=\"", x, "\" cy=\"", y, "\" r=\"", r,
              "\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.35\"/>");
}

}  // namespace

namespace {
// The clock with all hands beside the clocks of each, or above them where that is narrow.
std::string clocks(const Dial& d, Size size) {
  const bool wide = size == Size::wide;
  const double big = wide ? 150 : 120, small = wide ? 34 : 28, column = wide ? 96 : 80, row = 2 * small + 30;
  const std::size_t columns = 4, rows = (d.frequencies.size() + columns - 1) / columns;
  const double left = wide ? 2 * big + 40 : 0, top = wide ? 12 : 2 * big + 30,
               width = left + column * double(columns),
               height = std::max(2 * big + 30, top + row * double(rows)), x0 = wide ? big + 10 : width / 2,
               y0 = wide ? height / 2 : big + 10;
  std::string out = face(x0, y0, big);
  const std::string style = text("stroke=\"", colour(1), "\" stroke-linecap=\"round\" stroke-width=\"");
  for (std::size_t n = 0; n < d.frequencies.size(); ++n) {
    out += hand(x0, y0, big * (.55 + .42 * double(n) / double(d.frequencies.size())), d.frequencies[n],
                style + "2.5\"");
    const double x = left + column * (double(n % columns) + .5), y = top + small + row * double(n / columns);
    out += face(x, y, small) + hand(x, y, small, d.frequencies[n], style + "3\"") + "\n";
    const double tokens = 2 * std::numbers::pi / d.frequencies[n];
    out += text_at(x, y + small + 16, "middle", grouped(tokens, tokens < 100 ? 1 : 0));
  }
  return svg(
      {width, height, text("dial ", class_of(size)), d.title,
       text("Position ", kShown, " as a clock with ", d.frequencies.size(), " hands, and each hand alone.")},
      out);
}
}  // namespace

std::string draw(const Dial& d) {
  const std::string controls =
      text("<p class=\"turn\" hidden><label>position <output>", kShown,
           "</output> <input type=\"range\" min=\"0\" max=\"", d.positions, "\" step=\"1\" value=\"", kShown,
           "\" aria-label=\"position\"></label> <button type=\"button\">run</button></p>");
  return "<div class=\"clock\">" +
         figure(d.title, controls + clocks(d, Size::wide) + clocks(d, Size::narrow),
                text(d.note, " Numbers: tokens for one turn. Drawn at position ", kShown, ".")) +
         "</div>\n";
}

std::string draw(const Orbits& o) {
  constexpr double kWidth = 640, kMargin = 24;
  std::vector<Orbits::Word> shown;
  for (const auto& w : o.words) {
    if (std::all_of(shown.begin(), shown.end(),
                    [&](const auto& s) { return std::hypot(s.x - w.x, s.y - w.y) > .5; }))
      shown.push_back(w);
  }
  double left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
  for (const auto& w : shown)
    left = std::min(left, w.x - 1.1), right = std::max(right, w.x + 1.1), low = std::min(low, w.y - 1.1),
    high = std::max(high, w.y + 1.1);
  const double unit = std::min((kWidth - 2 * kMargin) / (right - left), 560 / (high - low)),
               height = 2 * kMargin + unit * (high - low);
  const auto px = [&](double x) { return kMargin + (x - left) * unit; };
  const auto py = [&](double y) { return height - kMargin - (y - low) * unit; };
  std::string out;
  for (std::size_t n = 0; n < shown.size(); ++n) {
    const auto& w = shown[n];
    out += text("<circle cx=\"", fixed(px(w.x), 1), "\" cy=\"", fixed(py(w.y), 1), "\" r=\"", fixed(unit, 1),
                "\" fill=\"none\" stroke=\"", colour(0), "\" stroke-opacity=\"0.55\"/><circle cx=\"",
                fixed(px(w.x), 1), "\" cy=\"", fixed(py(w.y), 1), "\" r=\"4\" fill=\"", colour(1), "\"/>");
    for (std::int64_t p = 0; p < o.marks; ++p) {
      const double a = double(p) * o.frequency;
      out += text("<circle cx=\"", fixed(px(w.x + std::sin(a)), 1), "\" cy=\"",
                  fixed(py(w.y + std::cos(a)), 1), "\" r=\"2.2\" fill=\"", colour(0), "\"/>");
    }
    out += text("<text x=\"", fixed(px(w.x) + 7, 1), "\" y=\"", fixed(py(w.y) + 4, 1),
                "\" class=\"name\" font-weight=\"600\">", escape(w.name), "</text>\n");
  }
  return figure(o.title,
                svg({kWidth, height, "whole", o.title, "A circle of positions around each word."}, out),
                o.note);
}

std::string draw(const Maps& m) {
  double most = 0;
  for (const auto& one : m.maps) {
    for (const double v : one.values) most = std::max(most, std::abs(v));
  }
  std::string body = "<div class=\"maps\">";
  for (const auto& one : m.maps) {
    body += text("<div><p>", escape(one.name), "</p><img class=\"pixels\" alt=\"", escape(one.name),
                 "\" src=\"data:image/png;base64,",
                 base64(diverging_png(m.size, m.size, one.values, most == 0 ? 1 : most)), "\"></div>");
  }
  return figure(m.title, body + "</div>",
                text(m.note, " Down: ", m.y_label, "; across: ", m.x_label,
                     ". Blue is below the row's mean, red above; the scale ends at ±", fixed(most, 2), "."));
}

}  // namespace gnomon::report
