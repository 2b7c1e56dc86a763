#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/svg.h"

namespace gnomon::report {

std::string draw(const Clocks& c) {
  constexpr double kLeft = 86, kTop = 34, kStep = 62, kRadius = 24;
  const double width = kLeft + kStep * double(c.columns.size()) + 8,
               height = kTop + kStep * double(c.rows.size()) + 8;
  std::string out;
  for (std::size_t n = 0; n < c.columns.size(); ++n) {
    out += text("<text x=\"", kLeft + kStep * (double(n) + 0.5), "\" y=\"20\" text-anchor=\"middle\">",
                escape(c.columns[n]), "</text>\n");
  }
  for (std::size_t r = 0; r < c.rows.size(); ++r) {
    const double y = kTop + kStep * (double(r) + 0.5);
    out += text("<text x=\"", kLeft - 12, "\" y=\"", y + 4, "\" text-anchor=\"end\">", escape(c.rows[r].name),
                "</text>\n");
    for (std::size_t n = 0; n < c.rows[r].angles.size(); ++n) {
      const double x = kLeft + kStep * (double(n) + 0.5), a = c.rows[r].angles[n];
      out += text("<circle cx=\"", x, "\" cy=\"", y, "\" r=\"", kRadius,
                  "\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.35\"/>", "<line x1=\"", x,
                  "\" y1=\"", y, "\" x2=\"", fixed(x + kRadius * std::sin(a), 2), "\" y2=\"",
                  fixed(y - kRadius * std::cos(a), 2), "\" stroke=\"", colour(1),
                  "\" stroke-width=\"2.5\" stroke-linecap=\"round\"/>\n");
    }
  }
  return figure(
      c.title,
      svg({width, height, "whole", c.title, text(c.rows.size(), " rows of ", c.columns.size(), " clocks.")},
          out),
      c.note);
}

}  // namespace gnomon::report
