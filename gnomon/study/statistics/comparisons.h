#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "gnomon/study/statistics/statistics.h"

namespace gnomon {

// p values of a family of tests, adjusted by Holm 1979, "A simple sequentially rejective multiple test procedure": where
// those of at most 0.05 are called significant, the chance of one false call or more is at most 5 %, however the tests
// depend on each other. NaN (no inference) stays NaN and counts as one of the family.
std::vector<double> holm(std::span<const double> p);

// What a family of comparisons with one baseline says of each arm.
enum class Decision { better, worse, equivalent, undecided };
std::string_view name(Decision decision);

struct Comparison {
  Estimate
      difference;  // half-width widened for the family: all intervals together hold with 95 % (Bonferroni)
  double p;        // that there is no difference, adjusted by Holm
  double p_equivalent;  // that the difference is outside ±margin, adjusted by Holm
  Decision decision;
};

// Differences arm − baseline of something of which less is better, as a loss; `margin` is the smallest difference that
// matters, declared beforehand. The first that applies:
//   equivalent  p_equivalent ≤ 0.05: the difference is less than matters, whether or not it is 0
//   better, worse  p ≤ 0.05, by the sign of the mean: there is a difference, and it may be as large as matters
//   undecided  neither; as is every comparison without inference
// The chance of one false difference or more is at most 5 %, and so is that of one false equivalence or more. Holm finds at
// least what the widened intervals show, so an arm can be better whose interval still touches 0. A margin that is not
// positive throws Error(usage).
std::vector<Comparison> compare(std::span<const Estimate> differences, double margin);

}  // namespace gnomon
