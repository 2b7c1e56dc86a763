#pragma once
#include <memory>
#include <vector>

#include "gnomon/claims/measures/measures.h"

// What is measured on models that join word and position in other ways than by the sum.
namespace gnomon::claims {

// A trained projecting model as a sum: words √d·W_x·x, and the table W_e·e_p + b.
struct Folded {
  double worst;    // largest difference of a logit
  double changed;  // share of the table's variance that is no multiple of the fixed code
};
Folded fold(const Outcome& o, const Sample& sample);

// What the first matrix of a trained concatenating model makes of the two blocks of its input, `places` channels of which
// are the position's: how far the images overlap, and how far those of random blocks do under the same matrix.
struct Images {
  double found, chance;  // mean cos² of the principal angles
};
Images images_of_blocks(const Outcome& o, std::int64_t places, std::int64_t draws);

// A model of a published size, 6 layers of width 512, by how it joins: parameters, and the computing of twice the width over it.
struct JoinedSizes {
  double sum, split, project, wide;
  double wide_flops;
};
JoinedSizes sizes_of_512();
// Parameters of a byte model with four heads.
double joined_size(std::string_view spec, std::int64_t width, std::int64_t layers);

// A logit of an encoding of attention by its definition: random queries and keys (2 heads, 8 tokens, 16 channels) and
// parameters; head 1, query 3, key 5.
struct LogitOf {
  explicit LogitOf(std::string_view spec);
  double operator()(const std::vector<double>& queries, const std::vector<double>& keys,
                    const std::vector<double>& parameters) const;
  double of_channels(std::int64_t first, std::int64_t end) const;  // the others of the queries set to 0
  double plain(std::int64_t first, std::int64_t end) const;        // q·k over these, over √D
  std::unique_ptr<Encoding> encoding;
  std::vector<double> q, k, w;
};

inline constexpr const char* kLoud = "add(sinusoidal, amplitude=3)";
inline constexpr const char* kLoudMixture = "mixture(scaled_sinusoidal(start=3))";
// They begin as a sum with a linear map of each, and ask from the word, or from the mean of the words so far.
struct EvenMixture {
  const char *key, *spec, *asks;
};
inline constexpr EvenMixture kEvenMixtures[] = {
    {"even_word", "mixture(sinusoidal, start=half)", "asked by the word"},
    {"even_context", "mixture(sinusoidal, query=context, start=half)", "asked by the context"}};

// The sum, concat within the width, concat with a projection: parameters, computing and time of the three.
std::vector<Recipe> three_ways(const Experiment& d);
Finding costs_of_joining(Experiment& experiment);
// `mixture` against the sum, as it stands and with a position that starts as loud as that of kLoud.
Finding mixed_by_attention(Experiment& experiment);

}  // namespace gnomon::claims
