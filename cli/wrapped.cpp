#include "cli/wrapped.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {

std::size_t columns(std::string_view words) {
  return std::size_t(std::count_if(words.begin(), words.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

namespace {
constexpr std::size_t kNarrowest = 40, kUsual = 80, kWidest = 1000;
}

std::size_t screen_width() {
  static const std::size_t width = [] {
    struct winsize size {};
    const bool known = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col;
    const char* said = std::getenv("COLUMNS");
    const int asked = known ? size.ws_col : said ? std::atoi(said) : 0;
    return asked > 0 ? std::clamp<std::size_t>(std::size_t(asked), kNarrowest, kWidest) : kUsual;
  }();
  return width;
}

namespace {

struct Piece {
  std::string_view text;
  bool joined;  // to the one before, without a space
};

constexpr std::size_t kLeast = 10;  // columns of a line, however far in it begins

// The words; one that no line holds, after its slashes. An address stays whole: it is there to be copied.
std::vector<Piece> pieces(const std::vector<std::string_view>& words, std::size_t room) {
  std::vector<Piece> all;
  for (const std::string_view word : words) {
    if (columns(word) <= room || word.find("://") != word.npos) {
      all.push_back({word, false});
      continue;
    }
    for (std::size_t from = 0, end = 0; from < word.size(); from = end) {
      end = std::min(word.find('/', from), word.size() - 1) + 1;
      all.push_back({word.substr(from, end - from), from > 0});
    }
  }
  return all;
}

}  // namespace

std::string wrapped(const std::string& sentence, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  const std::size_t room = width > indent + kLeast ? width - indent : kLeast;
  width = indent + room;
  const std::string shown = printable(sentence);
  for (const Piece& piece : pieces(split(shown, ' '), room)) {
    const std::size_t wide = columns(piece.text), space = piece.joined || column == indent ? 0 : 1;
    if (column > indent && column + space + wide > width) {
      out += "\n" + std::string(indent, ' ') + std::string(piece.text);
      column = indent + wide;
    } else {
      out += std::string(space, ' ') + std::string(piece.text);
      column += space + wide;
    }
  }
  return out;
}

}  // namespace gnomon::cli
