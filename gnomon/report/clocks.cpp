#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/svg.h"

namespace gnomon::report {

std::string draw(const Clocks& c) {
  constexpr double kWidth = 400, kLeft = 40, kTop = 46;
  const double step = (kWidth - kLeft) / double(c.columns.size()), radius = std::min(.42 * step, 22.0),
               row = 2 * radius + 8;
  std::string out = text_at(0, 11, "start", c.y_label, " class=\"label\"") +
                    text_at((kLeft + kWidth) / 2, 11, "middle", c.x_label, " class=\"label\"");
  for (std::size_t n = 0; n < c.columns.size(); ++n)
    out += text_at(kLeft + step * (double(n) + 0.5), kTop - 12, "middle", c.columns[n]);
  for (std::size_t r = 0; r < c.rows.size(); ++r) {
    const double y = kTop + row * (double(r) + 0.5);
    out += text_at(kLeft - 8, y + 4, "end", c.rows[r].name);
    for (std::size_t n = 0; n < c.rows[r].angles.size(); ++n) {
      const double x = kLeft + step * (double(n) + 0.5), a = c.rows[r].angles[n];
      out += text("<circle cx=\"", fixed(x, 1), "\" cy=\"", fixed(y, 1), "\" r=\"", fixed(radius, 1),
                  "\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.35\"/><line x1=\"",
                  fixed(x, 1), "\" y1=\"", fixed(y, 1), "\" x2=\"", fixed(x + radius * std::sin(a), 2),
                  "\" y2=\"", fixed(y - radius * std::cos(a), 2), "\" stroke=\"", colour(1),
                  "\" stroke-width=\"2.5\" stroke-linecap=\"round\"/>\n");
    }
  }
  const std::string description = text("Clocks by ", c.y_label, " (", c.rows.size(), " rows) and ", c.x_label,
                                       " (", c.columns.size(), ").");
  return figure(c.title, svg({kWidth, kTop + row * double(c.rows.size()), "map", c.title, description}, out),
                c.note);
}

}  // namespace gnomon::report
