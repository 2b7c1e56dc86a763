#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/pages/portrait.h"

namespace gnomon::pages {

inline constexpr double kMostWork = 4e10;  // numbers that a definition reads: a minute or two
// A spec looked at in a model of one shape.
struct Shown {
  Spec spec;
  Shape shape;             // `length` tokens are looked at
  std::int64_t first = 0;  // by pictures: positions and distances from this one on
  std::int64_t most_compared = kMostCompared;
  double most_work = kMostWork;  // of one encoding
  struct One {
    Standing standing;
    std::vector<Fact> facts;
    std::string pictures;  // of the page
  };
  std::vector<One> encodings = {};
};
// Throw Error(usage) for what would take more than a minute or two, or more memory than it deserves. The names of arguments in a
// message begin with `dashes`: "--" on a command line, nothing elsewhere.
void check_shown(const Shape& shape, std::string_view dashes);
void check_first(std::int64_t first, std::string_view dashes);
void check_work(const Standing& standing, std::int64_t length, std::string_view dashes,
                double most = kMostWork, std::int64_t most_compared = kMostCompared);

// Adds an encoding of the spec.
void look_at(Shown& shown, const Standing& standing, bool with_pictures);

// "layout=interleaved, frequencies=paper"
std::string options_text(const Named& named);

// What a spec consists of: its text as it is printed, the way of joining, the encoding beside the words, those inside attention,
// those of each layer, and the samplers, each with a value for every option.
std::string spec_json(const Spec& spec);

// Every number as JSON, in lines of `indent`; -1: one line.
std::string show_json(const Shown& shown, int indent);
// The same with pictures, as a page.
std::string show_page(const Shown& shown);

}  // namespace gnomon::pages
