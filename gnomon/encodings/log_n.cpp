// Temperature by position. rule=log: Su 2021, https://kexue.fm/archives/8823; Chiang and Cholak 2022,
// https://arxiv.org/abs/2202.12172, section 5. The others by Hugging Face transformers: modeling_llama4.py,
// attn_temperature_tuning, on layers without rotation; modeling_ministral3.py and modeling_mistral4.py,
// get_llama_4_attn_scale, on layers with one; modeling_beam.py, compute_attention_scaling, on layers without; modeling_inkling.py,
// log_scaling_n_floor, on layers without a window.
//
//   q at position p is multiplied by   rule=log:        max(1, ln(p + 1)/ln L0),   L0 = original
//                                      rule=llama4:     1 + scale·ln(1 + ⌊(p + 1)/floor⌋)
//                                      rule=ministral3: 1 + scale·ln(1 + ⌊p/floor⌋)
//                                      rule=beam:       (1 + (p + 1)/floor)^scale
//                                      rule=inkling:    1 + scale·ln max(1, (p + 1)/floor)
//
// A position below 0 counts as 0 tokens. Entropy stays level as keys become more. What other encodings add to the logits is not
// multiplied. Acts on q. No parameters.
#include <algorithm>
#include <cmath>
#include <string>

#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class LogN final : public Encoding, public MapPart {
 public:
  LogN(const Options& options, const Shape& shape)
      : Encoding(shape),
        rule_(options.word("rule")),
        original_(std::max(2.0, original_length(options, shape))),
        scale_(options.number("scale")),
        floor_(options.number("floor")) {}
  bool keeps_keys() const override { return true; }

  void map_row(const Scene& s, Role role, std::int64_t, std::int64_t t,
               std::vector<double>& row) const override {
    for (std::int64_t d = 0; role == Role::q && d < shape_.D; ++d)
      row[std::size_t(d)] *= factor(s.positions[t]);
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    Scale scale{shape_.D, {}};
    for (std::int64_t t = 0; t < b.tokens(); ++t) scale.factor.push_back(float(factor(b.positions[t])));
    steps.push_back({unsigned(Role::q), std::move(scale)});
  }

 private:
  double factor(double p) const {
    const double before = std::max(0.0, p), tokens = std::max(0.0, p + 1);
    if (rule_ == "llama4") return 1 + scale_ * std::log(1 + std::floor(tokens / floor_));
    if (rule_ == "ministral3") return 1 + scale_ * std::log(1 + std::floor(before / floor_));
    if (rule_ == "beam") return std::pow(1 + tokens / floor_, scale_);
    if (rule_ == "inkling") return 1 + scale_ * std::log(std::max(1.0, tokens / floor_));
    return std::max(1.0, std::log(std::max(1.0, tokens)) / std::log(original_));
  }
  const std::string rule_;
  const double original_, scale_, floor_;
};

}  // namespace

extern const Entry log_n_entry;
const Entry log_n_entry = entry<LogN>(
    {.name = "log_n",
     .aliases = {"logn", "log_scaling", "llama4"},
     .title = "Temperature that grows with the logarithm of the position",
     .paper = "https://arxiv.org/abs/2202.12172",
     .formula = "q*max(1, ln(p+1)/ln L0), or q*(1 + a*ln(1 + floor((p+1)/F))), or others by rule",
     .latex =
         R"(q\, \max\left(1, \frac{\ln(p+1)}{\ln L_0}\right) \;\text{or}\; q \left(1 + a \ln\left(1 + \left\lfloor \frac{p+1}{F} \right\rfloor\right)\right), \;\text{or others by rule})",
     .pitfall = "Llama 4 and Beam use it only in layers without rotation; Ministral 3 uses it in all layers, "
                "with p instead of p + 1",
     .year = 2022,
     .relative = false,
     .extrapolates = true,
     .options = {{.name = "rule",
                  .help = "log-n, or the rule of a model family",
                  .standard = "log",
                  .words = {"log", "llama4", "ministral3", "beam", "inkling"}},
                 original_option(),
                 {.name = "scale",
                  .help = "a in every rule except log; in beam it is the exponent",
                  .standard = "0.1",
                  .least = 0,
                  .most = 100},
                 {.name = "floor",
                  .help = "F in every rule except log, in tokens",
                  .standard = "8192",
                  .least = 1,
                  .most = 1000000000.0}}});

}  // namespace gnomon
