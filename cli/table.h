#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gnomon::cli {

// Rows of columns for the screen: as wide as what stands in them, the first on the left, the others on the right unless they are
// `words`. What does not fit beside each other stands below, with the first column again; words are wrapped.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head, std::size_t indent = 0);
  // With this column on the left.
  TextTable& words(std::size_t column);
  void add(std::vector<std::string> row);
  std::string print();

 private:
  struct Column {
    std::size_t width = 0;
    bool words = false;
  };
  // What the first column and those from `from` to `to` take.
  std::size_t room(std::size_t from, std::size_t to) const;
  std::string line(const std::vector<std::string>& row, std::size_t from, std::size_t to) const;

  const std::size_t indent_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // the head first
};

}  // namespace gnomon::cli
