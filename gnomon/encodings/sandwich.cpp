// Sandwich. Chi, Fan, Rudnicky, Ramadge 2022, https://arxiv.org/abs/2212.10356, section 5; NVIDIA NeMo,
// sandwich_relative_position_embedding.py.
//
//   s[h,i,j] = q_i·k_j/√D + (Σ_{n=1..N/2} cos((p_i − p_j)/10000^(2n/N)) − N/2)/(8(h+1)/H),   N = dim
//
// The dot product of two sinusoids, as a bias. Acts on the logits. No parameters.
#include <cmath>

#include "gnomon/encodings/distance_bias.h"

namespace gnomon {
namespace {

class Sandwich final : public DistanceBias {
 public:
  Sandwich(const Options& options, const Shape& shape)
      : DistanceBias(shape), dim_(options.whole("dim") ? options.whole("dim") : shape.D) {}

 protected:
  double by_distance(std::span<const double>, std::int64_t h, double delta) const override {
    double sum = 0;
    for (std::int64_t n = 1; n <= dim_ / 2; ++n)
      sum += std::cos(delta / std::pow(10000.0, 2.0 * double(n) / double(dim_))) - 1;
    return sum / (8 * double(h + 1) / double(shape_.H));
  }

 private:
  const std::int64_t dim_;
};

}  // namespace

extern const Entry sandwich_entry;
const Entry sandwich_entry = entry<Sandwich>(
    {.name = "sandwich",
     .title = "Sandwich: the dot product of sinusoids as a bias",
     .paper = "https://arxiv.org/abs/2212.10356",
     .formula = "s = q*k/sqrt(D) + (sum_{n=1..N/2} cos(d/10000^(2n/N)) - N/2)/(8h/H)",
     .latex =
         R"(s = \frac{q \cdot k}{\sqrt{D}} + \frac{H}{8h} \left(\sum_{n=1}^{N/2} \cos\frac{d}{10000^{2n/N}} - \frac{N}{2}\right))",
     .pitfall = "implementations without the cosine are a linear bias by accident",
     .year = 2022,
     .relative = true,
     .extrapolates = true,
     .options = {{.name = "dim",
                  .help = "number of channels of the sinusoid; 0 = the head size",
                  .standard = "0",
                  .least = 0,
                  .most = 65536,
                  .whole = true}}});

}  // namespace gnomon
