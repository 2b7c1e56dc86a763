#pragma once
#include <string>
#include <vector>

#include "gnomon/encodings/definition.h"

// An encoding seen through its definition, in double: numbers and pictures of it.
namespace gnomon::cli {

// The encoding with parameters to look at.
struct Sitter {
  const Encoding& encoding;
  unsigned acts;           // sites
  std::vector<double> w;   // parameters
  std::string parameters;  // where they come from: "as they start", "trained, seed 1"

  double input(double position, std::int64_t channel) const;
};

// A small table of numbers.
struct Fact {
  std::string name, title;
  std::vector<std::string> head;
  struct Row {
    std::string name;
    std::vector<double> values;
  };
  std::vector<Row> rows;
  int digits;
  std::string note = {};  // instead of rows: why there are none
};
// About how many numbers the definition reads for the facts and pictures of an encoding, a page's cost.
double work(const Encoding& encoding, unsigned acts, std::int64_t length);
std::vector<Fact> facts(const Sitter& sitter, std::int64_t length);

// Figures for a page: a heat map of the position vectors, the bias against the distance, the rotation against
// it.
std::string pictures(const Sitter& sitter, std::int64_t length);

}  // namespace gnomon::cli
