#pragma once
#include <string>

#include "gnomon/models/resolve/family.h"

// Documents about the families of models that gnomon knows, from their rows (models/resolve/family.h).
namespace gnomon::pages {

std::string families_markdown();  // docs/families.md
std::string families_json();      // a list of objects

// In a few words: where position enters, and what single layers do otherwise.
std::string family_position(const Family& family);

}  // namespace gnomon::pages
