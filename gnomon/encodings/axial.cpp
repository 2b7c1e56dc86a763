// Axial position embeddings. Kitaev, Kaiser, Levskaya 2020 (Reformer), https://arxiv.org/abs/2001.04451; Hugging Face
// transformers, modeling_reformer.py, AxialPositionEmbeddings.
//
//   e[p] = [E1[r] ; E2[c]],   p = r·columns + c,   E1 (rows, C1), E2 (columns, C2), C1 = ⌊C/2⌋, C2 = C − C1
//
// rows·columns positions from rows + columns vectors. Acts on the input. Parameters: rows E1, columns E2, normal with
// the given deviation. A place off the grid is an error.
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Axial final : public Encoding, public InputPart {
 public:
  Axial(const Options& options, const Shape& shape)
      : Encoding(shape),
        grid_{2, options.whole("columns")},
        rows_(options.whole("rows") ? options.whole("rows")
                                    : (shape.length + grid_.columns - 1) / grid_.columns),
        first_(shape.C / 2),
        deviation_(options.number("deviation")) {}
  std::vector<ParamSpec> params() const override {
    return {{"rows", {rows_, first_}, 0, deviation_, false},
            {"columns", {grid_.columns, shape_.C - first_}, 0, deviation_, false}};
  }
  std::optional<std::int64_t> positions_end() const override { return rows_ * grid_.columns; }

  double input(const Scene& s, std::int64_t t, std::int64_t c) const override {
    return s.w[index(s.positions, t, c)];
  }
  void input(const Batch& b, float* e) const override {
    for (std::int64_t n = 0; n < b.tokens() * shape_.C; ++n)
      e[n] = b.w[index(b.positions, n / shape_.C, n % shape_.C)];
  }
  void input_backward(const Batch& b, const float* de, const BatchGrad& grad) const override {
    for (std::int64_t n = 0; n < b.tokens() * shape_.C; ++n)
      grad.w[index(b.positions, n / shape_.C, n % shape_.C)] += de[n];
  }

 private:
  std::int64_t index(const Positions& p, std::int64_t t, std::int64_t c) const {
    if (c < first_) return whole_position("axial, rows", coordinate(p, t, 0, grid_), rows_) * first_ + c;
    return rows_ * first_ +
           whole_position("axial, columns", coordinate(p, t, 1, grid_), grid_.columns) * (shape_.C - first_) +
           c - first_;
  }
  const Grid grid_;
  const std::int64_t rows_, first_;
  const double deviation_;
};

}  // namespace

extern const Entry axial_entry;
const Entry axial_entry =
    entry<Axial>({.name = "axial",
                  .aliases = {"reformer"},
                  .title = "Axial table: a vector for the row concatenated with a vector for the column",
                  .paper = "https://arxiv.org/abs/2001.04451",
                  .formula = "e[p] = [E1[r] ; E2[c]], p = r*columns + c",
                  .latex = R"(e_p = [E^{(1)}_a\,;\, E^{(2)}_c], \quad p = a \cdot \mathrm{columns} + c)",
                  .pitfall = "the last token of a row and the first token of the next row share no vector; "
                             "rows*columns must be at least the training length",
                  .year = 2020,
                  .relative = false,

                  .options = {{.name = "columns",
                               .help = "columns of the grid",
                               .standard = "16",
                               .least = 1,
                               .most = 1 << 20,
                               .whole = true},
                              {.name = "rows",
                               .help = "rows of the grid; 0 = as many as the training window needs",
                               .standard = "0",
                               .least = 0,
                               .most = 1 << 20,
                               .whole = true},
                              {.name = "deviation",
                               .help = "standard deviation of the initial values",
                               .standard = "0.02",
                               .least = 0,
                               .most = 1e3}}});

}  // namespace gnomon
