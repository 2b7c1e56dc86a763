// CoPE: contextual position encoding. Golovneva, Wang, Weston, Sukhbaatar 2024, https://arxiv.org/abs/2405.18719, equations 3
// to 6 and appendix B.
//
//   g_iu = σ(q_i·k_u/√D),   P_ij = min(Σ_{u=j..i} g_iu, positions − 1)
//   s[h,i,j] = q_i·k_j/√D + (1 − f)·q_i·e[⌊P⌋] + f·q_i·e[⌊P⌋ + 1],   f = P − ⌊P⌋
//
// The position of a key is how many keys before it the query counted. For causal masks. Acts on rows: a row's logits make
// its own positions. The gradient flows through the gate and the fraction. Parameters: e (positions, D), shared by the
// heads, each layer its own; 0 at the start.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

class Cope final : public Encoding {
 public:
  Cope(const Options& options, const Shape& shape) : Encoding(shape), count_(options.whole("positions")) {}
  bool per_layer() const override { return true; }
  std::vector<ParamSpec> params() const override { return {{"table", {count_, shape_.D}, 0, 0, false}}; }

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    double place = 0;
    for (std::int64_t u = j; u <= i; ++u) place += sigmoid(plain_logit(s, h, i, u));
    if (std::isnan(place)) return place;
    place = std::min(place, double(count_ - 1));
    const std::int64_t low = std::int64_t(place), high = std::min(low + 1, count_ - 1);
    const double f = place - double(low), *q = &s.q[(h * s.T() + i) * shape_.D];
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d)
      sum += q[d] * ((1 - f) * s.w[low * shape_.D + d] + f * s.w[high * shape_.D + d]);
    return plain_logit(s, h, i, j) + sum;
  }
  std::shared_ptr<const RowRule> rule(const Batch& b, const OwnChannels&) const override {
    return std::make_shared<Rule>(b.w, count_, shape_.D);
  }

 private:
  class Rule final : public RowRule {
   public:
    Rule(const float* w, std::int64_t count, std::int64_t D) : w_(w), count_(count), D_(D) {}
    std::int64_t param_count() const override { return count_ * D_; }
    void forward(const QueryRow& query, LogitRows s) const override {
      for (std::int64_t h = 0; h < query.H; ++h) {
        const auto read = readings(query, h);
        float* row = s.head(h);
        double sum = 0;
        for (std::int64_t j = query.end; j-- > query.first;) {
          sum += gate(row[j]);
          const Place at = place_of(sum);
          row[j] += (1 - at.f) * read[at.low] + at.f * read[at.high];
        }
      }
    }
    void backward(const QueryRow& query, LogitRows before, LogitRows ds,
                  const RuleGrad& grad) const override {
      std::vector<float> dread(count_), dplace(query.end);
      for (std::int64_t h = 0; h < query.H; ++h) {
        const auto read = readings(query, h);
        const float* row = before.head(h);
        float* d = ds.head(h);
        std::fill(dread.begin(), dread.end(), 0.0f);
        double sum = 0;
        for (std::int64_t j = query.end; j-- > query.first;) {
          sum += gate(row[j]);
          const Place at = place_of(sum);
          dread[at.low] += (1 - at.f) * d[j], dread[at.high] += at.f * d[j];
          if (std::isnan(at.f)) std::fill(dread.begin(), dread.end(), at.f);  // any row might be the one
          dplace[j] = sum >= double(count_ - 1) ? 0.0f : d[j] * (read[at.high] - read[at.low]);
        }
        double dsum = 0;  // a gate counts for every key before it
        for (std::int64_t j = query.first; j < query.end; ++j) {
          dsum += dplace[j];
          const float g = gate(row[j]);
          d[j] += float(dsum) * g * (1 - g);
        }
        const float* q = query.query_head(h);
        float* dq = grad.dq.row(h);
        for (std::int64_t p = 0; p < count_; ++p) {
          for (std::int64_t c = 0; c < D_; ++c)
            dq[c] += dread[p] * w_[p * D_ + c], grad.dw[p * D_ + c] += dread[p] * q[c];
        }
      }
    }

   private:
    struct Place {
      std::int64_t low, high;
      float f;
    };
    Place place_of(double sum) const {
      if (std::isnan(sum)) return {0, 0, float(sum)};  // no place: what is read there is NaN
      const double place = std::min(sum, double(count_ - 1));
      const std::int64_t low = std::int64_t(place);
      return {low, std::min(low + 1, count_ - 1), float(place - double(low))};
    }
    static float gate(float s) { return 1 / (1 + std::exp(-s)); }
    std::vector<float> readings(const QueryRow& query, std::int64_t h) const {
      std::vector<float> read(count_);
      const float* q = query.query_head(h);
      for (std::int64_t p = 0; p < count_; ++p) {
        for (std::int64_t c = 0; c < D_; ++c) read[p] += q[c] * w_[p * D_ + c];
      }
      return read;
    }
    const float* w_;
    const std::int64_t count_, D_;
  };
  const std::int64_t count_;
};

}  // namespace

extern const Entry cope_entry;
const Entry cope_entry = {
    .name = "cope",
    .title = "Contextual position encoding: positions counted by gates",
    .paper = "https://arxiv.org/abs/2405.18719",
    .formula = "P_ij = sum_{u=j..i} sigmoid(q_i*k_u/sqrt(D)); s += lerp(q_i*e[floor P], q_i*e[ceil P])",
    .pitfall = "the mask comes before the gate; the gradient flows through the gate and the fraction",
    .year = 2024,
    .acts = kRows,
    .relative = true,
    .causal_only = true,
    .extrapolates = true,
    .options = {{.name = "positions",
                 .help = "rows of the table",
                 .standard = "64",
                 .least = 2,
                 .most = 1 << 20,
                 .whole = true}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Cope>(options, shape);
    }};

}  // namespace gnomon
