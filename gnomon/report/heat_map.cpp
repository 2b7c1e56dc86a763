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

// The numbers that colours stand for: from −most to most, or from 0 where nothing is negative but for rounding.
constexpr double kRounding = 1e-9;
struct Span {
  double least, most;
  double at(double share) const { return most - share * (most - least); }  // 0 at the top
};
Span span_of(const std::vector<double>& values) {
  double most = 0, least = 0;
  for (const double v : values) {
    if (std::isfinite(v)) most = std::max(most, std::abs(v)), least = std::min(least, v);
  }
  if (most == 0) most = 1;
  return {least < -kRounding * most ? -most : 0, most};
}

// The colours from most at the top to least.
std::string bar_of(const Span& span, double height) {
  std::vector<double> bar(64);
  for (std::size_t i = 0; i < bar.size(); ++i) bar[i] = span.at(double(i) / double(bar.size() - 1));
  const double x = kWidth - kRight + 12;
  std::string out = image(x, kTop, 10, height, base64(diverging_png(bar.size(), 1, bar, span.most)));
  const int digits = span.most < 0.1 ? 4 : span.most < 10 ? 2 : 0;
  for (const double share : {0.0, 0.5, 1.0})
    out += text_at(x + 14, kTop + height * share + 8 * (1 - share), "start", grouped(span.at(share), digits));
  return out;
}

}  // namespace

std::string draw(const HeatMap& map) {
  const Span span = span_of(map.values);
  const double width = kWidth - kLeft - kRight,
               height = std::clamp(width * double(map.rows) / double(map.columns), 110.0, 300.0),
               bottom = kTop + height;
  std::string out =
      image(kLeft, kTop, width, height, base64(diverging_png(map.rows, map.columns, map.values, span.most)));
  for (const double t : whole_ticks(map.columns)) {
    const double x = kLeft + (t + 0.5) / double(map.columns) * width;
    out += line_at(x, bottom, x, bottom + 4, "axis") + text_at(x, bottom + 16, "middle", grouped(t));
  }
  for (const double t : whole_ticks(map.rows)) {
    const double y = kTop + (t + 0.5) / double(map.rows) * height;
    out += line_at(kLeft - 4, y, kLeft, y, "axis") + text_at(kLeft - 7, y + 4, "end", grouped(t));
  }
  out += text_at(kLeft + width / 2, bottom + 34, "middle", map.x_label, " class=\"label\"") +
         text_at(0, 11, "start", map.y_label, " class=\"label\"") + bar_of(span, height);
  const std::string description = text(
      map.rows, " rows (", map.y_label, ") by ", map.columns, " columns (", map.x_label,
      span.least < 0 ? "); blue is negative, white 0, red positive, up to " : "); white is 0, red up to ",
      significant(span.most), ".");
  return figure(map.title, svg({kWidth, bottom + kBottom, "map", map.title, description}, out), map.note);
}

}  // namespace gnomon::report
