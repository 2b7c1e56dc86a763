// The normalised index: the place of a token between the first (0) and the last (1) of its window. A
// negative control: the step between neighbours is 1/(T−1), so the same distance means different things in
// windows of different length.
//
//   e[p,c] = (p − p_first)/(p_last − p_first)·u[c],   0 for a window of one token
//
// Acts on the input. Parameters: direction u (C), learned.
#include "gnomon/encodings/along_direction.h"

namespace gnomon {
namespace {

class Normalised final : public AlongDirection {
 public:
  using AlongDirection::AlongDirection;

 protected:
  double along(const Positions& all, std::int64_t n) const override {
    const Positions p = all.row(n / all.T());
    const double first = p[0], last = p[p.T() - 1];
    return last == first ? 0 : (all[n] - first) / (last - first);
  }
};

}  // namespace

extern const Entry normalised_entry;
const Entry normalised_entry = entry<Normalised>(
    {.name = "normalised",
     .title = "Index divided by the window length, along a learned direction",
     .paper = "https://kazemnejad.com/blog/transformer_architecture_positional_encoding/",
     .formula = "e[p] = (p - p_first)/(p_last - p_first)*u",
     .latex = R"(e_p = \frac{p - p_{\mathrm{first}}}{p_{\mathrm{last}} - p_{\mathrm{first}}}\, u)",
     .pitfall = "the step between neighbours depends on the window length",
     .year = 2019,
     .relative = true,
     .options = {}});

}  // namespace gnomon
