#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/picture.h"
#include "gnomon/report/svg.h"

namespace gnomon::report {
namespace {

// Drawn once, for its pixels are heavy: small enough for a narrow screen, and never shown much larger.
constexpr double kWidth = 400, kLeft = 40, kRight = 78, kTop = 22, kBottom = 42;

std::string image(double x, double y, double w, double h, const std::string& png) {
  return text("<image x=\"", fixed(x, 1), "\" y=\"", fixed(y, 1), "\" width=\"", fixed(w, 1), "\" height=\"",
              fixed(h, 1), "\" preserveAspectRatio=\"none\" class=\"pixels\" href=\"data:image/png;base64,",
              png, "\"/>");
}

std::vector<double> whole_ticks(std::size_t n) {
  std::vector<double> ticks;
  for (const double t : round_ticks(0, double(n), 5)) {
    if (t < double(n) && t == std::floor(t)) ticks.push_back(t);
  }
  return ticks;
}

// The colours from +most at the top to −most.
std::string bar_of(double most, double height) {
  std::vector<double> bar(64);
  for (std::size_t i = 0; i < bar.size(); ++i) bar[i] = 1 - 2 * double(i) / double(bar.size() - 1);
  const double x = kWidth - kRight + 12;
  std::string out = image(x, kTop, 10, height, base64(diverging_png(bar.size(), 1, bar, 1)));
  const int digits = most < 0.1 ? 4 : most < 10 ? 2 : 0;
  for (const double v : {1.0, 0.0, -1.0})
    out += text_at(x + 14, kTop + height * (1 - v) / 2 + 4 + 4 * v, "start", grouped(v * most, digits));
  return out;
}

}  // namespace

std::string draw(const HeatMap& map) {
  double most = 0;
  for (const double v : map.values) most = std::max(most, std::abs(v));
  if (most == 0) most = 1;
  const double width = kWidth - kLeft - kRight,
               height = std::clamp(width * double(map.rows) / double(map.columns), 110.0, 300.0),
               bottom = kTop + height;
  std::string out =
      image(kLeft, kTop, width, height, base64(diverging_png(map.rows, map.columns, map.values, most)));
  for (const double t : whole_ticks(map.columns)) {
    const double x = kLeft + (t + 0.5) / double(map.columns) * width;
    out += line_at(x, bottom, x, bottom + 4, "axis") + text_at(x, bottom + 16, "middle", grouped(t));
  }
  for (const double t : whole_ticks(map.rows)) {
    const double y = kTop + (t + 0.5) / double(map.rows) * height;
    out += line_at(kLeft - 4, y, kLeft, y, "axis") + text_at(kLeft - 7, y + 4, "end", grouped(t));
  }
  out += text_at(kLeft + width / 2, bottom + 34, "middle", map.x_label, " class=\"label\"") +
         text_at(0, 11, "start", map.y_label, " class=\"label\"") + bar_of(most, height);
  const std::string description =
      text(map.rows, " rows (", map.y_label, ") by ", map.columns, " columns (", map.x_label,
           "); blue is negative, white 0, red positive, up to ", significant(most), ".");
  return figure(map.title, svg({kWidth, bottom + kBottom, "map", map.title, description}, out), map.note);
}

}  // namespace gnomon::report
