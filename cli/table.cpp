#include "cli/table.h"

#include <algorithm>

#include "cli/wrapped.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeast = 24;  // columns that words are given at least
constexpr std::size_t kLead = 32;   // and the first column at most, where the table does not fit as it is

void end_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

TextTable::TextTable(std::vector<std::string> head, std::size_t indent)
    : indent_(indent), columns_(head.size()) {
  columns_[0].words = true;
  add(std::move(head));
}

TextTable& TextTable::words(std::size_t column) {
  columns_[column].words = true;
  return *this;
}

void TextTable::add(std::vector<std::string> row) {
  row.resize(columns_.size());
  for (std::size_t c = 0; c < row.size(); ++c)
    columns_[c].width = std::max(columns_[c].width, columns(row[c]));
  rows_.push_back(std::move(row));
}

std::size_t TextTable::room(std::size_t from, std::size_t to) const {
  std::size_t width = indent_ + columns_[0].width;
  for (std::size_t c = from; c < to; ++c) {
    const bool wraps = columns_[c].words && c + 1 == columns_.size();
    width += kGap + (wraps ? std::min(columns_[c].width, kLeast) : columns_[c].width);
  }
  return width;
}

std::string TextTable::line(const std::vector<std::string>& row, std::size_t from, std::size_t to) const {
  std::string out = std::string(indent_, ' ') + wrapped(row[0], indent_);
  std::size_t at = indent_ + columns_[0].width, written = indent_ + columns(row[0]);
  if (written > at) end_line(out), written = 0;
  for (std::size_t c = from; c < to; ++c) {
    const std::size_t wide = columns_[c].width, own = columns(row[c]);
    const std::size_t begin = at + kGap + (columns_[c].words ? 0 : wide - own);
    out += std::string(begin - written, ' ') + (c + 1 == columns_.size() ? wrapped(row[c], begin) : row[c]);
    at += kGap + wide, written = begin + own;
  }
  end_line(out);
  return out;
}

std::string TextTable::print() {
  if (room(1, columns_.size()) > screen_width()) columns_[0].width = std::min(columns_[0].width, kLead);
  std::string out;
  for (std::size_t from = 1, to = from; from < columns_.size(); from = to) {
    while (to < columns_.size() && (to == from || room(from, to + 1) <= screen_width())) ++to;
    if (from > 1) out += '\n';
    for (const auto& row : rows_) {
      const bool blank = std::all_of(row.begin(), row.end(), [](const std::string& s) { return s.empty(); });
      if (!blank) out += line(row, from, to);  // a table without a head
    }
  }
  return out;
}

}  // namespace gnomon::cli
