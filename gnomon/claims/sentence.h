#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/claims/verdict.h"

// Sentences whose words follow their numbers. A verb beside a number is a choice by that number's interval: a form has no
// other way to put one there, and sentence_test refuses words of direction anywhere else.
//
//   {key}              a number, as found: "−0.105 ± 0.020"; {FROM|key} that of another claim or of a record
//   {key:2}            to 2 digits; {key:%1} times 100, to 1; {key:e} its size, "3e-08"; {key:m} without its interval;
//                      {key:n} with how many it is of, "0.91 ± 0.05 (n = 3)"; {key:a} without its sign; {key:k} in thousands. Together: {key:%1mn}
//   {key:vs OTHER}     a difference in nats: "lower by 0.105 ± 0.020 nats than OTHER", "not told apart from OTHER: …"
//   {key:way OTHER}    the same of key.at.0.25, key.at.0.5 and key.at.1
//   {key?A|B|C}        A where the 95 % interval lies below 0, C where it lies above, B where neither does or there is none
//   {a - b?A|B|C}      of a less b: A or C where the intervals of the two do not overlap
//   {key>x?A|B}        A where the value is above x, a number or a key; B elsewhere, and where there is no value
//   {key~x?A|B}        A where the whole interval lies within ±x
//   {key!?A|B}         A where there is a value
//
// A, B and C are forms.
namespace gnomon::claims {

// A piece of a form: words, a number, or a choice.
struct FormPiece {
  enum class Kind { words, number, sign, above, within, there };
  // A number by name; `from` is empty where it is the claim's own.
  struct Ref {
    std::string from, key;
  };
  Kind kind = Kind::words;
  std::string words;                                 // or the format of a number
  Ref number, less;                                  // less.key is empty where nothing is taken off
  std::string bound;                                 // a number or a key
  std::vector<std::vector<FormPiece>> alternatives;  // three of a sign, two of the others
};
// Throws Error(bug) for a form that is not closed, or a choice with other than its alternatives.
std::vector<FormPiece> parsed(std::string_view form);
// All numbers that a form may take, in order, each once: "key", "FROM|key".
std::vector<std::string> taken_by(std::string_view form);

// A number by name; null: it was not measured. May throw for a name that there cannot be.
using Lookup = std::function<const FoundNumber*(std::string_view from, std::string_view key)>;

struct Said {
  std::string text;
  std::vector<std::string> missing;  // names of numbers that were not measured: then the text is of no use
};
Said said(std::string_view form, const Lookup& numbers);

// "−1.573 ± 0.037", "0.999 (0.998 to 0.999, n = 5)"; the format as above.
std::string shown(const FoundNumber& n, std::string_view format = "");

}  // namespace gnomon::claims
