#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/pages/portrait.h"

namespace gnomon::pages {

// A spec looked at in a model of one shape.
struct Shown {
  Spec spec;
  Shape shape;  // `length` tokens are looked at
  struct One {
    Standing standing;
    std::vector<Fact> facts;
    std::string pictures;  // of the page
  };
  std::vector<One> encodings;
};
// Throw Error(usage) for what would take more than a minute or two, or more memory than it deserves. The names of arguments in a
// message begin with `dashes`: "--" on a command line, nothing elsewhere.
void check_shown(const Shape& shape, std::string_view dashes);
void check_work(const Standing& standing, std::int64_t length, std::string_view dashes);

// "layout=interleaved, frequencies=paper"
std::string options_text(const Named& named);

// Every number as JSON, in lines of `indent`; -1: one line.
std::string show_json(const Shown& shown, int indent);
// The same with pictures, as a page.
std::string show_page(const Shown& shown);

}  // namespace gnomon::pages
