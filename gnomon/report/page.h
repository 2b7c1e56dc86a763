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

// A part of a page with a heading of its own.
struct Section {
  std::string title;
  std::string html;       // what draw() returned, or markup()
  std::string id = {};    // what links to it name; empty: one is given
  std::string mark = {};  // html beside the heading, and beside its line of the contents
  std::string kind = {};  // a class of the style sheet
};

// One self-contained HTML page: styles and scripts inside, a content-security policy that forbids any
// request, dark mode, print. Equal inputs give equal bytes.
class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}
  void lead(const std::string& text);  // a paragraph under the title
  void section(const Section& section);
  void section(const std::string& title, const std::string& html) { section({title, html}); }
  void data(const std::string& json) { data_ = json; }  // embedded, for programs that read the page
  std::string html() const;

 private:
  std::string title_, lead_, body_, contents_, data_;
  int sections_ = 0;
};

std::string paragraph(const std::string& text);
std::string link(const std::string& to, const std::string& content);
std::string preformatted(const std::string& text);
// Opened by a click, and by whoever follows a link into it.
struct Fold {
  std::string title;  // html
  std::string html;
  std::string id = {};
  std::string kind = "on-screen";  // a class of the style sheet; "on-screen" is not printed, others are, open
};
std::string folded(const Fold& fold);
std::string folded(const std::string& title, const std::string& html);

}  // namespace gnomon::report
