#pragma once
#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gnomon/encodings/encoding.h"
#include "gnomon/models/check/check.h"

namespace gnomon {

using Complex = std::complex<double>;

// What a number was rounded to on its way.
enum class Rounded { no, bfloat16, float16 };
double rounded(double x, Rounded to);

// How a program may have computed angles: by the convention of a spec, or apart from it in one of the ways that are often
// seen, most of which are faults.
struct Hypothesis {
  Named spec;                   // one encoding
  double cost = 0;              // how much the spec assumes: 0 is what most models have
  bool expected = false;        // the spec is what the caller expects
  double shift = 0;             // positions + shift
  bool shift_is_fault = false;  // positions were given, and others were used
  bool backwards = false;       // the angle is −p·θ
  double scale = 1;             // of cos and sin, beside the spec's own
  bool tables_mixed = false;    // cos and sin are laid out for the other pairing
  bool cosine_first = false;    // of sinusoids: cosines where the spec has sines
  Rounded positions = Rounded::no, frequencies = Rounded::no, angles = Rounded::no;
  std::string apart() const;
  bool faulty() const;
  double assumes() const;  // cost, and what the differences add
};
// The same with one more of the faults each: of positions (off by one, rounded), of frequencies, of angles and directions.
std::vector<Hypothesis> faults_of_positions(const Hypothesis& plain);
std::vector<Hypothesis> faults_of_frequencies(const Hypothesis& plain);
std::vector<Hypothesis> faults_of_angles(const Hypothesis& plain);

// By how much a hypothesis misses.
class Misfit {
 public:
  double error = 0, ratio = 0;  // as in HeldHypothesis
  void add(double missed, double allowed);
  // The mean of a function of the ratios that grows slowly: for choosing among hypotheses none of which fits.
  double typical() const { return count_ ? sum_ / double(count_) : 0; }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};
using Judge = std::function<Misfit(const Hypothesis&)>;
HeldHypothesis held(const Hypothesis& hypothesis, const Misfit& misfit);

// What pair n of token t of q or k is multiplied by (T, pairs), by the hypothesis; of an encoding that turns pairs (rotary_of).
std::vector<Complex> factors_of(const Encoding& rotary, const Hypothesis& hypothesis,
                                std::span<const double> positions, Role role);

// Fills in best, also, ruled_out, follows, named and words from all that was held against the dump; `tried` are those and what
// was left out sooner, of which the words tell where nothing fits; empty: only those.
void settle(std::vector<HeldHypothesis> all, Checked& checked, const std::vector<HeldHypothesis>& tried = {});
// Makes this the answer if it fits as well.
void prefer(const HeldHypothesis& wanted, Checked& checked);

}  // namespace gnomon
