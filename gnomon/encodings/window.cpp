// Sliding window. Beltagy, Peters, Cohan 2020 (Longformer), https://arxiv.org/abs/2004.05150; with rotation on most layers and
// none on the others, RNoPE-SWA: Yang et al. 2025, https://arxiv.org/abs/2501.18795.
//
//   query i sees key j where |p_i − p_j| < size
//
// Acts on the mask; keys outside are not computed. No parameters. `[rope+window(size=64), none]` is RNoPE's mixture.
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Window final : public Encoding, public MaskPart {
 public:
  Window(const Options& options, const Shape& shape) : Encoding(shape), size_(options.number("size")) {}
  bool sees(const Scene& s, std::int64_t i, std::int64_t j) const override { return near(s.positions, i, j); }
  void lower(const Batch& b, Terms& terms) const override {
    limit_keys(terms, b.positions,
               [&](const Positions& row, std::int64_t i, std::int64_t j) { return near(row, i, j); });
  }

 private:
  bool near(const Positions& row, std::int64_t i, std::int64_t j) const {
    return std::abs(row[i] - row[j]) < size_;
  }
  const double size_;
};

}  // namespace

extern const Entry window_entry;
const Entry window_entry =
    entry<Window>({.name = "window",
                   .aliases = {"sliding_window", "swa", "local"},
                   .title = "Sliding window: a query sees only the keys near it",
                   .paper = "https://arxiv.org/abs/2004.05150",
                   .formula = "i sees j where |p_i - p_j| < size",
                   .latex = R"(i \;\text{sees}\; j \;\text{where}\; \left|p_i - p_j\right| < \mathrm{size})",
                   .pitfall = "which layers have it matters as much as its size",
                   .year = 2020,
                   .relative = true,
                   .options = {{.name = "size",
                                .help = "size of the window in tokens, including the query",
                                .standard = "32",
                                .least = 1,
                                .most = 1000000000.0,
                                .whole = true}}});

}  // namespace gnomon
