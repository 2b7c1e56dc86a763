#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/spec/combination.h"

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

// A spec made for a model's shape: the objects that compute. Throws Error(usage).
struct Scheme {
  struct InAttention {
    std::unique_ptr<Encoding> encoding;
    unsigned acts;
  };
  std::unique_ptr<Combination> combination;
  std::unique_ptr<Encoding> input;  // may be null
  std::vector<InAttention> attention;
  std::vector<std::vector<std::size_t>>
      patterns;  // what of `attention` acts in layer l: patterns[l mod size]
  std::vector<std::unique_ptr<Encoding>> samplers;
  const InputPart& at_input() const { return *part<InputPart>(*input); }  // of `input`, which is there
  const std::vector<std::size_t>& in_layer(std::int64_t l) const {
    return patterns[std::size_t(l) % patterns.size()];
  }
  // The positions that every part has values for are below this; nullopt = all.
  std::optional<std::int64_t> positions_end() const;
};
Scheme make_scheme(const Spec& spec, const Shape& shape);

// One encoding by itself; its options must name what has no silent default.
std::unique_ptr<Encoding> make_encoding(const Named& named, const Shape& shape);
// The same from text such as "rope(theta=500)", where the standard fills in.
std::unique_ptr<Encoding> make_encoding(std::string_view text, const Shape& shape);

}  // namespace gnomon
