#pragma once
#include <span>
#include <string>
#include <vector>

#include "gnomon/models/check/hypothesis.h"

namespace gnomon {

// The channels of a head that turn, and their pairs, as options of a spec.
struct Window {
  std::string pairing = "halves";
  std::int64_t channels = 0, head = 0;
  bool trailing = false;
  std::int64_t offset = 0;
  NamedOptions options() const;  // pairing=halves, channels=32
  double cost() const;
};

// Specs that may have such frequencies (radians a token, one for each pair; those below `resolution` are not told from 0),
// the nearest first. No frequencies: the commonest bases.
struct Sought {
  std::span<const double> frequencies;
  double resolution = 0;
  double factor = 0, factor_noise = 0;  // of cos and sin, and how well it is known; 0: it is not
  double theta = 0;                     // one more base to try; 0: none
};
std::vector<Hypothesis> rotary_rules(const Window& window, const Sought& sought);
// Bases that models have.
std::span<const double> known_thetas();
// How much it assumes that a base is this one: nothing of a known one.
double cost_of_theta(double theta);
// To so many significant digits.
double to_digits(double x, int digits);

}  // namespace gnomon
