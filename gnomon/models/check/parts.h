#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gnomon/models/check/hypothesis.h"
#include "gnomon/models/check/rotary_rules.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {

// What the parts of check() share: each looks at one thing in a dump.

// What is asked of all of them.
struct Asked {
  std::vector<Named> expected;  // the encodings of the spec; empty: any convention
  double theta = 0;
  std::vector<double> positions;
  bool positions_given = false;             // and not 0, 1, 2 ... for want of them
  std::int64_t streams = 1;                 // numbers of a position: (tokens, streams)
  std::vector<double> documents = {};       // of the tokens; empty: not given
  std::optional<Named> tried_as_well = {};  // a rotation beside those that the numbers suggest
  std::vector<Named> told = {};             // rotations that other things in the dump follow
};
Checked check_rotation(const DumpedArray& before, const DumpedArray& after, const Asked& asked);
Checked check_cos_sin(const DumpedArray& cos, const DumpedArray& sin, const Asked& asked);
Checked check_inv_freq(const DumpedArray& inv_freq, const Asked& asked);
Checked check_table(const DumpedArray& table, const Asked& asked);
Checked check_bias(const DumpedArray& bias, const Asked& asked);
Checked check_slopes(const DumpedArray& slopes, const Asked& asked);
Checked check_mask(const DumpedArray& mask, const Asked& asked);
Checked check_weights(const DumpedArray& weights, const Asked& asked);

// The first positions.size() of the asked ones, or 0, 1, 2 ...; throws Error(usage) where others are given.
std::vector<double> positions_of(const Asked& asked, std::int64_t tokens, const std::string& what);
// Indices of at most so many tokens: the first half one after the other, the others spread over the rest.
std::vector<std::int64_t> some_tokens(std::int64_t tokens, std::int64_t most);
// Why the numbers cannot be compared: not finite ones; empty: they can.
std::string not_numbers(const DumpedArray& array);

// The whole search among `plain` hypotheses: all are held against some of the numbers, the nearest against more, with
// faults that are often seen, and beside `others`, which programs confuse with the best.
struct Search {
  Judge quick, full;
  std::vector<std::vector<Hypothesis> (*)(const Hypothesis&)> faults;
  std::function<std::vector<Hypothesis>(const Hypothesis& best)> others = {};
};
// Returns the hypothesis of the answer.
Hypothesis search(std::vector<Hypothesis> plain, const Search& by, Checked& checked);

// Those of the expected encodings that are such, as hypotheses.
std::vector<Hypothesis> expected_of(const Asked& asked, const std::function<bool(const Encoding&)>& is_such);
// Adds them to the others, also where those begin at another position, which is a choice unless positions are given.
void add_expected(const std::vector<Hypothesis>& expected, std::vector<Hypothesis>& plain);
// Throws Error(input) for an extent of more than `most`: no model has it, and a search would take hours.
void check_extent(std::string_view what, std::int64_t found, std::int64_t most);
// Whether the answer is one of the expected; changes `follows` and `words`.
void compare_with_expected(const Asked& asked, Checked& checked);

}  // namespace gnomon
