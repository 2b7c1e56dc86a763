#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/encodings/options.h"

namespace gnomon {

// One name with its options, as given: `rope(theta=500)`.
struct Named {
  std::string name;
  NamedOptions options;
  // The option as it is given, otherwise its standard; none: what has this name has no such option. Throws Error(usage) for a name that is none.
  std::optional<OptionValue> option(std::string_view option_name) const;
  double number(std::string_view option_name) const;  // throws Error(bug) where it is none
  // With all options that are given, standard or not: rope(theta=10000).
  std::string print_given() const;
  bool operator==(const Named&) const = default;
};
// An encoding or a combination with a value for every option, checked; throws Error(usage).
Named completed(const Named& named);
// The same without the options that are standard, as a spec prints it; throws Error(usage) for a name that is none.
Named shortened(const Named& named);

// How position enters a model: one combination of the words with at most one input encoding, and any number
// of encodings inside attention. As text:
//
//   none · sinusoidal · sinusoidal(layout=halves) · concat(sinusoidal, width=16) · project(learned)
//   rope(theta=10000, pairing=halves) · sinusoidal+alibi · add(none, scale=off)+rope
//   [rope+window(size=64), rope+window(size=64), none]: one for each layer, again from the first after the last
//   rope+randomised(most=2048): positions drawn by a sampler, for whatever encodings
//
// Text leaves out what is standard. parse and print are inverse: parse(print(s)) == s.
struct Spec {
  Named combination;                       // `add` unless said otherwise
  std::optional<Named> input;              // the encoding beside the words
  std::vector<Named> attention;            // in every layer, in the order given
  std::vector<std::vector<Named>> layers;  // beside them in layer l: layers[l mod size]; empty = nothing
  std::vector<Named> samplers;             // of positions, one after the other
  bool operator==(const Spec&) const = default;

  // Throws Error(usage): where in the text, what was found, what exists and the nearest name.
  static Spec parse(std::string_view text);
  std::string print() const;
};

}  // namespace gnomon
