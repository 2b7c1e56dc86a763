#pragma once
#include "gnomon/models/explain/differences.h"

namespace gnomon {

// What the towers of two files do differently with position, object by object; `component` of each difference is the object. A GGUF
// file has the language model alone, so beside one nothing is compared, and a note says so.
Differences tower_differences(const Explanation& a, const Explanation& b);

}  // namespace gnomon
