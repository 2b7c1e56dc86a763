#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/names.h"
#include "gnomon/encodings/entry.h"
#include "gnomon/encodings/params.h"
#include "gnomon/encodings/parts.h"

namespace gnomon {

// A position encoding: what it is made for and what it learns; what it does is in its parts (parts.h), from which a class
// derives beside this one. Immutable; every method is const and keeps nothing between calls. Every gradient is added to
// what its array holds, and every forward has its backward beside it.
class Encoding {
 public:
  explicit Encoding(const Shape& shape) : shape_(shape.check()) {}
  virtual ~Encoding() = default;
  const Shape& shape() const { return shape_; }

  virtual std::vector<ParamSpec> params() const { return {}; }
  std::int64_t param_count() const;
  // true: every layer has its own parameters; false: the layers share them.
  virtual bool per_layer() const { return false; }
  // The positions the encoding has values for are below this; nullopt = all of them.
  virtual std::optional<std::int64_t> positions_end() const { return std::nullopt; }
  // Coordinates of a token that it takes.
  virtual std::int64_t axes() const { return 1; }
  // What of a layer's content its parts read.
  virtual unsigned reads() const { return 0; }  // Reads | Reads ...
  bool reads_content() const { return reads() != 0; }
  // Whether keys can be kept in a cache: what it makes of a token does not change with other tokens, or only as a TurnPart says; of
  // the content, such a map reads the input of this token alone. A map that is no TurnPart has to say so itself; of one that says nothing no key is kept, so none is read stale.
  virtual bool keeps_keys() const;
  // Angular frequencies in radians a token, of each pair of channels, where the encoding has them.
  virtual std::vector<double> frequencies() const { return {}; }

 protected:
  const Shape shape_;
};

// The part of an encoding at a site; null: it does not act there.
template <class Part>
const Part* part(const Encoding& encoding) {
  return dynamic_cast<const Part*>(&encoding);
}

// The channels that its map adds; none without a map.
Widths widths(const Encoding& encoding);

// Arrays over distances have fewer than this.
inline constexpr std::int64_t kMostDistances = 1 << 24;
// Empty terms for tokens at these places: the distances that occur, whom the documents let see whom, and the
// places themselves where they do not follow each other by 1. Throws Error(usage) for a placement that check() refuses
// and for places of a sequence 2^53 or more apart; for fractions and for kMostDistances or more (arrays over distances have
// no room for them) only when such arrays are asked for.
Terms terms_for(const Placement& placement, bool causal);
Terms terms_for(const Positions& positions, bool causal);

// Narrows what the queries see: sees(row, i, j) must be true for one run of keys around i, whose ends do not fall
// with i. Throws Error(usage) for terms that are not of as many tokens as the positions.
void limit_keys(Terms& terms, const Positions& positions,
                const std::function<bool(const Positions& row, std::int64_t i, std::int64_t j)>& sees);

// Adds f(h, δ) to by_distance for all heads and distances; the array is made if it is absent. Throws
// Error(usage) if the terms have no room for such arrays (terms_for).
void add_by_distance(Terms& terms, std::int64_t H,
                     const std::function<double(std::int64_t h, std::int64_t delta)>& f);
// An array (H,R,width), made if it is absent. Throws as add_by_distance does.
void make_over_distances(Terms& terms, Floats& array, std::int64_t H, std::int64_t width);

// The row of a class: what it acts on follows from its parts.
template <class E>
Entry entry(Entry facts) {
  facts.acts = sites_of<E>();
  facts.make = [](const Options& options, const Shape& shape) -> std::unique_ptr<Encoding> {
    if constexpr (std::is_constructible_v<E, const Options&, const Shape&>) {
      return std::make_unique<E>(options, shape);
    } else {
      return std::make_unique<E>(shape);
    }
  };
  return facts;
}
std::vector<Name> encoding_names();
inline constexpr std::string_view kEncodingsLister = "`gnomon encodings` lists them";

}  // namespace gnomon
