#include "gnomon/study/data/plain_text.h"

#include <algorithm>
#include <cstdint>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// Line and column of a byte, from 1, for messages.
std::string place(const std::string& bytes, std::size_t at) {
  const auto line = std::count(bytes.begin(), bytes.begin() + std::ptrdiff_t(at), '\n') + 1;
  const auto start = at == 0 ? std::string::npos : bytes.rfind('\n', at - 1);
  return text("byte ", at, " (line ", line, ", byte ", at - (start == std::string::npos ? 0 : start + 1) + 1,
              " of it)");
}

std::string hex(unsigned char c) {
  constexpr char digits[] = "0123456789ABCDEF";
  return {'0', 'x', digits[c >> 4], digits[c & 15]};
}

// Turns CRLF into LF, in one pass; how many there were.
std::int64_t read_line_ends_as_lf(std::string& bytes) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const bool before_lf = at + 1 < bytes.size() && bytes[at + 1] == '\n';
    if (bytes[at] != '\r' || !before_lf) bytes[kept++] = bytes[at];
  }
  const std::size_t dropped = bytes.size() - kept;
  bytes.resize(kept);
  return std::int64_t(dropped);
}

}  // namespace

PlainText read_plain_text(const Path& path) {
  PlainText read{read_file(path), {}};
  const auto bad = [&](const auto&... why) { return Error(Fault::input, text(path.string(), ": ", why...)); };
  if (const auto at = read.bytes.find('\0'); at != std::string::npos) {
    throw bad(place(read.bytes, at), ": found a NUL byte; a text has none (is this a binary file?)");
  }
  if (const auto at = first_invalid_utf8(read.bytes); at != std::string::npos) {
    throw bad(place(read.bytes, at), ": found ", hex((unsigned char)read.bytes[at]),
              ", which is not UTF-8; convert the text first (iconv -t UTF-8)");
  }
  if (const auto line_ends = read_line_ends_as_lf(read.bytes))
    read.notes.push_back(text(path.string(), ": ", counted(std::size_t(line_ends), "Windows line end"),
                              line_ends == 1 ? " (CRLF) was" : " (CRLF) were", " read as LF"));
  return read;
}

}  // namespace gnomon
