#pragma once
#include <string>
#include <vector>

#include "gnomon/models/explain/explain.h"
#include "gnomon/pages/explain_words.h"

namespace gnomon::pages {

// Towers for images or sound in words, for terminals and pages alike.

std::string tower_name(const Tower& tower);  // "vision_config: clip_vision_model, 24 layers"
// What it does with position, a sentence or two; of one that gnomon does not know, that it does not.
std::string tower_answer(const Tower& tower);
// As group_lines() of layers. `full`: every frequency.
std::vector<Line> tower_lines(const Tower& tower, bool full);
// What becomes of its rows in an image of another size; empty: it has none, or they fit any.
std::string resized_text(const Tower& tower);
// Its encodings as one spec. A table for columns plus one for rows is not in it.
Spec tower_spec(const Tower& tower);

// The rotation by one coordinate.
struct TowerAxis {
  std::string name;  // "row"
  std::vector<TurnedPair> pairs;
};
std::vector<TowerAxis> tower_axes(const Tower& tower);

}  // namespace gnomon::pages
