// The raw index: position p as a number along one direction. A negative control: its size grows with p
// without bound, and after a LayerNorm the word is what vanishes. Over a divisor of the size of the positions in use it has
// the same information and does not grow beyond the word.
//
//   e[p,c] = p/divisor·u[c]
//
// Acts on the input. Parameters: direction u (C), learned.
#include "gnomon/encodings/along_direction.h"

namespace gnomon {
namespace {

class Index final : public AlongDirection {
 public:
  Index(const Options& options, const Shape& shape)
      : AlongDirection(shape), divisor_(options.number("divisor")) {}

 protected:
  double along(const Positions& positions, std::int64_t t) const override { return positions[t] / divisor_; }

 private:
  const double divisor_;
};

}  // namespace

extern const Entry index_entry;
const Entry index_entry =
    entry<Index>({.name = "index",
                  .title = "Raw index along a learned direction",
                  .paper = "https://kazemnejad.com/blog/transformer_architecture_positional_encoding/",
                  .formula = "e[p] = p/divisor*u",
                  .latex = R"(e_p = \frac{p}{\mathrm{divisor}}\, u)",
                  .pitfall = "its norm grows without bound and drowns the word vector",
                  .year = 2019,
                  .relative = false,
                  .options = {{.name = "divisor",
                               .help = "divisor of the position, the same for inputs of any length; the "
                                       "training length keeps positions below 1 in training",
                               .standard = "1",
                               .least = 1e-6,
                               .most = 1e9}}});

}  // namespace gnomon
