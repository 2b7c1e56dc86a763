#pragma once
#include <string>
#include <vector>

#include "gnomon/models/check/dump.h"
#include "gnomon/spec/spec.h"

namespace gnomon {

// What numbers were held against: the convention of a spec, or that with a fault.
struct HeldHypothesis {
  Named spec;  // one encoding, with the options that tell it from others
  std::string
      apart;  // what differs from the spec, in words: "positions are rounded to bfloat16"; empty: nothing
  bool faulty = false;  // the difference is a fault, and no choice
  double error = 0;     // largest difference from the dump
  double ratio = 0;  // the same as a multiple of what rounding explains, number by number; at most 1: it fits
  double cost = 0;   // how much it assumes; of several that fit, the one that assumes least is named
  bool expected = false;  // it is what CheckOptions::spec says
  bool fits() const { return ratio <= 1; }
};

// What was found of one thing in a dump.
struct Checked {
  std::string looked_at;                       // "q_before and q_after"
  bool follows = false;                        // a convention, or the expected one, without a fault
  bool named = false;                          // `best` fits
  HeldHypothesis best = {};                    // what fits, assuming least; else what comes nearest
  std::string words = {};                      // the answer as a sentence
  std::string unit = {};                       // of errors: "", "radians a token", "borders"
  std::vector<HeldHypothesis> also = {};       // fit as well: the dump does not tell them apart
  std::vector<HeldHypothesis> ruled_out = {};  // do not fit, the nearest first
  std::vector<std::string> remarks = {};
};

struct CheckOptions {
  std::string spec;                    // what is expected; empty: any convention
  double theta = 0;                    // one more base to try; 0: none
  std::vector<double> positions = {};  // of the tokens; empty: those of the dump, else 0, 1, 2 ...
};

// Names the convention that a dump of position numbers follows, its largest error, and what was ruled out: one answer for
// each thing in it. A hypothesis is a spec, whose numbers come from the encoding itself in double, perhaps with a fault that
// is often seen (catalogue in check.cpp); a hypothesis fits where no number differs by more than the roundings of its type,
// and of angles in float32, explain. Throws Error(usage) for a spec that cannot be, and for positions that are not of as many
// tokens as the dump; Error(input) for arrays that do not fit each other.
std::vector<Checked> check(const Dump& dump, const CheckOptions& options);

}  // namespace gnomon
