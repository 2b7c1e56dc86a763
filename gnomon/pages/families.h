#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/family.h"

// Documents about the families of models that gnomon knows, from their rows (models/resolve/family.h).
namespace gnomon::pages {

std::string families_markdown();  // docs/families.md
std::string families_json();      // a list of objects

// Values of model_type that are known: of families, and of larger models with a language model of one.
std::size_t count_types();
std::vector<std::string_view> larger_models(const Family& family);

// In a few words: where position enters, and what single layers do otherwise.
std::string family_position(const Family& family);

}  // namespace gnomon::pages
