#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/combine/combination.h"

namespace gnomon {

// One name with its options, as given: `rope(theta=500)`.
struct Named {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
  bool operator==(const Named&) const = default;
};

// How position enters a model: one combination of the words with at most one input encoding, and any number
// of encodings inside attention. As text:
//
//   none · sinusoidal · sinusoidal(layout=halves) · concat(sinusoidal, width=16) · project(learned)
//   rope(theta=10000, pairing=halves) · sinusoidal+alibi · add(none, scale=off)+rope
//
// Text leaves out what is standard. parse and print are inverse: parse(print(s)) == s.
struct Spec {
  Named combination;             // `add` unless said otherwise
  std::optional<Named> input;    // the encoding beside the words
  std::vector<Named> attention;  // in the order given
  bool operator==(const Spec&) const = default;

  // Throws Error(usage): where in the text, what was found, what exists and the nearest name.
  static Spec parse(std::string_view text);
  std::string print() const;
};

// A spec made for a model's shape: the objects that compute. Throws Error(usage).
struct Position {
  std::unique_ptr<Combination> combination;
  std::unique_ptr<Encoding> input;  // may be null
  std::vector<std::unique_ptr<Encoding>> attention;
  // The positions that every part has values for are below this; nullopt = all.
  std::optional<std::int64_t> positions_end() const;
};
Position make_position(const Spec& spec, const Shape& shape);

// One encoding by itself; its options must name what has no silent default.
std::unique_ptr<Encoding> make_encoding(const Named& named, const Shape& shape);
// The same from text such as "rope(theta=500)", where the standard fills in.
std::unique_ptr<Encoding> make_encoding(std::string_view text, const Shape& shape);

}  // namespace gnomon
