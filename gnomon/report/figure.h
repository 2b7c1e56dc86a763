#pragma once
#include <string>
#include <variant>

#include "gnomon/report/chart.h"
#include "gnomon/report/page.h"
#include "gnomon/report/scenes.h"

namespace gnomon::report {

// Any of the pictures, as data: whoever measures makes one, and only the page that shows it draws it.
using Figure = std::variant<Table, LineChart, IntervalChart, HeatMap, Clocks, Dial, Orbits, Maps>;
inline std::string draw(const Figure& figure) {
  return std::visit([](const auto& one) { return draw(one); }, figure);
}

}  // namespace gnomon::report
