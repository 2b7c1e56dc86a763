#pragma once
#include <string>
#include <vector>

#include "gnomon/encodings/definition.h"
#include "gnomon/lens/portrait.h"

namespace gnomon {

// A sequence at these positions whose words say nothing: every array is 0, and q and k can be given.
class Silent {
 public:
  Silent(const Encoding& encoding, const Placement& place);
  Scene scene(const std::vector<double>& w) const;

  std::vector<double> q, k;  // (H,T,D)

 private:
  const Placement place_;
  std::vector<double> zero_;
};

// true: what the encoding makes of q and k depends on the rows that they are projected from, or on the layer's
// own projections, so that q and k alone do not say it.
bool reads_rows(const ShownEncoding& shown);

// What is added to the logits, by head and distance, where q = k = x = 0. The tokens follow each other by 1, so
// that encodings which count or gate the tokens between query and key find them there.
class Bias {
 public:
  // Of distances from `first` on, if it is above 0: then no tokens stand between, and the query stands after the key.
  Bias(const ShownEncoding& shown, std::int64_t length, std::int64_t first = 0);

  // So many distances: for those that read the tokens between, their cost grows with its square, and they begin at 0.
  std::int64_t tokens() const { return tokens_; }
  std::int64_t first() const { return first_; }
  double at(std::int64_t head, std::int64_t delta) const;  // NaN: the query does not see the key
  // true: nothing is known without the words; what is added without them is the same at every distance.
  bool by_content_only() const { return by_content_only_; }
  // "Added to the logit", or what it is instead and under what words and places.
  std::string meaning() const;

 private:
  bool by_content() const;
  bool by_place() const;
  Placement place() const;
  bool flat() const;

  const ShownEncoding& sitter_;
  const bool reads_words_;
  const std::int64_t key_;  // where it stands; the query stands at the end of the distance
  const std::int64_t first_, tokens_;
  const Silent silent_;
  const Definition definition_;  // of it
  const bool by_content_only_;
};

}  // namespace gnomon
