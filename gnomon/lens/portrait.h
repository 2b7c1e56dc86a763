#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/encodings/definition.h"
#include "gnomon/spec/scheme.h"

// An encoding seen through its definition, in double: numbers of it.
namespace gnomon {

// An encoding of a spec, where it stands in a model.
struct Standing {
  Named named;
  const Encoding* encoding;
  // Of its parameters' names in the model; of layers with parameters of their own, in the first that it acts in.
  std::string prefix;
};
// The encodings of a spec that act in a model of so many layers: beside the words, inside attention, samplers.
std::vector<Standing> encodings_in(const Spec& spec, const Scheme& scheme, std::int64_t layers);

// The encoding with parameters to look at.
struct ShownEncoding {
  const Encoding& encoding;
  unsigned acts;           // sites
  std::vector<double> w;   // parameters
  std::string parameters;  // where they come from: "initial values", "trained, seed 1"

  double input(double position, std::int64_t channel) const;
};
// With parameters as they start under seed 1.
ShownEncoding at_start(const Standing& standing);

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
// The most positions whose vectors are compared with that of position 0.
inline constexpr std::int64_t kMostCompared = 20000;
std::vector<Fact> facts(const ShownEncoding& shown, std::int64_t length,
                        std::int64_t most_compared = kMostCompared);

// Heads that a table and a picture tell of: all, or of more than kMostHeadsTold as many, evenly spread from the first to the last.
inline constexpr std::int64_t kMostHeadsTold = 32;
std::vector<std::int64_t> heads_told(std::int64_t H);

// About how many numbers the definition reads for the facts and pictures of an encoding.
double work(const Encoding& encoding, unsigned acts, std::int64_t length,
            std::int64_t most_compared = kMostCompared);
// The longest context for which single channels are shown.
std::int64_t channel_tokens(std::int64_t length);
// What is said in place of numbers that are not known without the words.
constexpr std::string_view kByContent =
    "depends on the content of the words; without content it is the same at every distance";

}  // namespace gnomon
