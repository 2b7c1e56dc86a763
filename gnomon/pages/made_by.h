#pragma once
#include <string>

namespace gnomon::pages {

// What a page says of its making.
struct MadeBy {
  std::string command, machine;
};

}  // namespace gnomon::pages
