// The raw index: position p as a number along one direction. A negative control: its size grows with p
// without bound, and after a LayerNorm the word is what vanishes.
//
//   e[p,c] = p·u[c]
//
// Acts on the input. Parameters: direction u (C), learned.
#include "gnomon/encodings/along_direction.h"

namespace gnomon {
namespace {

class Index final : public AlongDirection {
 public:
  using AlongDirection::AlongDirection;

 protected:
  double along(const Positions& positions, std::int64_t t) const override { return positions[t]; }
};

}  // namespace

extern const Entry index_entry;
const Entry index_entry =
    entry<Index>({.name = "index",
                  .title = "Raw index along a learned direction",
                  .paper = "https://kazemnejad.com/blog/transformer_architecture_positional_encoding/",
                  .formula = "e[p] = p*u",
                  .pitfall = "its size grows without bound and drowns the word",
                  .year = 2019,
                  .relative = false,
                  .options = {}});

}  // namespace gnomon
