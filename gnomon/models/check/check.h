#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/models/check/dump.h"
#include "gnomon/spec/spec.h"

namespace gnomon {

// A number of a dump: of this token, head and channel (of a table: column); −1: the array has no such index.
struct DumpPlace {
  std::int64_t token = -1, head = -1, channel = -1;
};

// A hypothesis about a dump: the convention of a spec, perhaps with a common fault.
struct HeldHypothesis {
  Named spec;  // one encoding, with the options that distinguish it
  std::string
      apart;  // the difference from the spec, in words: "positions are rounded to bfloat16"; empty: none
  bool faulty = false;  // the difference is a fault, not a choice
  double error = 0;     // largest difference from the dump
  double ratio = 0;     // the error over the one that rounding explains, at its largest; at most 1: it fits
  double cost = 0;  // how much it assumes; of several that fit, the answer names the one that assumes least
  bool expected = false;  // it is CheckOptions::spec
  DumpPlace place = {};   // where the ratio is
  bool fits() const { return ratio <= 1; }
};

// A number that shows how large a fault is, under a short name: "phase_error", 2.5.
struct CheckEvidence {
  std::string name;
  double value;
};

// The answer for one thing in a dump.
struct Checked {
  std::string looked_at;     // "q_before and q_after"
  bool follows = false;      // it follows a convention without a fault: the expected one, if any
  bool named = false;        // `best` fits
  HeldHypothesis best = {};  // the fitting hypothesis that assumes least; if none fits, the nearest
  std::string words = {};    // the answer as a sentence
  std::string unit = {};     // unit of errors: "", "radians a token", "borders"
  std::vector<HeldHypothesis> also = {};       // other fitting ones: the dump cannot distinguish them
  std::vector<HeldHypothesis> ruled_out = {};  // not fitting, the nearest first
  std::vector<std::string> remarks = {};
  std::vector<CheckEvidence> evidence = {};  // of a fault; the remarks say the same in words
};

struct CheckOptions {
  std::string spec;                    // the expected spec; empty: any convention
  double theta = 0;                    // another base to try; 0: none
  std::vector<double> positions = {};  // of the tokens; empty: from the dump, otherwise 0, 1, 2 ...
};

// Finds the convention that the numbers of a dump follow, with the largest error and the hypotheses that were ruled out: one
// answer for each thing in the dump. A hypothesis is a spec, computed by the encoding itself in double, perhaps with a common
// fault (catalogue in check.cpp). It fits if rounding explains every difference: of the stored type, and of angles in float32.
// Throws Error(usage) for an impossible spec and for positions that do not match the tokens of the dump, Error(input) for
// arrays that do not fit each other.
std::vector<Checked> check(const Dump& dump, const CheckOptions& options);

}  // namespace gnomon
