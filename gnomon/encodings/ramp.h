#pragma once
#include "gnomon/encodings/rotary.h"

namespace gnomon {

// What YaRN and its relatives share: a ramp over the pairs, by how often a pair turns in the length that the
// model was first trained for. Peng et al. 2023, https://arxiv.org/abs/2309.00071, equations 17 to 23.

// 0 up to pair `low`, 1 from pair `high` on.
struct Ramp {
  double low, high;
  double at(double pair) const;
};
struct Turning {
  double theta, original;  // base; length in tokens
  std::int64_t channels;   // that turn
  bool truncate;           // the ends of the ramp are whole pairs
};
// From the pair that turns `fast` times in the original length to the one that turns `slow` times.
Ramp turning_ramp(const Turning& turning, double fast, double slow);

struct YarnRule {
  double theta, original;
  std::int64_t channels;
  double beta_fast, beta_slow;
  bool truncate;
  double attention_factor = 0, mscale = 0, mscale_all_dim = 0, softmax_mscale = 0;  // 0 = not given
  double extrapolation = 1;  // how much of a fast pair's own frequency is kept: 1, all
};
// What a spec may say of the ramp, and of the whole rule, after `first`.
std::vector<OptionSpec> yarn_ramp_options(std::vector<OptionSpec> first);
std::vector<OptionSpec> yarn_options(std::vector<OptionSpec> first);
YarnRule yarn_rule(const Options& options, const Shape& shape, const RotaryWindow& window);
std::vector<double> yarn_frequencies(const YarnRule& rule, double factor);
double yarn_attention_factor(const YarnRule& rule, double factor);
// DeepSeek-V3's factor of all logits, (0.1·softmax_mscale·ln factor + 1)²; 1 where it is not given.
double yarn_softmax_scale(const YarnRule& rule, double factor);

}  // namespace gnomon
