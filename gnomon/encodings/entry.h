#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/encodings/options.h"

// What there is: the registry of encodings, as the command line, the documentation and the tests know them.
namespace gnomon {

class Encoding;  // encoding.h

// Where position can enter a Transformer.
enum Site : unsigned {
  kInput = 1,       // a vector beside the word vector
  kQk = 2,          // a map of q and k
  kLogits = 4,      // a number added to the logits, by distance, query or key
  kCross = 8,       // a number added to the logits that depends on the content of a token and on the distance
  kValue = 16,      // the values, or what attention returns
  kRows = 32,       // the logits, by more than a sum of such numbers
  kMask = 64,       // which keys a query sees
  kPositions = 128  // the positions themselves, before any encoding sees them
};
std::string site_names(unsigned acts);      // "input", "qk", "logits, value"; "none" for 0
std::span<const std::string_view> sites();  // their names, from the lowest bit

// What an encoding is made for.
struct Shape {
  std::int64_t C, H, D;        // width of a position vector, which need not be H·D; heads; head dim
  std::int64_t length;         // tokens of a training window
  bool causal;                 // a query sees only keys that are not after it
  const Shape& check() const;  // throws Error(usage): what was found, what is allowed
};

// A row of the registry: everything that the command line, the documentation and the tests know of an
// encoding.
struct Entry {
  std::string_view name;
  std::vector<std::string_view> aliases = {};  // what else the field calls it: suggested, never taken
  std::string_view title, paper;
  std::string_view formula;  // one line
  // The same in LaTeX. Letters: p position; q, k, v rows of a head; s a logit, o what attention returns, d a distance, h a head of
  // H; C channels of a vector beside the words, D of a head, r of its rotated part.
  std::string_view latex;
  std::string_view pitfall;  // what users get wrong
  int year;
  unsigned acts = 0;          // sites: entry() fills it in
  bool relative;              // a common shift of all positions changes nothing
  bool causal_only = false;   // it has no meaning for keys after the query
  bool extrapolates = false;  // its authors show it working beyond the trained length
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<Encoding>(const Options&, const Shape&)> make = {};  // and this
};
std::span<const Entry* const> encodings();          // in the order of list.def
const Entry& find_encoding(std::string_view name);  // throws Error(usage) that says what was probably meant

}  // namespace gnomon
