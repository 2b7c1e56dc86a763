// Stick-breaking attention. Tan et al. 2024, https://arxiv.org/abs/2410.17980, equations 2 to 4.
//
//   β_ij = σ(q_i·k_j/√D),   A_ij = β_ij·Π_{j<u<i} (1 − β_iu),   j < i   (current=on: j ≤ i, u ≤ i)
//
// No softmax follows: a row sums to at most 1, and the first token sees nothing unless current=on. The nearest key breaks
// the stick first; order alone is position. For causal masks. Acts on rows. No parameters. logit() is ln A.
#include <cmath>

#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

class StickBreaking final : public Encoding {
 public:
  StickBreaking(const Options& options, const Shape& shape)
      : Encoding(shape), current_(options.word("current") == "on") {}
  bool softmax() const override { return false; }

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    if (j == i && !current_) return -INFINITY;
    double log = -softplus(-plain_logit(s, h, i, j));
    for (std::int64_t u = j + 1; u < i + current_; ++u) log -= softplus(plain_logit(s, h, i, u));
    return log;
  }
  std::shared_ptr<const RowRule> rule(const Batch&, const OwnChannels&) const override {
    return std::make_shared<Rule>(current_);
  }

 private:
  class Rule final : public RowRule {
   public:
    explicit Rule(bool current) : current_(current) {}
    bool softmax() const override { return false; }
    void forward(const QueryRow& query, LogitRows s) const override {
      for (std::int64_t h = 0; h < query.H; ++h) {
        float* row = s.head(h);
        double left = 0;  // ln of what is left of the stick
        for (std::int64_t j = query.end; j-- > query.first;) {
          const double z = row[j];
          if (j == query.at && !current_) {
            row[j] = -INFINITY;
            continue;
          }
          row[j] = float(left - softplus(-z));
          left -= z == -INFINITY ? 0 : softplus(z);
        }
      }
    }
    // d ln A_j / dz_j = 1 − β_j;  d ln A_l / dz_j = −β_j for the keys l before j
    void backward(const QueryRow& query, LogitRows before, LogitRows ds, const RuleGrad&) const override {
      for (std::int64_t h = 0; h < query.H; ++h) {
        float* d = ds.head(h);
        double sum = 0;
        for (std::int64_t j = query.first; j < query.end; ++j) {
          if (j == query.at && !current_) {
            d[j] = 0;
            continue;
          }
          const double own = d[j], beta = sigmoid(before.head(h)[j]);
          d[j] = float(own * (1 - beta) - beta * sum);
          sum += own;
        }
      }
    }

   private:
    const bool current_;
  };
  const bool current_;
};

}  // namespace

extern const Entry stick_breaking_entry;
const Entry stick_breaking_entry = {
    .name = "stick_breaking",
    .title = "Stick-breaking attention: the nearest key takes its share first",
    .paper = "https://arxiv.org/abs/2410.17980",
    .formula = "A_ij = b_ij*prod_{j<u<i}(1 - b_iu), b = sigmoid(q*k/sqrt(D))",
    .pitfall = "rows sum to less than 1; the product needs logarithms",
    .year = 2024,
    .acts = kRows,
    .relative = true,
    .causal_only = true,
    .extrapolates = true,
    .options = {{.name = "current",
                 .help = "whether a token sees itself",
                 .standard = "off",
                 .words = {"off", "on"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<StickBreaking>(options, shape);
    }};

}  // namespace gnomon
