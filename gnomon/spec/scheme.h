#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gnomon/spec/combination.h"
#include "gnomon/spec/spec.h"

namespace gnomon {

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
// joined: the width in which word and position are joined; 0 = shape.C. of_patterns: the shapes of the layers of each pattern where
// they differ; empty: all have `shape`.
Scheme make_scheme(const Spec& spec, const Shape& shape, std::int64_t joined = 0,
                   std::span<const Shape> of_patterns = {});

// One encoding by itself; its options must name what has no silent default.
std::unique_ptr<Encoding> make_encoding(const Named& named, const Shape& shape);
// The same from text such as "rope(theta=500)", where the standard fills in.
std::unique_ptr<Encoding> make_encoding(std::string_view text, const Shape& shape);

}  // namespace gnomon
