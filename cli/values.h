#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

// What a value on the command line is. --help shows the name of its kind; completion offers what may stand there.
namespace gnomon::cli {

enum class Offered { nothing, files, folders, words, commands };

struct ValueKind {
  std::string_view name;  // an option's type_name
  Offered offered = Offered::nothing;
  std::vector<std::string> (*words)() = nullptr;
  std::string_view goes_on = {};  // signs after which a value has another word of the same kind: rope+alibi
};

std::span<const ValueKind> value_kinds();
// Of an option that takes a value.
const ValueKind& kind_of(const Option& option);

}  // namespace gnomon::cli
