#include "gnomon/encodings/turns.h"

#include "gnomon/core/error.h"
#include "gnomon/kernels/angle.h"

namespace gnomon {

Rotate RotaryWindow::empty(std::int64_t heads, std::int64_t tokens) const {
  const bool far = pairing == Pairing::halves;
  const Floats none(std::size_t(heads * tokens * pairs()));
  return {first, pairs(), far ? 1 : 2, far ? pairs() : 1, heads, tokens, none, none};
}

void rerotate(const Turns& from, const Turns& to, const Positions& p, const RowLayout& rows, float* keys) {
  const RotaryWindow& window = from.window;
  if (!(window == to.window))
    throw Error(Fault::usage,
                "rerotate: the two rotations act on different windows of channels; allowed is one window");
  const std::int64_t pairs = window.pairs(), size = p.size() * pairs;
  if (std::int64_t(from.frequencies.size()) != pairs || std::int64_t(to.frequencies.size()) != pairs) {
    throw Error(Fault::usage, text("rerotate: ", from.frequencies.size(), " and ", to.frequencies.size(),
                                   " frequencies for a window of ", pairs, " pairs"));
  }
  Floats table(2 * size);
  for (std::int64_t n = 0; n < size; ++n) {
    const Angle angle(p[n / pairs], to.frequencies[n % pairs] - from.frequencies[n % pairs]);
    table[n] = float(to.factor / from.factor * angle.cos());
    table[size + n] = float(to.factor / from.factor * angle.sin());
  }
  rotate({window.pairing, pairs, table.data(), table.data() + size, p.rows > 1}, rows, +1,
         keys + window.first);
}

}  // namespace gnomon
