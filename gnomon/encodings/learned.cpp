// A learned table of absolute positions. Gehring et al. 2017, https://arxiv.org/abs/1705.03122, section 3.1;
// the positions of BERT and GPT-2.
//
//   e[p,c] = w[p,c]
//
// A position without a row is an error: there is no value beyond the table, and clamping would invent one.
// Acts on the input. Parameters: table w (length, C), normal with the given deviation.
#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {

class Learned final : public Encoding, public InputPart {
 public:
  Learned(const Options& options, const Shape& shape)
      : Encoding(shape),
        rows_(options.whole("length") ? options.whole("length") : shape.length),
        deviation_(options.number("deviation")) {}

  std::vector<ParamSpec> params() const override {
    return {{"table", {rows_, shape_.C}, 0, deviation_, false}};
  }
  std::optional<std::int64_t> positions_end() const override { return rows_; }

  double input(const Scene& s, std::int64_t t, std::int64_t c) const override {
    return s.w[row(s.positions[t]) * shape_.C + c];
  }
  void input(const Batch& b, float* e) const override {
    for (std::int64_t t = 0; t < b.tokens(); ++t)
      std::copy_n(b.w + row(b.positions[t]) * shape_.C, shape_.C, e + t * shape_.C);
  }
  void input_backward(const Batch& b, const float* de, const BatchGrad& grad) const override {
    for (std::int64_t t = 0; t < b.tokens(); ++t) {
      float* to = grad.w + row(b.positions[t]) * shape_.C;
      for (std::int64_t c = 0; c < shape_.C; ++c) to[c] += de[t * shape_.C + c];
    }
  }

 private:
  std::int64_t row(double position) const { return whole_position("learned", position, rows_); }
  const std::int64_t rows_;
  const double deviation_;
};

}  // namespace

extern const Entry learned_entry;
const Entry learned_entry = entry<Learned>(
    {.name = "learned",
     .aliases = {"absolute", "ape", "learnable", "table", "gpt2", "bert", "wpe"},
     .title = "Learned table of absolute positions",
     .paper = "https://arxiv.org/abs/1705.03122",
     .formula = "e[p] = w[p]",
     .latex = R"(e_p = w_p)",
     .pitfall = "positions beyond the table have no vector; RoBERTa, OPT and BART start at row 2",
     .year = 2017,
     .relative = false,
     .options = {{.name = "length",
                  .help = "number of rows in the table; 0 = the training window",
                  .standard = "0",
                  .least = 0,
                  .most = 1 << 24,
                  .whole = true},
                 {.name = "deviation",
                  .help = "standard deviation of the initial values",
                  .standard = "0.02",
                  .least = 0,
                  .most = 1e3}}});

}  // namespace gnomon
