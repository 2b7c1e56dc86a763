// Learned temperature by the logarithm of the position. Hugging Face transformers 5.23, modeling_mistral_large4.py,
// MistralLarge4TextSoftmaxScaling.
//
//   q of head h at position p is multiplied by s_h·ln(p + 1) + b_h
//
// s begins at 0 and b at 1, which changes nothing. A position below 0 counts as 0. What other encodings add to the logits is not
// multiplied. Acts on q. Parameters: scale (H), bias (H), each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class LogTemperature final : public Encoding, public MapPart {
 public:
  explicit LogTemperature(const Shape& shape) : Encoding(shape) {}
  bool per_layer() const override { return true; }
  bool keeps_keys() const override { return true; }
  std::vector<ParamSpec> params() const override {
    return {{"scale", {shape_.H}, 0, 0, false}, {"bias", {shape_.H}, 1, 0, false}};
  }

  void map_row(const Scene& s, Role role, std::int64_t h, std::int64_t t,
               std::vector<double>& row) const override {
    const double factor = s.w[h] * logarithm(s.positions[t]) + s.w[shape_.H + h];
    for (std::int64_t d = 0; role == Role::q && d < shape_.D; ++d) row[std::size_t(d)] *= factor;
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    Scale scale{shape_.D, {}, shape_.H};
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      for (std::int64_t t = 0; t < b.tokens(); ++t)
        scale.factor.push_back(float(double(b.w[h]) * logarithm(b.positions[t]) + double(b.w[shape_.H + h])));
    }
    steps.push_back({unsigned(Role::q), std::move(scale), true});
  }
  void map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    const Floats& dfactor = std::get<Scale>(dsteps[0].what).factor;
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      double dscale = 0, dbias = 0;
      for (std::int64_t t = 0; t < b.tokens(); ++t) {
        const double d = dfactor[h * b.tokens() + t];
        dscale += d * logarithm(b.positions[t]), dbias += d;
      }
      grad.w[h] += float(dscale), grad.w[shape_.H + h] += float(dbias);
    }
  }

 private:
  static double logarithm(double p) { return std::log1p(std::max(0.0, p)); }
};

}  // namespace

extern const Entry log_temperature_entry;
const Entry log_temperature_entry = entry<LogTemperature>(
    {.name = "log_temperature",
     .aliases = {"learned_log_n", "softmax_scaling", "learned_temperature"},
     .title = "Learned temperature of each head by the logarithm of the position",
     .paper = "https://github.com/huggingface/transformers",
     .formula = "q*(s_h*ln(p+1) + b_h)",
     .latex = R"(q\,(s_h \ln(p+1) + b_h))",
     .pitfall = "it multiplies what stands still as well as what rotates; the keys are left alone",
     .year = 2026,
     .relative = false,
     .extrapolates = true,
     .options = {}});

}  // namespace gnomon
