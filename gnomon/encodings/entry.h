#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/encodings/options.h"

// The registry of encodings. The command line, the documentation and the tests are made from it.
namespace gnomon {

class Encoding;  // encoding.h

// Where position can enter a Transformer.
enum Site : unsigned {
  kInput = 1,       // a vector beside the word vector
  kQk = 2,          // a map of q and k
  kLogits = 4,      // a number added to the logits, by distance, query or key
  kCross = 8,       // a number added to the logits that depends on the content of a token and on the distance
  kValue = 16,      // the values, or what attention returns
  kRows = 32,       // the logits, by more than adding such numbers
  kMask = 64,       // which keys a query sees
  kPositions = 128  // the positions themselves, before any encoding sees them
};
std::string site_names(unsigned acts);      // "input", "qk", "logits, value"; "none" for 0
std::span<const std::string_view> sites();  // their names, from the lowest bit

// The sizes that an encoding is made for.
struct Shape {
  std::int64_t C, H, D;        // width of a position vector, which need not be H·D; heads; head dim
  std::int64_t length;         // training length in tokens
  bool causal;                 // a query sees no key after it
  const Shape& check() const;  // throws Error(usage) that says what was found and what is allowed
};

// One encoding in the registry: everything that the command line, the documentation and the tests know about it.
struct Entry {
  std::string_view name;
  std::vector<std::string_view> aliases = {};  // other names: suggested in errors, never accepted
  std::string_view title, paper;
  std::string_view formula;  // one line
  // The same in LaTeX. Letters: p position; q, k, v rows of a head; s a logit, o the output of attention, d a distance, h a head
  // of H; C channels of an input encoding, D of a head, r of its rotated part.
  std::string_view latex;
  std::string_view pitfall;  // what users get wrong
  int year;
  unsigned acts = 0;          // sites, filled in by entry()
  bool relative;              // a common shift of all positions changes nothing
  bool causal_only = false;   // not defined for keys after the query
  bool extrapolates = false;  // its authors show it working beyond the trained length
  std::vector<OptionSpec> options;
  std::function<std::unique_ptr<Encoding>(const Options&, const Shape&)> make = {};  // filled in by entry()
};
std::span<const Entry* const> encodings();          // in the order of list.def
const Entry& find_encoding(std::string_view name);  // throws Error(usage) with the nearest name

}  // namespace gnomon
