#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/claims/claim.h"
#include "gnomon/lens/matrix.h"

// Words that were made up to have a meaning, and what of it is left in word + position.
namespace gnomon::claims {

// A word and its ten nearest: clusters of this many.
inline constexpr std::int64_t kCluster = 11;
// V words in clusters of `size`: a centre, the same for all of a cluster, and a part of the word's own, `spread` times as large.
// Entries of variance 1/3, as those of uniform words in [−1, 1] are. In a cluster of kCluster the ten nearest are all the
// others, whatever their order; in larger ones their order counts.
struct Clusters {
  std::int64_t size;
  double spread;
};
Matrix clustered_words(std::int64_t V, std::int64_t d, const Clusters& clusters, std::uint64_t seed);

// By cosine, over some words and positions: the nearest word is the own one (word); the share of a word's ten nearest that
// are among the ten nearest of the sum (near).
struct MeaningLeft {
  double word, near;      // as the sum stands
  double near_less_mean;  // less the mean position
  double word_outside,
      near_outside;  // outside the directions that hold 99.9 % of what varies with the position
  double word_normed, near_normed;  // after a LayerNorm of the sum, among words after the same
  std::int64_t directions;          // that were taken out
  double ratio;                     // mean |position| / mean |word|: neighbours mean little without it
};
struct AskedOfMeaning {
  std::int64_t words, positions;  // evenly over all of them
};
MeaningLeft meaning_left(const Matrix& x, const Matrix& e, const AskedOfMeaning& asked);

// R² of a linear probe for the position in sums of V random words and a sinusoid over 64 positions, d channels: what
// counting alone gives, without training.
double position_by_counting(std::int64_t V, std::int64_t d, std::int64_t windows);

// Numbers of what sums of made-up words and a sinusoid over 64 positions keep, by width: the right word, position or both, as
// the reference has them; the ten nearest words, with a chart and a table.
void nearest_words(const Experiment& experiment, Finding& f);
void nearest_neighbours(const Experiment& experiment, Finding& f);

// The same with the position louder and quieter than the words, at 512 channels.
// The ten nearest that stay, over the ratio of lengths and the width, and where recorded models lie.
void nearest_by_ratio(const Experiment& experiment, Finding& f);
void nearest_by_loudness(const Experiment& experiment, Finding& f);

// What probes read of position (R²) and letter (share) after every layer, by seed, and a chart of the means.
struct ProbedLayers {
  std::vector<double> first_place, last_place, first_word, last_word;
  report::LineChart chart;
};
ProbedLayers probe_layers(Experiment& experiment, const Recipe& r, const Sample& sample);
// What probes read from word + position as it enters the first layer, by seed: the share of letters, R² of the position.
enum class When { start, trained };
std::vector<double> letters_from_sum(Experiment& experiment, const Recipe& r, const Sample& sample,
                                     When when);
std::vector<double> positions_from_sum(Experiment& experiment, const Recipe& r, const Sample& sample,
                                       When when);
// The tokens of the sample that a probe is told by: the cases of a share of letters.
double told_tokens(const Sample& sample);
// How many channels there are for how many letters and directions of the position, as numbers "room.…".
void count_room(Experiment& experiment, Finding& f, const Recipe& r, const Sample& sample);
// Of the letters of a sample and the positions of a trained model.
MeaningLeft letters_left(const Outcome& o, const Sample& sample);

// The same with thousands of byte-pair words in 64 or 128 channels, as numbers "pieces.…" and "pieces_128.…"; and R² of the
// position in the sum, trained and at the start.
void pieces_left(Experiment& experiment, Finding& f, std::int64_t width);
inline constexpr std::int64_t kWidthsOfPieces[] = {64, 128};

// The share of entries within two deviations of their row, each row about its mean.
double within_two(const Matrix& rows);
// The largest difference of what enters the first layer of an untrained model from word + position.
double rounding_of_sum(const Recipe& r);

}  // namespace gnomon::claims
