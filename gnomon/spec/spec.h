#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/encodings/options.h"

namespace gnomon {

// A name with its options as given: `rope(theta=500)`.
struct Named {
  std::string name;
  NamedOptions options;
  // The given value of an option, or its standard value; nullopt if there is no such option. Throws Error(usage) for an unknown
  // name.
  std::optional<OptionValue> option(std::string_view option_name) const;
  double number(std::string_view option_name) const;  // throws Error(bug) if there is no such option
  // The text with all given options, standard or not: rope(theta=10000).
  std::string print_given() const;
  bool operator==(const Named&) const = default;
};
// An encoding or a combination with a checked value for every option. Throws Error(usage).
Named completed(const Named& named);
// The same without options that have their standard value, as a spec prints it. Throws Error(usage) for an unknown name.
Named shortened(const Named& named);

// How position enters a model: one combination of the word vectors with at most one input encoding, and any number of encodings
// inside attention. As text:
//
//   none · sinusoidal · sinusoidal(layout=halves) · concat(sinusoidal, width=16) · project(learned)
//   rope(theta=10000, pairing=halves) · sinusoidal+alibi · add(none, scale=off)+rope
//   [rope+window(size=64), rope+window(size=64), none]: one for each layer, in turn
//   rope+randomised(most=2048): a sampler draws the positions for all encodings
//
// The text omits options with their standard value. parse and print are inverse: parse(print(s)) == s.
struct Spec {
  Named combination;                       // `add` by default
  std::optional<Named> input;              // the input encoding
  std::vector<Named> attention;            // encodings in every layer, in the order given
  std::vector<std::vector<Named>> layers;  // more in layer l: layers[l mod size]; empty = none
  std::vector<Named> samplers;             // samplers of positions, applied one after the other
  bool operator==(const Spec&) const = default;

  // Throws Error(usage) that says where in the text, what was found, which names exist and the nearest one.
  static Spec parse(std::string_view text);
  std::string print() const;
};

}  // namespace gnomon
