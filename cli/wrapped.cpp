#include "cli/wrapped.h"

#include <algorithm>
#include <string_view>

#include "gnomon/core/text.h"

namespace gnomon::cli {

std::string wrapped(const std::string& sentence, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (const std::string_view word : split(sentence, ' ')) {
    const std::size_t columns =
        std::size_t(std::count_if(word.begin(), word.end(), [](char c) { return (c & 0xC0) != 0x80; }));
    if (column > indent && column + 1 + columns > width)
      out += "\n" + std::string(indent, ' '), column = indent;
    out += (column > indent ? " " : "") + std::string(word);
    column += columns + (column > indent ? 1 : 0);
  }
  return out;
}

}  // namespace gnomon::cli
