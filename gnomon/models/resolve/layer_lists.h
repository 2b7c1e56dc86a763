#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// A word of layer_types, as transformers 5.23 calls it now.
std::string current_word(const std::string& word);
// The words of [[["global", "local"], 12]], one for each layer: lists of kinds, each with how often it comes. Throws Error(input).
std::vector<std::string> repeated_words(FileReading& file, std::string_view key);
// The window that a file says for layer `l` of `layers`, and under which key: one number for all, or a list. Throws Error(input).
struct SaidWindow {
  std::string_view key;
  std::int64_t tokens;  // 0: null, or nothing said
  bool said;
};
SaidWindow said_window(FileReading& file, const WindowRule& rule, std::size_t l, std::size_t layers);

}  // namespace gnomon
