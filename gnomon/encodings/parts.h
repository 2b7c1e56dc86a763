#pragma once
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/random.h"
#include "gnomon/encodings/entry.h"
#include "gnomon/encodings/positions.h"
#include "gnomon/encodings/turns.h"
#include "gnomon/kernels/attend.h"
#include "gnomon/kernels/steps.h"

// The sites where position can enter a Transformer, and a small base for each: an encoding derives from those that it
// acts on. A part holds its definition, the paper's formula, slowly, in double: the oracle of every test, and what pages
// draw; and beside it the fast path, forward and backward. Definitions compose by stages (definition.h), as plans do.

namespace gnomon {

// Letters: B sequences, T tokens, C channels, H heads, D head dim, K width of q and k; δ = p_i − p_j for
// query i, key j.

// What the definition sees of one sequence, in double. q, k, v (H,T,D) as projected from x (T,C); w the
// parameters, in the order of params(), one after the other.
struct Scene {
  Positions positions;
  std::span<const double> q, k, w;
  std::span<const double> x = {}, v = {};
  Projections<const double> projections = {};
  std::int64_t T() const { return positions.size(); }
};

// What the fast path sees of a layer beside positions: x (B·T,C) and what is projected from it.
struct Content {
  std::int64_t B, T;
  Strided<const float> x;
  RowLayout heads;  // of q and k, before any map
  const float *q, *k;
  Projections<const float> projections;
};
// Which of it an encoding reads.
enum Reads : unsigned { kReadsInput = 1, kReadsRows = 2, kReadsProjections = 4 };
// Gradients of the same; each is added to.
struct ContentGrad {
  Strided<float> x;
  float *q, *k;
  Projections<float> projections;
};

// What the fast path sees of a batch. Tokens count through the rows of the positions. That these belong together is
// the duty of who makes it (Model does): tables from tables() of this encoding for these very positions, w of
// param_count() numbers, content of as many tokens. No method looks again; arrays that are too short are read past
// their end.
struct Batch {
  Positions positions;
  const Floats& tables;              // what tables() returned for these positions
  const float* w;                    // parameters
  const Content* content = nullptr;  // for those that read it
  std::int64_t tokens() const { return positions.size(); }
};
struct BatchGrad {
  float* w;
  ContentGrad* content = nullptr;
};

// Channels that an encoding adds to the rows of q and k: to the product (joined), and those that stand in the place of its
// first for far keys (far). As numbers, and as the first of them.
struct Widths {
  std::int64_t joined = 0, far = 0;
  bool operator==(const Widths&) const = default;
};
struct OwnChannels {
  std::int64_t joined, far;
};

// Site positions: other positions before any encoding sees them.
class PlacePart {
 public:
  virtual ~PlacePart() = default;
  // In place; `draw` numbers the random choices.
  virtual void place(const Random&, std::uint64_t draw, bool training, std::span<double> row) const = 0;
};

// Site input: a vector e beside the word vector. One that reads the input of a layer (kReadsInput) reads word vectors, as many
// channels as it has itself: those that the combination gets, 0 where a token is padding.
class InputPart {
 public:
  virtual ~InputPart() = default;
  // Definition: channel c of the position vector of token t.
  virtual double input(const Scene&, std::int64_t t, std::int64_t c) const = 0;
  // What depends on positions alone, computed once for a batch, kept by the caller, handed back in Batch::tables.
  virtual Floats tables(const Positions&) const { return {}; }
  // e (tokens,C), rows dense, which begin as 0.
  virtual void input(const Batch&, float* e) const = 0;
  virtual void input_backward(const Batch&, const float* /*de*/, const BatchGrad&) const {}
};

// Site qk: a map of the rows of q and k.
class MapPart {
 public:
  virtual ~MapPart() = default;
  // Definition: maps the row of q or k (Role) of token t in head h in place. It holds the D channels of the head and what
  // maps append to it, which is more to multiply.
  virtual void map_row(const Scene&, Role, std::int64_t h, std::int64_t t,
                       std::vector<double>& row) const = 0;
  virtual Widths widths() const { return {}; }
  // Appends the steps that the rows go through.
  virtual void map(const Batch&, const OwnChannels&, std::vector<Step>& steps) const = 0;
  // From its own steps and their gradients, in the order in which map() appended them.
  virtual void map_backward(const Batch&, std::span<const Step> /*steps*/, std::span<const Step> /*dsteps*/,
                            const BatchGrad&) const {}
};
// Site qk: a map that turns pairs of channels, by frequencies and a factor that may follow the context. It says which, and a
// cache turns its keys on from one context to the next (rerotate).
class TurnPart : public MapPart {
 public:
  // In a context of positions 0..length−1.
  virtual Turns turns_at(double length) const = 0;
};
// Site value: a map of the values and of what attention returns. Its steps are among those of the map of q and k.
class ValueMapPart {
 public:
  virtual ~ValueMapPart() = default;
  // Definition: as map_row, of v or of the output.
  virtual void map_value(const Scene&, Role, std::int64_t h, std::int64_t t,
                         std::vector<double>& row) const = 0;
};

// What attention is given as plain arrays: the fast path of the parts that follow.
class TermsPart {
 public:
  virtual ~TermsPart() = default;
  // Factor of scale·q·k, before anything is added.
  virtual double content_scale() const { return 1; }
  // Adds its terms. `terms` comes from terms_for(). Those that read content are asked in every layer, and get content; the
  // others once for a batch.
  virtual void lower(const Batch&, Terms& terms) const = 0;
  virtual void lower_backward(const Batch&, const Terms& /*dterms*/, const BatchGrad&) const {}
};
// Site logits: a number added to the logit of query i and key j in head h.
class BiasPart : public virtual TermsPart {
 public:
  virtual double bias(const Scene&, std::int64_t h, std::int64_t i, std::int64_t j) const = 0;
};
// Site cross: a number added that is linear in q or k as projected, or in the input of the layer, and
// depends on the distance.
class CrossPart : public virtual TermsPart {
 public:
  virtual double cross(const Scene&, std::int64_t h, std::int64_t i, std::int64_t j) const = 0;
};
// Site value: what is added to channel d of the value of key j as query i reads it.
class ValuePart : public virtual TermsPart {
 public:
  virtual double value(const Scene&, std::int64_t h, std::int64_t i, std::int64_t j,
                       std::int64_t d) const = 0;
};
// Site mask: whether query i sees key j, the causal mask apart.
class MaskPart : public virtual TermsPart {
 public:
  virtual bool sees(const Scene&, std::int64_t i, std::int64_t j) const = 0;
};
// Rows after all maps, and their scores: what a rule may read.
class Scores {
 public:
  virtual ~Scores() = default;
  virtual const double* query(std::int64_t h, std::int64_t i) const = 0;
  virtual double score(std::int64_t h, std::int64_t i, std::int64_t j) const = 0;  // content_scale·q·k/√D
  virtual bool sees(std::int64_t i, std::int64_t j) const = 0;
};
// Site rows: a number added that depends on more than one pair of tokens or on the scores.
class RulePart : public virtual TermsPart {
 public:
  virtual double rule(const Scene&, const Scores&, std::int64_t h, std::int64_t i, std::int64_t j) const = 0;
};
// Site rows: the score of far pairs is a product of rows mapped otherwise.
class FarPart : public virtual TermsPart {
 public:
  virtual bool far(const Scene&, std::int64_t i, std::int64_t j) const = 0;
  // Instead of its map_row.
  virtual void far_row(const Scene&, Role, std::int64_t t, std::vector<double>& row) const = 0;
};
// Site rows: the score of a query and a key before it, after what each token after the key, and the query's own, does to the row
// of the query.
class CarryPart : public virtual TermsPart {
 public:
  // What tokens do, as numbers: (H,T,as many as it takes).
  virtual std::vector<double> operators(const Scene&) const = 0;
  // What the token of these numbers does to a row, in place; it is linear and symmetric.
  virtual void pass(std::span<const double> token, std::vector<double>& row) const = 0;
};
// Site rows: how the logits of a row become weights.
class WeightsPart : public virtual TermsPart {
 public:
  virtual Weighting weights() const = 0;
};

// The sites that a class of encodings acts on, by the parts it has.
template <class E>
constexpr unsigned sites_of() {
  const auto at = []<class Part>(std::type_identity<Part>, Site site) {
    return std::is_base_of_v<Part, E> ? unsigned(site) : 0u;
  };
  return at(std::type_identity<PlacePart>{}, kPositions) | at(std::type_identity<InputPart>{}, kInput) |
         at(std::type_identity<MapPart>{}, kQk) | at(std::type_identity<ValueMapPart>{}, kValue) |
         at(std::type_identity<BiasPart>{}, kLogits) | at(std::type_identity<CrossPart>{}, kCross) |
         at(std::type_identity<ValuePart>{}, kValue) | at(std::type_identity<MaskPart>{}, kMask) |
         at(std::type_identity<RulePart>{}, kRows) | at(std::type_identity<FarPart>{}, kRows) |
         at(std::type_identity<CarryPart>{}, kRows) | at(std::type_identity<WeightsPart>{}, kRows);
}

}  // namespace gnomon
