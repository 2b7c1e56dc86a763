#pragma once
#include "gnomon/families/family.h"
#include "gnomon/families/layers.h"
#include "gnomon/families/reading.h"
#include "gnomon/families/rope_part.h"

namespace gnomon {

// What the methods of position fill in, one file each. `answer` has family, reader and sizes already.
struct Task {
  Reading& file;
  const Family& family;
  const Sizes& sizes;
  Resolved& answer;
};
void resolve_rotary(const Task& task);
void resolve_table(const Task& task);

// A layer with these encodings inside attention, in the words of a spec, of the heads that the sizes say. Throws Error(input) for
// what no encoding can be.
LayerPosition make_layer(const Task& task, const LayerKind& kind, const std::vector<Part>& parts);
// The factor of q·k and why; adds to `because`.
double attention_scale(const Task& task, std::int64_t layer, std::vector<Because>& because);

}  // namespace gnomon
