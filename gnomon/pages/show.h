#pragma once
#include <string>
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
// "layout=interleaved, frequencies=paper"
std::string options_text(const Named& named);

// Every number as JSON, in lines of `indent`; -1: one line.
std::string show_json(const Shown& shown, int indent);
// The same with pictures, as a page.
std::string show_page(const Shown& shown);

}  // namespace gnomon::pages
