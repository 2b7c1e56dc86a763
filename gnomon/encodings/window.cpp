// Sliding window. Beltagy, Peters, Cohan 2020 (Longformer), https://arxiv.org/abs/2004.05150; with rotation on most layers and
// none on the others, RNoPE-SWA: Yang et al. 2025, https://arxiv.org/abs/2501.18795.
//
//   query i sees key j where |p_i − p_j| < size
//   after=n: of the keys after it those where p_j − p_i < n; T5Gemma 2 halves an even window so that these are one more (Hugging
//   Face transformers, modeling_t5gemma2.py, sliding_window_mask_function)
//
// Acts on the mask; keys outside are not computed. No parameters. `[rope+window(size=64), none]` is RNoPE's mixture.
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Window final : public Encoding, public MaskPart {
 public:
  Window(const Options& options, const Shape& shape)
      : Encoding(shape),
        size_(options.number("size")),
        after_(options.number("after") == 0 ? size_ : options.number("after")) {}
  bool sees(const Scene& s, std::int64_t i, std::int64_t j) const override { return near(s.positions, i, j); }
  void lower(const Batch& b, Terms& terms) const override {
    limit_keys(terms, b.positions,
               [&](const Positions& row, std::int64_t i, std::int64_t j) { return near(row, i, j); });
  }

 private:
  bool near(const Positions& row, std::int64_t i, std::int64_t j) const {
    const double delta = row[i] - row[j];
    return delta >= 0 ? delta < size_ : -delta < after_;
  }
  const double size_, after_;
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
                                .whole = true},
                               {.name = "after",
                                .help = "the same for keys after the query, including it; 0 = as size",
                                .standard = "0",
                                .least = 0,
                                .most = 1000000000.0,
                                .whole = true}}});

}  // namespace gnomon
