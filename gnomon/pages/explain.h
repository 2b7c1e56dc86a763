#pragma once
#include <string>
#include <vector>

#include "gnomon/models/explain/differences.h"
#include "gnomon/models/explain/explain.h"

namespace gnomon::pages {

inline constexpr int kExplainSchema = 1;

// Every number of an explanation as JSON, in lines of `indent`; -1: one line. Frequencies of all pairs.
std::string explain_json(const Explanation& e, int indent);
// The same with pictures, as a page: the answer in words first.
std::string explain_page(const Explanation& e);

// What one reader makes of the file that another reader explains.
struct OtherReader {
  Reader reader;
  Differences to_first;
  std::string refuses;  // why it cannot read the file; "": it can
};
std::string readers_json(const Explanation& first, const std::vector<OtherReader>& others);
std::string differences_json(const Explanation& a, const Explanation& b, const Differences& found);

}  // namespace gnomon::pages
