#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/text.h"
#include "gnomon/models/resolve/family.h"

namespace gnomon {

// The sections of M-RoPE in a family's row: "16/24/24".
inline std::vector<double> sections_of(std::string_view row) {
  std::vector<double> numbers;
  for (const std::string_view part : split(row, '/')) numbers.push_back(std::stod(std::string(part)));
  return numbers;
}
// Those of a file as encodings take them: of time, height and width.
inline std::vector<double> time_first(std::vector<double> sections, StreamOrder order) {
  if (order == StreamOrder::height_width_time && sections.size() == 3)
    std::rotate(sections.begin(), sections.begin() + 2, sections.end());
  return sections;
}

}  // namespace gnomon
