// Temperature by position. rule=log: Su 2021, https://kexue.fm/archives/8823; Chiang and Cholak 2022,
// https://arxiv.org/abs/2202.12172, section 5. rule=llama4: Llama 4's layers without rotation, Hugging Face transformers,
// modeling_llama4.py, attn_temperature_tuning.
//
//   q at position p is multiplied by   rule=log:     max(1, ln(p + 1)/ln L0),   L0 = original
//                                      rule=llama4:  1 + scale·ln(1 + ⌊(p + 1)/floor⌋)
//
// Entropy stays level as keys become more. Acts on q. No parameters.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/rotary.h"

namespace gnomon {
namespace {

class LogN final : public Encoding, public MapPart {
 public:
  LogN(const Options& options, const Shape& shape)
      : Encoding(shape),
        llama4_(options.word("rule") == "llama4"),
        original_(std::max(2.0, original_length(options, shape))),
        scale_(options.number("scale")),
        floor_(options.number("floor")) {}

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
    if (llama4_) return 1 + scale_ * std::log(1 + std::floor(std::max(0.0, p + 1) / floor_));
    return std::max(1.0, std::log(std::max(1.0, p + 1)) / std::log(original_));
  }
  const bool llama4_;
  const double original_, scale_, floor_;
};

}  // namespace

extern const Entry log_n_entry;
const Entry log_n_entry = entry<LogN>(
    {.name = "log_n",
     .title = "Temperature that grows with the logarithm of the position",
     .paper = "https://arxiv.org/abs/2202.12172",
     .formula = "q*max(1, ln(p+1)/ln L0), or q*(1 + a*ln(1 + floor((p+1)/F)))",
     .pitfall = "Llama 4 has it on the layers without rotation only",
     .year = 2022,
     .relative = false,
     .extrapolates = true,
     .options = {{.name = "rule",
                  .help = "log-n, or the rule of Llama 4",
                  .standard = "log",
                  .words = {"log", "llama4"}},
                 original_option(),
                 {.name = "scale", .help = "a of rule=llama4", .standard = "0.1", .least = 0, .most = 100},
                 {.name = "floor",
                  .help = "F of rule=llama4, in tokens",
                  .standard = "8192",
                  .least = 1,
                  .most = 1000000000.0}}});

}  // namespace gnomon
