#pragma once
#include <string>
#include <vector>

#include "gnomon/models/explain/differences.h"
#include "gnomon/models/explain/explain.h"

namespace gnomon::pages {

inline constexpr int kExplainSchema = 1;

// Every number of an explanation as JSON with `indent`; -1: one line. It has the frequencies of all pairs.
std::string explain_json(const Explanation& e, int indent);
// The same as a page with pictures, with the answer in words first.
std::string explain_page(const Explanation& e);

// What another reader computes from the explained file.
struct OtherReader {
  Reader reader;
  Differences to_first;
  std::string refuses;  // why it cannot read the file; empty: it can
};
std::string readers_json(const Explanation& first, const std::vector<OtherReader>& others);
std::string differences_json(const Explanation& a, const Explanation& b, const Differences& found);

}  // namespace gnomon::pages
