// The bias of a window of an image, a table over the distance down and across. Liu et al. 2021 (Swin Transformer),
// https://arxiv.org/abs/2103.14030, equation 4; timm, models/swin_transformer.py, get_relative_position_index.
//
//   s[h,i,j] = q_i·k_j/√D + w[(y_i − y_j + rows − 1)·(2·columns − 1) + x_i − x_j + columns − 1, h]
//   distances=absolute: w[|y_i − y_j|·columns + |x_i − x_j|, h], as in LeViT
//   class=on: three entries more, after those. A token whose row is −1 is the class token, which stands nowhere:
//             the first where it is the query alone, the second where it is the key alone, the third where it is both
//
// The class token is BEiT's (Bao et al. 2021, https://arxiv.org/abs/2106.08254; timm, models/beit.py,
// gen_relative_position_index). Hugging Face's BEiT resamples its table in every call and takes rows for columns there: of a
// window that is no square it reads other numbers. LeViT (Graham et al. 2021, https://arxiv.org/abs/2104.01136; timm,
// models/levit.py, Attention) keeps its table the other way around, (H, rows·columns). A shifted window adds a mask and no other bias.
//
// Tokens with one coordinate stand row by row on the window. A sequence with coordinates farther apart than the window is an
// error. Acts on the logits. Parameters: table w ((2·rows − 1)(2·columns − 1) or rows·columns, H), each layer its own, or one for all
// (BEiT while it is pretrained).
#include <cstdlib>

#include "gnomon/encodings/image_window.h"

namespace gnomon {
namespace {

class WindowTable final : public Encoding, public BiasPart {
 public:
  WindowTable(const Options& options, const Shape& shape)
      : Encoding(shape),
        window_{"window_table",
                options.whole("rows"),
                {2, options.whole("columns")},
                options.word("class") == "on"},
        absolute_(options.word("distances") == "absolute"),
        own_(options.word("layers") == "own") {}
  std::int64_t axes() const override { return 2; }
  bool per_layer() const override { return own_; }
  std::optional<std::int64_t> positions_end() const override { return window_.rows * window_.grid.columns; }
  std::vector<ParamSpec> params() const override {
    return {{"table", {pairs() + (window_.class_tokens ? 3 : 0), shape_.H}, 0, 0.02, false}};
  }

  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const bool from_class = window_.is_class(s.positions, i), to_class = window_.is_class(s.positions, j);
    if (from_class || to_class)
      return s.w[(pairs() + (from_class && to_class ? 2 : from_class ? 0 : 1)) * shape_.H + h];
    const auto down = std::int64_t(window_.down(s.positions, i, j)),
               across = std::int64_t(window_.across(s.positions, i, j));
    return s.w[row_of(down, across) * shape_.H + h];
  }

  void lower(const Batch& b, Terms& t) const override {
    const std::int64_t count = entries(), m = window_.most();
    t.code_ranges.push_back({first(), count});
    t.by_code.assign(std::size_t(shape_.H * count), 0.0f);
    each_entry([&](std::int64_t entry, std::int64_t row) {
      for (std::int64_t h = 0; h < shape_.H; ++h) t.by_code[h * count + entry] = b.w[row * shape_.H + h];
    });
    for (std::int64_t row = 0; row < b.positions.rows; ++row)
      window_.add_codes(b.positions.row(row), {double(3 * m + 2), double(2 * m + 1)}, t);
  }
  void lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const override {
    each_entry([&](std::int64_t entry, std::int64_t row) {
      for (std::int64_t h = 0; h < shape_.H; ++h)
        grad.w[row * shape_.H + h] += g.by_code[h * entries() + entry];
    });
  }

 private:
  // Distances that have a bias of their own, and the row of one.
  std::int64_t pairs() const { return absolute_ ? window_.rows * window_.grid.columns : window_.places(); }
  std::int64_t row_of(std::int64_t down, std::int64_t across) const {
    if (absolute_) return std::abs(down) * window_.grid.columns + std::abs(across);
    return (down + window_.rows - 1) * window_.stride() + across + window_.grid.columns - 1;
  }
  // Codes of tokens of the window are 0..m, whose differences are −m..m. The class token has another code as a query than as a
  // key, so that its differences are their own:
  //   as the key alone −2m − 1..−m − 1, with itself m + 1, as the query alone 2m + 2..3m + 2
  std::int64_t first() const { return window_.class_tokens ? -2 * window_.most() - 1 : -window_.most(); }
  std::int64_t entries() const { return window_.class_tokens ? 5 * window_.most() + 4 : window_.places(); }
  // f(entry of the kernel's table, row of w)
  template <class Body>
  void each_entry(const Body& f) const {
    for (std::int64_t entry = 0; entry < entries(); ++entry) {
      const std::int64_t difference = entry + first(), m = window_.most();
      if (std::abs(difference) <= m)
        f(entry, row_of((difference + m) / window_.stride() - window_.rows + 1,
                        (difference + m) % window_.stride() - window_.grid.columns + 1));
      if (difference < -m) f(entry, pairs() + 1);
      if (difference == m + 1) f(entry, pairs() + 2);
      if (difference > 2 * m + 1) f(entry, pairs());
    }
  }

  const ImageWindow window_;
  const bool absolute_, own_;
};

}  // namespace

extern const Entry window_table_entry;
const Entry window_table_entry = entry<WindowTable>(
    {.name = "window_table",
     .aliases = {"swin", "beit", "levit", "relative_position_bias_table"},
     .title = "Swin's window table: a bias for each distance down and across",
     .paper = "https://arxiv.org/abs/2103.14030",
     .formula = "s = q*k/sqrt(D) + w[(y_i - y_j + rows - 1)*(2*columns - 1) + x_i - x_j + columns - 1, h]",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} + w_{(\Delta y + R - 1)(2 W - 1) + \Delta x + W - 1,\,h}, \quad R \;\text{rows},\; W \;\text{columns})",
     .pitfall =
         "the index counts query minus key and rows first; a table for another window has to be resampled",
     .year = 2021,
     .relative = true,
     .options = image_window_options(
         {{.name = "distances",
           .help = "signed, as in Swin; or absolute: up is as down and left as right, as in LeViT",
           .standard = "signed",
           .words = {"signed", "absolute"}},
          {.name = "class",
           .help = "three more biases for a class token, which has the row -1, as in BEiT",
           .standard = "off",
           .words = {"off", "on"}},
          {.name = "layers",
           .help = "a table for each layer, or one for all layers, as in BEiT's pretraining",
           .standard = "own",
           .words = {"own", "one"}}})});

}  // namespace gnomon
