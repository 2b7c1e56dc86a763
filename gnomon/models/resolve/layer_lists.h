#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/reading.h"

namespace gnomon {

// The words of [[["global", "local"], 12]], one for each layer: lists of kinds, each with how often it comes. Throws Error(input).
std::vector<std::string> repeated_words(FileReading& file, std::string_view key);
// The window that a file says for layer `l` of `layers`: one number for all, a list, or another key's part. Throws Error(input).
std::optional<std::int64_t> said_window(FileReading& file, const WindowRule& rule, std::size_t l,
                                        std::size_t layers);

}  // namespace gnomon
