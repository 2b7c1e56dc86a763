// Rotary embedding with learned frequencies. Zhang et al. 2025 (GRAPE), https://arxiv.org/abs/2512.07805, the commuting
// multiplicative case; the authors' llama-mha-grape-m-nonctx.py.
//
//   pair i of head h turns by p·exp(w[h,i]);   w starts at the logarithm of RoPE's frequency
//
// The authors' code turns the other way, by −p·exp(w): its weights need each pair's channels exchanged in q and k. Acts on q and
// k. Parameters: log frequency w (H or 1, pairs), each layer its own. The gradient grows with p: large positions dominate, which is
// why w is a logarithm.
#include <cmath>

#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class RopeLearned final : public LearnedRotary {
 public:
  RopeLearned(const Options& options, const Shape& shape)
      : LearnedRotary(shape, rotary_window("rope_learned", options, shape), {1, 1},
                      options.word("heads") == "shared"),
        base_(options.number("theta")) {}
  std::vector<double> frequencies() const override { return geometric_frequencies(base_, window_.channels); }
  std::vector<ParamSpec> params() const override {
    std::vector<double> start;
    for (std::int64_t h = 0; h < tables_of_heads(); ++h) {
      for (const double w : frequencies()) start.push_back(std::log(w));
    }
    return {{"log_frequency", {tables_of_heads(), window_.pairs()}, 0, 0, false, start}};
  }

 protected:
  double theta(double w, std::int64_t) const override { return std::exp(w); }
  double theta_slope(double w, std::int64_t) const override { return std::exp(w); }

 private:
  const double base_;
};

}  // namespace

extern const Entry rope_learned_entry;
const Entry rope_learned_entry = entry<RopeLearned>(
    {.name = "rope_learned",
     .aliases = {"learned_rope", "rotary_learned"},
     .title = "Rotary embedding with learned frequencies",
     .paper = "https://arxiv.org/abs/2512.07805",
     .formula = "pair i of head h turns by p*exp(w[h,i])",
     .latex = R"(\text{pair } i \;\text{of head}\; h \;\text{turns by}\; p\, e^{w_{h,i}})",
     .pitfall = "the gradient is proportional to p; at position 10^6, two copies that round the float32 log "
                "frequencies differently differ by an angle of 0.1",
     .year = 2025,
     .relative = true,
     .options = rotary_options({{.name = "heads",
                                 .help = "each head has its own table, or all heads share one",
                                 .standard = "own",
                                 .words = {"own", "shared"}}})});

}  // namespace gnomon
