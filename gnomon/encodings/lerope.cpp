// LeRoPE: YaRN's frequencies, each times a learned factor. Hugging Face transformers 5.23, modeling_mistral_large4.py,
// MistralLarge4TextRotaryEmbedding.
//
//   pair i turns by p·θ'_i·e^(α_i),   θ'_i as in YaRN (yarn.cpp), without a factor of q and k; factor=1: RoPE's
//
// α is one set for all layers and heads, and begins at 0. Mistral Large 4 turns adjacent channels at the end of the head, has no
// rotation in every fourth layer, and multiplies queries by log_temperature. Acts on q and k. Parameters: alpha (pairs). Where
// a position is large, its gradient is, too.
#include <cmath>

#include "gnomon/encodings/ramp.h"
#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class LeRope final : public LearnedRotary {
 public:
  LeRope(const Options& options, const Shape& shape)
      : LearnedRotary(shape, rotary_window("lerope", options, shape), {1, 1}, true),
        start_(yarn_frequencies({.theta = options.number("theta"),
                                 .original = original_length(options, shape),
                                 .channels = window_.channels,
                                 .beta_fast = options.number("beta_fast"),
                                 .beta_slow = options.number("beta_slow"),
                                 .truncate = options.word("truncate") == "on"},
                                options.number("factor"))) {}
  bool per_layer() const override { return false; }
  std::vector<double> frequencies() const override { return start_; }
  std::vector<ParamSpec> params() const override { return {{"alpha", {window_.pairs()}, 0, 0, false}}; }

 protected:
  double theta(double w, std::int64_t pair) const override { return start_[std::size_t(pair)] * std::exp(w); }
  double theta_slope(double w, std::int64_t pair) const override { return theta(w, pair); }

 private:
  const std::vector<double> start_;
};

}  // namespace

extern const Entry lerope_entry;
const Entry lerope_entry =
    entry<LeRope>({.name = "lerope",
                   .aliases = {"learned_yarn", "mistral_large4"},
                   .title = "LeRoPE: YaRN's frequencies, each times a learned factor",
                   .paper = "https://github.com/huggingface/transformers",
                   .formula = "pair i turns by p*yarn_i*exp(alpha_i)",
                   .latex = R"(\text{pair } i \;\text{turns by}\; p\, \hat{\theta}_i\, e^{\alpha_i})",
                   .pitfall = "all layers share one alpha; the factor that YaRN gives q and k is left out",
                   .year = 2026,
                   .relative = true,
                   .extrapolates = true,
                   .options = rotary_options(yarn_ramp_options({factor_option("1"), original_option()}))});

}  // namespace gnomon
