#pragma once
#include <string>
#include <vector>

namespace gnomon::report {

// A table whose columns sort by a click and whose content copies as CSV; it reads as well without JavaScript. The first
// column names the rows and stays in sight on narrow screens.
struct Table {
  std::vector<std::string> head;
  struct Cell {
    std::string text;
    double sort = 0;       // the number to sort by, where `numeric`
    bool numeric = false;  // right-aligned
  };
  std::vector<std::vector<Cell>> rows;
};
std::string draw(const Table& table);

// One self-contained HTML page: styles and scripts inside, a content-security policy that forbids any
// request, dark mode, print. Equal inputs give equal bytes.
class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}
  void lead(const std::string& text);                               // a paragraph under the title
  void section(const std::string& title, const std::string& html);  // html: what draw() returned, or markup()
  void data(const std::string& json) { data_ = json; }  // embedded, for programs that read the page
  std::string html() const;

 private:
  std::string title_, lead_, body_, contents_, data_;
  int sections_ = 0;
};

std::string paragraph(const std::string& text);
std::string link(const std::string& to, const std::string& content);
std::string preformatted(const std::string& text);
std::string folded(const std::string& title, const std::string& html);  // opened by a click; not printed

}  // namespace gnomon::report
