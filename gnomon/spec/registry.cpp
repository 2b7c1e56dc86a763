#include "gnomon/spec/combination.h"

namespace gnomon {

#define COMBINATION(name) extern const CombinationEntry name##_combination;
#include "gnomon/spec/list.def"
#undef COMBINATION

std::span<const CombinationEntry* const> combinations() {
  static const CombinationEntry* const all[] = {
#define COMBINATION(name) &name##_combination,
#include "gnomon/spec/list.def"
#undef COMBINATION
  };
  return all;
}

std::vector<Name> combination_names() {
  std::vector<Name> names;
  for (const CombinationEntry* entry : combinations()) names.push_back({entry->name, entry->aliases});
  return names;
}

const CombinationEntry* find_combination(std::string_view name) {
  for (const CombinationEntry* entry : combinations()) {
    if (entry->name == name) return entry;
  }
  return nullptr;
}

}  // namespace gnomon
