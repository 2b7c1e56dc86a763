// Sinusoids times one learned number. x-transformers, x_transformers.py, ScaledSinusoidalEmbedding.
//
//   e[p] = α·[sin(p·w) ; cos(p·w)],   w_i = base^(−2i/C),   α starts at C^(−1/2), or at `start`
//
// start=1 is the published sum with a learned gain on the position.
// x-transformers has layout=halves with the paper's frequencies, a third convention; so the layout has to be named.
// Acts on the input. Parameters: amplitude α (1).
#include <cmath>

#include "gnomon/encodings/sines.h"

namespace gnomon {
namespace {

class ScaledSinusoidal final : public Encoding, public InputPart {
 public:
  ScaledSinusoidal(const Options& options, const Shape& shape)
      : Encoding(shape),
        sines_(make_sines(options, shape.C)),
        start_(options.number("start") > 0 ? options.number("start") : 1 / std::sqrt(double(shape.C))) {}
  std::vector<double> frequencies() const override { return sines_.frequencies; }
  std::vector<ParamSpec> params() const override { return {{"amplitude", {1}, start_, 0, false}}; }

  double input(const Scene& s, std::int64_t t, std::int64_t c) const override {
    return s.w[0] * sines_.at(s.positions[t], c);
  }
  Floats tables(const Positions& p) const override {
    Floats e(p.size() * shape_.C);
    for (std::int64_t n = 0; n < std::int64_t(e.size()); ++n)
      e[n] = float(sines_.at(p[n / shape_.C], n % shape_.C));
    return e;
  }
  void input(const Batch& b, float* e) const override {
    for (std::size_t n = 0; n < b.tables.size(); ++n) e[n] = b.w[0] * b.tables[n];
  }
  void input_backward(const Batch& b, const float* de, const BatchGrad& grad) const override {
    double sum = 0;
    for (std::size_t n = 0; n < b.tables.size(); ++n) sum += double(b.tables[n]) * de[n];
    grad.w[0] += float(sum);
  }

 private:
  const Sines sines_;
  const double start_;
};

}  // namespace

extern const Entry scaled_sinusoidal_entry;
const Entry scaled_sinusoidal_entry = entry<ScaledSinusoidal>(
    {.name = "scaled_sinusoidal",
     .title = "Sinusoids times a learned amplitude",
     .paper = "https://github.com/lucidrains/x-transformers",
     .formula = "e[p] = alpha*[sin(p*w) ; cos(p*w)], alpha learned",
     .latex = R"(e_p = \alpha\,[\sin(p\,\omega)\,;\, \cos(p\,\omega)], \quad \alpha \;\text{learned})",
     .pitfall = "alpha starts at C^(-1/2), so the position is faint beside a word vector of variance 1 until "
                "alpha grows; start=1 is the published sum",
     .year = 2021,
     .relative = false,
     .options = sine_options({{.name = "start",
                               .help = "initial amplitude; 0 = C^(-1/2)",
                               .standard = "0",
                               .least = 0,
                               .most = 1e6}})});

}  // namespace gnomon
