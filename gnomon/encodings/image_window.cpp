#include "gnomon/encodings/image_window.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

bool ImageWindow::is_class(const Positions& p, std::int64_t t) const {
  return class_tokens && coordinate(p, t, 0, grid) == -1;
}
double ImageWindow::down(const Positions& p, std::int64_t i, std::int64_t j) const {
  return coordinate(p, i, 0, grid) - coordinate(p, j, 0, grid);
}
double ImageWindow::across(const Positions& p, std::int64_t i, std::int64_t j) const {
  return coordinate(p, i, 1, grid) - coordinate(p, j, 1, grid);
}

// The least and the last coordinate on an axis of a sequence without its class tokens.
ImageWindow::Ends ImageWindow::ends(const Positions& p, std::int64_t axis) const {
  const std::int64_t extent = axis == 0 ? rows : grid.columns;
  double least = INFINITY, last = -INFINITY;
  for (std::int64_t t = 0; t < p.T(); ++t) {
    if (is_class(p, t)) continue;
    const double x = coordinate(p, t, axis, grid);
    if (x != std::floor(x))
      throw Error(Fault::usage,
                  text(owner, ": found the coordinate ", shortest(x), "; allowed are whole numbers"));
    least = std::min(least, x), last = std::max(last, x);
  }
  if (last - least < double(extent) || last < least) return {least, last};
  throw Error(Fault::usage, text(owner, ": ", axis == 0 ? "rows " : "columns ", shortest(least), " to ",
                                 shortest(last), " of a sequence; allowed are ", extent, " in a row"));
}
std::int64_t ImageWindow::span(const Positions& p, std::int64_t axis) const {
  const Ends found = ends(p, axis);
  return found.last < found.least ? 0 : std::int64_t(found.last - found.least);
}
void ImageWindow::add_codes(const Positions& p, const ClassCodes& of_class, Terms& t) const {
  const double y = ends(p, 0).least, x = ends(p, 1).least;
  for (std::int64_t n = 0; n < p.T(); ++n) {
    const double code = (coordinate(p, n, 0, grid) - y) * double(stride()) + coordinate(p, n, 1, grid) - x;
    t.code_of_query.push_back(is_class(p, n) ? of_class.as_query : code);
    t.code_of_key.push_back(is_class(p, n) ? of_class.as_key : code);
  }
}

std::vector<OptionSpec> image_window_options(std::vector<OptionSpec> more) {
  std::vector<OptionSpec> all{{.name = "rows",
                               .help = "rows of the window",
                               .standard = "256",
                               .least = 1,
                               .most = 1024,
                               .whole = true},
                              {.name = "columns",
                               .help = "columns of the window",
                               .standard = "16",
                               .least = 1,
                               .most = 1024,
                               .whole = true}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace gnomon
