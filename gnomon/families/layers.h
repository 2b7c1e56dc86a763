#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "gnomon/families/family.h"
#include "gnomon/families/reading.h"

namespace gnomon {

// What one layer sees, and whether it turns, before RoPE's own settings are looked at.
struct LayerKind {
  std::string type = "full_attention";  // as in layer_types
  std::int64_t window = 0, chunk = 0;   // tokens; 0 = none
  bool position = true;
  std::vector<Because> because;
  bool operator<(const LayerKind& o) const {
    return std::tie(type, window, chunk, position) < std::tie(o.type, o.window, o.chunk, o.position);
  }
};

Sizes read_sizes(Reading& file, const Family& family, std::vector<Because>& because);
// One for each layer. Throws Error(input) for lists of another length than the layers.
std::vector<LayerKind> read_layers(Reading& file, const Family& family, const Sizes& sizes);

}  // namespace gnomon
