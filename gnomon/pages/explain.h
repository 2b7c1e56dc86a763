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
  Differences to_first;              // of the first reader
  std::string refuses;               // why it cannot read the file; empty: it can
  std::vector<Remark> remarks = {};  // that the first reader has not
  std::int64_t table_rows = 0;       // of its table of cos and sin; 0: it has none
};
// What another reader makes of the file that `first` explains.
OtherReader other_reader(const Config& config, Reader reader, const Explanation& first);
std::string readers_json(const Explanation& first, const std::vector<OtherReader>& others);
std::string differences_json(const Explanation& a, const Explanation& b, const Differences& found);

}  // namespace gnomon::pages
