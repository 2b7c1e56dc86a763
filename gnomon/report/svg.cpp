#include "gnomon/report/svg.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"
#include "gnomon/report/chart.h"

namespace gnomon::report {
namespace {

// Between a luminance of 0.13 and 0.27: dark enough on white, light enough on #15181b.
constexpr const char* kColours[] = {"#1F77C9", "#D2561A", "#12875F", "#C4529A", "#A67C00",
                                    "#1C92AE", "#7D68D6", "#7B7F85", "#C23B45", "#6E8B1F"};
constexpr const char* kDashes[] = {"", "7 3", "2 3", "9 3 2 3", "14 4", "4 5", "12 3 2 3 2 3", "1 5 7 5"};
constexpr int kMarks = 8;  // four shapes, full and hollow

}  // namespace

std::string escape(std::string_view s) {
  std::string out;
  for (const char c : without_unprintables(s)) {
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

std::string svg(const Canvas& c, const std::string& content) {
  return text("<svg class=\"", c.kind, "\" width=\"", fixed(c.width, 0), "\" viewBox=\"0 0 ",
              fixed(c.width, 0), " ", fixed(c.height, 0), "\" role=\"img\"><title>", escape(c.title),
              "</title>", c.description.empty() ? "" : "<desc>" + escape(c.description) + "</desc>", content,
              "</svg>\n");
}

std::string figure(const std::string& title, const std::string& body, const std::string& note) {
  // A picture that is not made smaller for a narrow screen scrolls there, and the keyboard has to reach it.
  const bool scrolls = body.starts_with("<svg class=\"whole\"");
  return text("<figure", scrolls ? " tabindex=\"0\"" : "", "><figcaption>", escape(title), "</figcaption>",
              body, note.empty() ? "" : "<p class=\"note\">" + escape(note) + "</p>", "</figure>\n");
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& content,
                    const std::string& extra) {
  return text("<text x=\"", fixed(x, 1), "\" y=\"", fixed(y, 1), "\" text-anchor=\"", anchor, "\"", extra,
              ">", escape(content), "</text>");
}

std::string line_at(double x1, double y1, double x2, double y2, const std::string& kind) {
  return text("<line class=\"", kind, "\" x1=\"", fixed(x1, 1), "\" y1=\"", fixed(y1, 1), "\" x2=\"",
              fixed(x2, 1), "\" y2=\"", fixed(y2, 1), "\"/>");
}

std::size_t characters(std::string_view s) {
  return std::size_t(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::string> in_lines(std::string_view s, double width, Size size) {
  std::vector<std::string> lines;
  for (const std::string_view word : split(s, ' ')) {
    if (!lines.empty() && width_of(lines.back(), size) + width_of(word, size) + width_of(" ", size) <= width)
      lines.back() += " " + std::string(word);
    else
      lines.emplace_back(word);
  }
  return lines;
}

std::string shortened(std::string_view s, std::size_t most) {
  if (characters(s) <= most) return std::string(s);
  std::size_t end = 0;
  for (std::size_t kept = 0; end < s.size(); ++end) {
    if ((s[end] & 0xC0) != 0x80 && ++kept == most) break;
  }
  return std::string(s.substr(0, end)) + "…";
}

const char* colour(int style) { return kColours[std::size_t(style) % std::size(kColours)]; }

std::string dash(int style) {
  const std::string pattern = kDashes[std::size_t(style) % std::size(kDashes)];
  return pattern.empty() ? "" : " stroke-dasharray=\"" + pattern + "\"";
}

// A disc, a square, a triangle, a rhombus; then the same hollow.
std::string marker(int style, double x, double y, double r) {
  const int mark = (style + style / kMarks) % kMarks;  // each time round the dashes, the next one
  const auto at = [](double a) { return fixed(a, 1) + " "; };
  std::string path;
  switch (mark % 4) {
    case 0:
      path = text("M", at(x - r), at(y), "a", at(r), at(r), "0 1 0 ", at(2 * r), "0a", at(r), at(r), "0 1 0 ",
                  at(-2 * r), "0z");
      break;
    case 1:
      path = text("M", at(x - .85 * r), at(y - .85 * r), "h", at(1.7 * r), "v", at(1.7 * r), "h",
                  at(-1.7 * r), "z");
      break;
    case 2:
      path = text("M", at(x), at(y - 1.15 * r), "l", at(1.1 * r), at(1.9 * r), "h", at(-2.2 * r), "z");
      break;
    default:
      path = text("M", at(x), at(y - 1.25 * r), "l", at(1.25 * r), at(1.25 * r), at(-1.25 * r), at(1.25 * r),
                  at(-1.25 * r), at(-1.25 * r), "z");
  }
  return text("<path class=\"mark", mark < 4 ? "" : " hollow", "\" d=\"", path, "\" color=\"", colour(style),
              "\"/>");
}

double AxisScale::operator()(double x) const {
  const auto at = [&](double v) { return logarithmic ? std::log2(v) : v; };
  return from + (at(x) - at(low)) / (at(high) - at(low)) * (to - from);
}

void Range::add(double x) {
  if (std::isfinite(x)) low = std::min(low, x), high = std::max(high, x);
}

void Range::widen(double share, bool logarithmic) {
  if (!(low <= high)) low = logarithmic ? 1 : 0, high = logarithmic ? 2 : 1;
  if (logarithmic) {
    low /= 1.04, high *= 1.04;
    return;
  }
  const double room = high > low ? (high - low) * share : std::max(std::abs(low) * 0.05, 0.5);
  low -= room, high += room;
}

Range range_of_most(const std::vector<Range>& all) {
  const auto without = [](const std::vector<Range>& ranges, std::size_t out) {
    Range r;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (i != out) r.add(ranges[i]);
    }
    return r;
  };
  const Range whole = without(all, all.size());
  std::vector<Range> rest = all;
  for (std::size_t n = 0; n < all.size() / 4; ++n) {
    std::size_t farthest = 0;  // the one whose leaving shortens the axis most
    for (std::size_t i = 1; i < rest.size(); ++i) {
      if (without(rest, i).length() < without(rest, farthest).length()) farthest = i;
    }
    rest.erase(rest.begin() + std::ptrdiff_t(farthest));
    const Range most = without(rest, rest.size());
    if (most.length() > 0 && most.length() < whole.length() / 3) return most;
  }
  return whole;
}

std::vector<double> round_ticks(double low, double high, int count) {
  const double raw = (high - low) / count, power = std::pow(10, std::floor(std::log10(raw)));
  const double step = power * (raw / power < 1.5 ? 1 : raw / power < 3.5 ? 2 : raw / power < 7.5 ? 5 : 10);
  std::vector<double> ticks;
  for (double t = std::ceil(low / step - 1e-9); t * step <= high + step * 1e-9; ++t)
    ticks.push_back(t * step);
  return ticks;
}

int digits_of(double step) {
  return std::clamp(int(std::ceil(-std::log10(std::max(step, 1e-9)) - 1e-9)), 0, 6);
}

}  // namespace gnomon::report
