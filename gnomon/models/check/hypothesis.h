#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
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

// A second rotation by the same angles: of the same pairs, or of those of the other pairing, before or after the first one.
enum class SecondTurn { no, alike, then_other, other_first };

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
  SecondTurn again = SecondTurn::no;
  // A kernel whose blocks have this many channels, more than rotate, looks for the sine at this half of a row (cos, sin) of a
  // table: past the end of its own row it finds the next position, or 0 where that is masked.
  std::int64_t padded_to = 0;
  bool padding_masked = false;
  Rounded positions = Rounded::no, frequencies = Rounded::no, angles = Rounded::no, tables = Rounded::no;
  std::string apart() const;
  bool faulty() const;
  bool in_pairs() const;       // a pair turns by itself
  bool rounds_angles() const;  // a number that angles are made of
  double assumes() const;      // cost, and what the differences add
  Hypothesis mended() const;   // without its faults
};
// The same with one more of the faults each: of positions (off by one, rounded), of frequencies, of angles and directions, and
// of several numbers rounded to one type.
std::vector<Hypothesis> faults_of_positions(const Hypothesis& plain);
std::vector<Hypothesis> faults_of_frequencies(const Hypothesis& plain);
std::vector<Hypothesis> faults_of_angles(const Hypothesis& plain);
std::vector<Hypothesis> faults_of_types(const Hypothesis& plain);

// By how much a hypothesis misses.
class Misfit {
 public:
  double error = 0, ratio = 0;  // as in HeldHypothesis
  DumpPlace place;              // where the ratio is
  void add(double missed, double allowed, const DumpPlace& at = {});
  // The mean of a function of the ratios that grows slowly: for choosing among hypotheses none of which fits.
  double typical() const { return count_ ? (sum_ + std::log(product_)) / double(count_) : 0; }
  // The mean square of what is missed; infinite where nothing was looked at.
  double squares() const {
    return count_ ? squares_ / double(count_) : std::numeric_limits<double>::infinity();
  }

 private:
  double sum_ = 0, product_ = 1;  // of log(1 + ratio): one logarithm for many ratios
  double squares_ = 0;
  std::int64_t count_ = 0;
};
using Judge = std::function<Misfit(const Hypothesis&)>;
HeldHypothesis held(const Hypothesis& hypothesis, const Misfit& misfit);

// Cos and sin for pair n of token t of q or k (T, pairs), by the hypothesis, before they are stored in a table; of an encoding
// that turns pairs (rotary_of).
std::vector<Complex> factors_of(const Encoding& rotary, const Hypothesis& hypothesis,
                                const Positions& positions, Role role);
// What a pair is multiplied by: the factor as its table stores it, squared where the same pairs turn twice. An error of `off`
// before the table changes it by at most `slack` more: only where it crosses a border between two numbers of the table's type.
struct Applied {
  Complex z;
  double slack = 0;
};
Applied applied(const Hypothesis& hypothesis, Complex factor, double off);
// How far the angle of a pair is from where it should be by the rounding of the hypothesis, at most, at this position:
// radians.
struct PhaseError {
  double radians = 0;
  std::int64_t pair = 0;
};
PhaseError phase_error(const Encoding& rotary, const Hypothesis& hypothesis, double position);

// Fills in best, also, ruled_out, follows, named and words from all that was held against the dump; `tried` are those and what
// was left out sooner, of which the words tell where nothing fits; empty: only those.
void settle(std::vector<HeldHypothesis> all, Checked& checked, const std::vector<HeldHypothesis>& tried = {});
// Makes this the answer if it fits as well.
void prefer(const HeldHypothesis& wanted, Checked& checked);
// The answer as a sentence, of what fits.
std::string answer(const Checked& checked);

}  // namespace gnomon
