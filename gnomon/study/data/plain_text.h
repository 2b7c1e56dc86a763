#pragma once
#include <string>
#include <vector>

#include "gnomon/core/file.h"

namespace gnomon {

struct PlainText {
  std::string bytes;
  std::vector<std::string> notes;  // sentences about what was read as something else
};

// A UTF-8 text. Windows line ends (CRLF) become LF, and a note says how many. Throws Error(resource) for a file that cannot
// be read; Error(input), with the place, for NUL bytes and for bytes that are not UTF-8.
PlainText read_plain_text(const Path& path);

}  // namespace gnomon
