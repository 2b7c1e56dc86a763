#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/claims/claim.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/lens/stream.h"
#include "gnomon/lens/table.h"

// What the measurements of several questions share.
namespace gnomon::claims {

inline Shape width_of(std::int64_t d, std::int64_t T = 128) { return {d, 1, d, T, true}; }

constexpr std::string_view kPaper = "sinusoidal";
constexpr std::string_view kTensor2tensor = "sinusoidal(layout=halves, frequencies=tensor2tensor)";
// Rows of a sinusoidal table.
inline Matrix sinusoid(std::int64_t d, std::int64_t T, double first = 0, std::string_view spec = kPaper) {
  return position_table(spec, width_of(d), T, first);
}
std::vector<double> sinusoid_frequencies(std::int64_t d, std::string_view spec = kPaper);

double dot(std::span<const double> a, std::span<const double> b);
double distance(std::span<const double> a, std::span<const double> b);

// V words with numbers uniform in [−1, 1], as the second text imagines them; Gaussian words of unit variance.
Matrix uniform_words(std::int64_t V, std::int64_t d, std::uint64_t seed);
Matrix gaussian_words(std::int64_t V, std::int64_t d, std::uint64_t seed);

Matrix scaled(Matrix m, double factor);

// What most measurements of trained models look at; a model as it was before training.
std::vector<Recipe> additive(const Experiment& experiment);
Outcome at_start(const Outcome& o);
// The share of right answers to the scored targets of a sample.
double accuracy(const Outcome& o, const Sample& sample);

// The held-out loss of a model after this share of its training: between the points of its curve by a straight line in
// tokens, at 1 the loss that all other numbers are of. Throws Error(usage) for a share before the first point or above 1.
double loss_after(const Outcome& o, double share);
// Tokens until the curve first falls to this loss, by the same lines; infinity where training ends before.
double tokens_to(const Outcome& o, double nats);
// loss_difference() as it was after a share of the training, paired by seed. The rate was then still that of the whole
// schedule: this is how far a training had come, not what a shorter one would have reached.
Estimate loss_difference_at(Experiment& experiment, const Recipe& a, const Recipe& b, double share);

// The word vectors that occur in a sample, as they enter the model (times √d where the combination scales), unweighted,
// and the position vectors (T, C) as they are added, of a trained additive model.
Matrix words_of(const Outcome& o, const Sample& sample);
Matrix positions_of(const Outcome& o, const Sample& sample);

// What a sample has to show, or NotMeasurable is thrown: `least` different letters; so many that their vectors, or what
// else differs by letter, vary in r directions, which are returned as an orthonormal basis.
void need_letters(const Sample& sample, std::size_t least);
Matrix letter_directions(const Matrix& by_letter, std::int64_t r);
// The share of letters that a linear probe reads from the rows of a sample. Needs two different ones.
double letters_read(const Matrix& rows, const Sample& sample);

// A number of a finding; throws Error(bug) for one that it does not have.
double found(const Finding& f, std::string_view key);

// loss_difference_at() after a quarter, half and all of the training.
inline constexpr double kShares[] = {.25, .5, 1};
using OnTheWay = std::array<Estimate, 3>;
OnTheWay on_the_way(Experiment& experiment, const Recipe& a, const Recipe& b);
// Its numbers: KEY.at.0.25, KEY.at.0.5 and KEY.at.1.
void show(Finding& f, std::string_view key, std::string_view name, const OnTheWay& way);

// The four terms of (x + e)'M(y + f), and where they stand among term_maps() of {word, position} and the biases.
inline constexpr const char* kTermNames[] = {"word asks word", "word asks position", "position asks word",
                                             "position asks position"};
inline constexpr std::size_t kTerms[] = {0, 1, 3, 4};
// Their shares of the variance within rows and that of what the biases ask for, in the first layer, mean over heads.
std::vector<double> four_shares(const Outcome& o, const Sample& sample);

// A table of numbers for the page.
struct Tabled {
  std::vector<std::string> head;
  std::vector<std::pair<std::string, std::vector<double>>> rows;
  int digits;
};
report::Table table(const Tabled& grid);

}  // namespace gnomon::claims
