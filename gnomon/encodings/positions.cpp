#include "gnomon/encodings/positions.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr double kExact = 9007199254740992;  // 2^53: whole numbers up to here are doubles
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 27;

void require(bool ok, const std::string& message) {
  if (!ok) throw Error(Fault::usage, message);
}
void check_shape(std::size_t numbers, std::int64_t rows, std::int64_t axes) {
  check_extents("positions", {{"axes", axes, 1, 4}, {"rows", rows, 1, kMostPlaces}});
  if (std::int64_t(numbers) % (rows * axes) == 0) return;
  throw Error(Fault::usage, text("positions: found ", numbers,
                                 " numbers; allowed are multiples of rows·axes, ", rows, "·", axes));
}
void check_tokens(double tokens) {
  require(tokens >= 1 && tokens <= double(kMostPlaces),
          text("positions: found ", shortest(tokens), " tokens; allowed are 1 to ", kMostPlaces));
}
Placement padded(std::span<const std::int64_t> lengths, bool left) {
  require(!lengths.empty(), "positions: found no sequences; allowed are 1 or more");
  const std::int64_t T = *std::max_element(lengths.begin(), lengths.end());
  require(*std::min_element(lengths.begin(), lengths.end()) >= 0 && T > 0,
          "positions: lengths must be 0 or more, with at least one above 0");
  check_tokens(double(T) * double(lengths.size()));
  Placement p;
  p.rows = std::int64_t(lengths.size());
  for (const std::int64_t length : lengths) {
    for (std::int64_t t = 0; t < T; ++t) {
      const std::int64_t at = left ? t - (T - length) : t;
      p.values.push_back(double(std::max<std::int64_t>(at, 0)));
      p.padding.push_back(at < 0 || at >= length);
    }
  }
  // The padding is a document of its own, so that distances stay differences of indices within the text.
  for (std::int64_t n = 0; n < std::int64_t(p.padding.size()); ++n) p.document.push_back(p.padding[n]);
  if (left) {
    for (auto& d : p.document) d = 1 - d;
  }
  return p;
}

}  // namespace

Positions::Positions(std::span<const double> all, std::int64_t row_count, std::int64_t axis_count)
    : values(all), rows(row_count), axes(axis_count) {
  check_shape(all.size(), rows, axes);
}
Positions Positions::row(std::int64_t index) const {
  if (rows > 1) check_extents("positions", {{"row", index, 0, rows - 1}});
  const std::int64_t numbers = T() * axes;
  return {values.subspan(std::size_t((rows > 1 ? index : 0) * numbers), std::size_t(numbers)), 1, axes};
}

OptionSpec columns_option() {
  return {.name = "columns",
          .help = "columns of the grid for tokens with one coordinate",
          .standard = "16",
          .least = 1,
          .most = 1e9,
          .whole = true};
}
double coordinate(const Positions& positions, std::int64_t n, std::int64_t axis, const Grid& grid) {
  if (positions.axes == grid.axes) return positions.at(n, axis);
  if (positions.axes != 1) {
    throw Error(Fault::usage, text("positions have ", positions.axes, " axes; allowed are ", grid.axes,
                                   ", or 1 that counts along a grid"));
  }
  double p = positions[n];
  for (std::int64_t a = grid.axes - 1; a > axis; --a) p = std::floor(p / double(grid.columns));
  return axis == 0 ? p : p - double(grid.columns) * std::floor(p / double(grid.columns));
}

std::int64_t whole_position(std::string_view owner, double position, std::int64_t end) {
  if (position >= 0 && position < double(end) && position == std::floor(position))
    return std::int64_t(position);
  throw Error(Fault::usage, text(owner, ": position ", shortest(position),
                                 " is not a row of the table; allowed are 0 to ", end - 1));
}

Placement Placement::repeated(std::int64_t count) const {
  Placement all = *this;
  const auto repeat = [count](const auto& one, auto& to) {
    for (std::int64_t n = 1; n < count; ++n) to.insert(to.end(), one.begin(), one.end());
  };
  repeat(values, all.values), repeat(document, all.document), repeat(padding, all.padding);
  all.rows = count;
  return all;
}
void Placement::check() const {
  check_shape(values.size(), rows, axes);
  const double tokens = double(values.size()) / double(axes);
  check_tokens(tokens);
  if (!document.empty()) check_size("positions", "document", document.size(), std::int64_t(tokens));
  if (!padding.empty()) check_size("positions", "padding", padding.size(), std::int64_t(tokens));
  for (const double x : values) {
    if (std::abs(x) <= kExact) continue;
    throw Error(Fault::usage,
                text("positions: ", shortest(x),
                     std::isnan(x) ? " is not a number" : " is beyond 2^53, the largest exact whole number"));
  }
}

Placement Placement::consecutive(double first, std::int64_t tokens) {
  check_tokens(double(tokens));
  Placement p;
  for (std::int64_t t = 0; t < tokens; ++t) p.values.push_back(first + double(t));
  p.check();
  return p;
}
Placement Placement::of(std::span<const std::int64_t> positions, std::int64_t rows, std::int64_t axes) {
  return of(std::vector<double>(positions.begin(), positions.end()), rows, axes);
}
Placement Placement::of(std::vector<double> positions, std::int64_t rows, std::int64_t axes) {
  Placement p;
  p.values = std::move(positions), p.rows = rows, p.axes = axes;
  p.check();
  return p;
}
Placement Placement::grid(std::span<const std::int64_t> extents) {
  require(!extents.empty() && extents.size() <= 4,
          text("positions: found a grid of ", extents.size(), " axes; allowed are 1 to 4"));
  std::int64_t places = 1;
  for (const std::int64_t e : extents) {
    check_extents("positions", {{"an extent of a grid", e, 1, kMostPlaces}});
    check_tokens(double(places) * double(e));
    places *= e;
  }
  Placement p;
  p.axes = std::int64_t(extents.size());
  for (std::int64_t n = 0; n < places; ++n) {
    std::int64_t below = places, rest = n;
    for (const std::int64_t e : extents) {
      below /= e;
      p.values.push_back(double(rest / below));
      rest %= below;
    }
  }
  return p;
}
Placement Placement::packed(std::span<const std::int64_t> lengths) {
  Placement p;
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    require(lengths[d] >= 1,
            text("positions: document ", d, " has ", lengths[d], " tokens; allowed are 1 or more"));
    check_tokens(double(p.values.size()) + double(lengths[d]));
    for (std::int64_t t = 0; t < lengths[d]; ++t) {
      p.values.push_back(double(t));
      p.document.push_back(std::int32_t(d));
    }
  }
  require(!p.values.empty(), "positions: found no documents; allowed are 1 or more");
  return p;
}
Placement Placement::ragged(std::span<const std::int64_t> lengths) { return padded(lengths, false); }
Placement Placement::left_padded(std::span<const std::int64_t> lengths) { return padded(lengths, true); }

}  // namespace gnomon
