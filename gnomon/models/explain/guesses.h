#pragma once
#include <string_view>

#include "gnomon/models/explain/differences.h"

namespace gnomon {

// Of a class that gnomon does not know, a guess is what the file does not say: it follows conventions that most classes share, and the class's
// own code may have others. Of a known class nothing is a guess.
bool is_guess(const Explanation& e, const Because& because);
// A quantity of a group of layers; of the whole model.
bool is_guess(const Explanation& e, const LayerGroup& group, Quantity what);
bool is_guess(const Explanation& e, Quantity what);
// A number that sources name: "theta", "trained_length".
bool is_guess(const Explanation& e, const LayerGroup& group, std::string_view what);

}  // namespace gnomon
