#include "gnomon/core/check.h"

#include <algorithm>

#include "gnomon/core/error.h"

namespace gnomon {

void check_extents(std::string_view place, std::initializer_list<Extent> extents) {
  for (const Extent& e : extents) {
    if (e.found >= e.least && e.found <= e.most) continue;
    throw Error(Fault::usage,
                text(place, ": ", e.name, " is ", e.found, "; allowed are ", e.least, " to ", e.most));
  }
}

std::int64_t count_numbers(std::string_view place, std::span<const std::int64_t> extents) {
  double product = 1;  // cannot overflow, and is exact as far as it is allowed to go
  bool any_below = false;
  for (const std::int64_t extent : extents) product *= double(extent), any_below |= extent < 0;
  if (!any_below && product <= double(kMostNumbers)) return std::int64_t(product);
  std::string found;
  for (const std::int64_t extent : extents) found += text(found.empty() ? "" : "·", extent);
  throw Error(Fault::usage,
              text(place, ": found an array of ", found, " numbers; allowed are 0 to ", kMostNumbers));
}

void check_size(std::string_view place, std::string_view name, std::size_t found, std::int64_t wanted) {
  if (std::int64_t(found) == wanted) return;
  throw Error(Fault::usage,
              text(place, ": ", name, " has ", counted(found, "number"), "; its shape needs ", wanted));
}

void check_pointers(std::string_view place, std::int64_t numbers, std::initializer_list<Pointer> pointers) {
  for (const Pointer& p : pointers) {
    if (p.data || numbers == 0) continue;
    throw Error(Fault::usage, text(place, ": ", p.name, " is null; its shape needs an array"));
  }
}

void check_rows(std::string_view place, const RowsInMemory& rows, bool apart) {
  auto axes = rows.axes;
  if (std::any_of(axes.begin(), axes.end(), [](const Axis& a) { return a.extent == 0; })) return;
  check_pointers(place, rows.width, {{rows.name, rows.data}});
  double reach = double(rows.width);
  for (const Axis& a : axes) {
    if (a.extent == 1) continue;
    if (a.step < 0)
      throw Error(Fault::usage, text(place, ": rows of ", rows.name, " are ", a.step,
                                     " numbers apart; allowed is 0 or more"));
    reach += double(a.extent - 1) * double(a.step);
  }
  if (reach > double(kMostNumbers)) {
    throw Error(Fault::usage, text(place, ": the last number of ", rows.name, " is number ", reach,
                                   "; allowed are up to ", kMostNumbers));
  }
  if (!apart) return;
  // Axis by axis from the smallest step on, what lies below an axis ends before its next row begins.
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.step < b.step; });
  std::int64_t below = rows.width;
  for (const Axis& a : axes) {
    if (a.extent == 1) continue;
    if (a.step < below) {
      throw Error(Fault::usage, text(place, ": rows of ", rows.name, " are ", a.step,
                                     " numbers apart and overlap; allowed are ", below, " or more"));
    }
    below += (a.extent - 1) * a.step;
  }
}

}  // namespace gnomon
