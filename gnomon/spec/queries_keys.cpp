// Position in queries and keys alone. Press, Smith, Lewis 2021 (Shortformer), https://arxiv.org/abs/2012.15832, section 5:
// position-infused attention.
//
//   h_0 = s·x;   in every layer q and k are projected from norm(h) + e, v from norm(h)
//
// So no value, and nothing in the residual stream, carries position. s = √d (scale=on) or 1. No parameters of its own.
#include <algorithm>
#include <cmath>

#include "gnomon/core/parallel.h"
#include "gnomon/spec/combination.h"

namespace gnomon {
namespace {

class QueriesKeys final : public Combination {
 public:
  QueriesKeys(const Options& options, const Shape& shape)
      : Combination(shape.C), scale_(options.word("scale") == "on" ? std::sqrt(double(d)) : 1.0) {}
  Injection injection() const override { return Injection::queries_and_keys; }

  double at(const Joining& s, std::int64_t t, std::int64_t c) const override {
    return scale_ * s.x[t * d + c];
  }
  void forward(const Words& words, Strided<float> h) const override {
    parallel_ranges(words.B * words.T, 64, [&](auto begin, auto end) {
      for (auto n = begin; n < end; ++n) {
        for (std::int64_t c = 0; c < d; ++c) h.row(n)[c] = float(scale_) * words.x.row(n)[c];
      }
    });
  }
  void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const override {
    std::fill_n(grad.de, words.e_rows * words.T * d, 0.0f);
    for (std::int64_t n = 0; n < words.B * words.T; ++n) {
      for (std::int64_t c = 0; c < d; ++c) grad.dx.row(n)[c] = float(scale_) * dh.row(n)[c];
    }
  }

 private:
  const double scale_;
};

}  // namespace

extern const CombinationEntry queries_keys_combination;
const CombinationEntry queries_keys_combination = {
    .name = "queries_keys",
    .aliases = {"qk", "query_key"},
    .title = "Position added to the input of the query and key projections, in every layer",
    .paper = "https://arxiv.org/abs/2012.15832",
    .formula = "q, k from norm(h) + e; v from norm(h)",
    .needs_position = true,
    .options = {{.name = "scale",
                 .help = "multiply the word vector by sqrt(d)",
                 .standard = "on",
                 .words = {"on", "off"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<QueriesKeys>(options, shape);
    }};

}  // namespace gnomon
