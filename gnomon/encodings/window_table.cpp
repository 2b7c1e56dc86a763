// The bias of a window of an image, a table over the distance down and across. Liu et al. 2021 (Swin Transformer),
// https://arxiv.org/abs/2103.14030, equation 4; timm, models/swin_transformer.py, get_relative_position_index.
//
//   s[h,i,j] = q_i·k_j/√D + w[(y_i − y_j + rows − 1)·(2·columns − 1) + x_i − x_j + columns − 1, h]
//   class=on: three entries more, after those. A token whose row is −1 is the class token, which stands nowhere:
//             the first where it is the query alone, the second where it is the key alone, the third where it is both
//
// The class token is BEiT's (Bao et al. 2021, https://arxiv.org/abs/2106.08254; timm, models/beit.py,
// gen_relative_position_index). Hugging Face's BEiT resamples its table in every call and takes rows for columns there: of a
// window that is no square it reads other numbers. A shifted window adds a mask and no other bias.
//
// Tokens with one coordinate stand row by row on the window. A sequence with coordinates farther apart than the window is an
// error. Acts on the logits. Parameters: table w ((2·rows − 1)(2·columns − 1), H), each layer its own, or one for all
// (BEiT while it is pretrained).
#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class WindowTable final : public Encoding, public BiasPart {
 public:
  WindowTable(const Options& options, const Shape& shape)
      : Encoding(shape),
        rows_(options.whole("rows")),
        grid_{2, options.whole("columns")},
        class_(options.word("class") == "on"),
        own_(options.word("layers") == "own") {}
  std::int64_t axes() const override { return grid_.axes; }
  bool per_layer() const override { return own_; }
  std::optional<std::int64_t> positions_end() const override { return rows_ * grid_.columns; }
  std::vector<ParamSpec> params() const override {
    return {{"table", {places() + (class_ ? 3 : 0), shape_.H}, 0, 0.02, false}};
  }

  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const bool from_class = is_class(s.positions, i), to_class = is_class(s.positions, j);
    if (from_class || to_class)
      return s.w[(places() + (from_class && to_class ? 2 : from_class ? 0 : 1)) * shape_.H + h];
    const double down = coordinate(s.positions, i, 0, grid_) - coordinate(s.positions, j, 0, grid_),
                 across = coordinate(s.positions, i, 1, grid_) - coordinate(s.positions, j, 1, grid_);
    const auto row = std::int64_t(down) + rows_ - 1, column = std::int64_t(across) + grid_.columns - 1;
    return s.w[(row * stride() + column) * shape_.H + h];
  }

  void lower(const Batch& b, Terms& t) const override {
    const std::int64_t count = entries();
    t.code_ranges.push_back({first(), count});
    t.by_code.assign(std::size_t(shape_.H * count), 0.0f);
    each_entry([&](std::int64_t entry, std::int64_t row) {
      for (std::int64_t h = 0; h < shape_.H; ++h) t.by_code[h * count + entry] = b.w[row * shape_.H + h];
    });
    for (std::int64_t row = 0; row < b.positions.rows; ++row) add_codes(b.positions.row(row), t);
  }
  void lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const override {
    each_entry([&](std::int64_t entry, std::int64_t row) {
      for (std::int64_t h = 0; h < shape_.H; ++h)
        grad.w[row * shape_.H + h] += g.by_code[h * entries() + entry];
    });
  }

 private:
  std::int64_t stride() const { return 2 * grid_.columns - 1; }
  std::int64_t places() const { return (2 * rows_ - 1) * stride(); }
  bool is_class(const Positions& p, std::int64_t t) const {
    return class_ && coordinate(p, t, 0, grid_) == -1;
  }

  // Codes of tokens of the window are 0..m, whose differences are −m..m. The class token has another code as a query than as a
  // key, so that its differences are their own:
  //   as the key alone −2m − 1..−m − 1, with itself m + 1, as the query alone 2m + 2..3m + 2
  std::int64_t most() const { return (places() - 1) / 2; }
  std::int64_t first() const { return class_ ? -2 * most() - 1 : -most(); }
  std::int64_t entries() const { return class_ ? 5 * most() + 4 : places(); }
  // f(entry of the kernel's table, row of w)
  template <class Body>
  void each_entry(const Body& f) const {
    for (std::int64_t entry = 0; entry < entries(); ++entry) {
      const std::int64_t difference = entry + first(), m = most();
      if (std::abs(difference) <= m) f(entry, difference + m);
      if (difference < -m) f(entry, places() + 1);
      if (difference == m + 1) f(entry, places() + 2);
      if (difference > 2 * m + 1) f(entry, places());
    }
  }

  // The least coordinate on an axis of a sequence without its class tokens; throws if the others do not fit.
  double origin(const Positions& p, std::int64_t axis, std::int64_t extent) const {
    double least = INFINITY, last = -INFINITY;
    for (std::int64_t t = 0; t < p.T(); ++t) {
      if (is_class(p, t)) continue;
      const double x = coordinate(p, t, axis, grid_);
      if (x != std::floor(x))
        throw Error(Fault::usage,
                    text("window_table: found the coordinate ", shortest(x), "; allowed are whole numbers"));
      least = std::min(least, x), last = std::max(last, x);
    }
    if (last - least < double(extent) || last < least) return least;
    throw Error(Fault::usage,
                text("window_table: ", axis == 0 ? "rows " : "columns ", shortest(least), " to ",
                     shortest(last), " of a sequence; allowed are ", extent, " in a row"));
  }
  void add_codes(const Positions& p, Terms& t) const {
    const double y = origin(p, 0, rows_), x = origin(p, 1, grid_.columns);
    for (std::int64_t n = 0; n < p.T(); ++n) {
      const double code =
          (coordinate(p, n, 0, grid_) - y) * double(stride()) + coordinate(p, n, 1, grid_) - x;
      t.code_of_query.push_back(is_class(p, n) ? double(3 * most() + 2) : code);
      t.code_of_key.push_back(is_class(p, n) ? double(2 * most() + 1) : code);
    }
  }

  const std::int64_t rows_;
  const Grid grid_;
  const bool class_, own_;
};

}  // namespace

extern const Entry window_table_entry;
const Entry window_table_entry = entry<WindowTable>(
    {.name = "window_table",
     .aliases = {"swin", "beit", "relative_position_bias_table"},
     .title = "Swin's window table: a bias for each distance down and across",
     .paper = "https://arxiv.org/abs/2103.14030",
     .formula = "s = q*k/sqrt(D) + w[(y_i - y_j + rows - 1)*(2*columns - 1) + x_i - x_j + columns - 1, h]",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j}{\sqrt{D}} + w_{(\Delta y + R - 1)(2 W - 1) + \Delta x + W - 1,\,h}, \quad R \;\text{rows},\; W \;\text{columns})",
     .pitfall =
         "the index counts query minus key and rows first; a table for another window has to be resampled",
     .year = 2021,
     .relative = true,
     .options = {{.name = "rows",
                  .help = "rows of the window",
                  .standard = "256",
                  .least = 1,
                  .most = 1024,
                  .whole = true},
                 {.name = "columns",
                  .help = "columns of the window",
                  .standard = "16",
                  .least = 1,
                  .most = 1024,
                  .whole = true},
                 {.name = "class",
                  .help = "three more biases for a class token, which has the row -1, as in BEiT",
                  .standard = "off",
                  .words = {"off", "on"}},
                 {.name = "layers",
                  .help = "a table for each layer, or one for all layers, as in BEiT's pretraining",
                  .standard = "own",
                  .words = {"own", "one"}}}});

}  // namespace gnomon
