// Data-dependent ALiBi for each row. x-transformers, x_transformers.py, PerRowDataDependentAlibi, after Lin et al. 2025,
// https://openreview.net/forum?id=q2Lnyegkr8.
//
//   s[h,i,j] = q_i·k_j/√D + Σ_{l=j..i−1} ln σ(a_hi·b_hl/√w),   a = A·x, b = B·x of `width` w channels a head
//
// Every query has its own gates, so the sum is no difference of running sums: rows. For causal masks. Acts on q and k
// (channels beside) and on rows. Parameters: A, B (H·width, C), each layer its own.
#include <cmath>

#include "gnomon/encodings/rows.h"

namespace gnomon {
namespace {

class DataAlibi final : public Encoding {
 public:
  DataAlibi(const Options& options, const Shape& shape) : Encoding(shape), width_(options.whole("width")) {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsInput; }
  std::vector<ParamSpec> params() const override {
    const double deviation = 1 / std::sqrt(double(shape_.C));
    return {{"query.weight", {shape_.H * width_, shape_.C}, 0, deviation, true},
            {"key.weight", {shape_.H * width_, shape_.C}, 0, deviation, true}};
  }
  Widths widths() const override { return {0, width_}; }

  double logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    double sum = 0;
    for (std::int64_t l = j; l < i; ++l) {
      double z = 0;
      for (std::int64_t n = 0; n < width_; ++n)
        z += project(s.w.data(), Role::q, h, n, &s.x[i * shape_.C]) *
             project(s.w.data(), Role::k, h, n, &s.x[l * shape_.C]);
      sum -= softplus(-z / std::sqrt(double(width_)));
    }
    return plain_logit(s, h, i, j) + sum;
  }
  // a of queries and b of keys, beside the product.
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override {
    const Content& content = *b.content;
    for (const Role role : {Role::q, Role::k}) {
      Widen wide{own.beside, width_, Floats(content.B * content.T * shape_.H * width_)};
      for (std::int64_t n = 0; n < std::int64_t(wide.columns.size()); ++n) {
        const std::int64_t c = n % width_, h = n / width_ % shape_.H, token = n / width_ / shape_.H;
        wide.columns[n] = float(project(b.w, role, h, c, content.x.row(token)));
      }
      steps.push_back({unsigned(role), std::move(wide), true});
    }
  }
  void map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    for (const Role role : {Role::q, Role::k}) {
      const Floats& columns = std::get<Widen>(dsteps[role == Role::q ? 0 : 1].what).columns;
      for (std::int64_t n = 0; n < std::int64_t(columns.size()); ++n) {
        const std::int64_t c = n % width_, h = n / width_ % shape_.H, token = n / width_ / shape_.H;
        const float* x = b.content->x.row(token);
        float* dx = grad.content->x.row(token);
        const std::int64_t weights = offset(role, h, c);
        for (std::int64_t i = 0; i < shape_.C; ++i)
          grad.w[weights + i] += columns[n] * x[i], dx[i] += columns[n] * b.w[weights + i];
      }
    }
  }
  std::shared_ptr<const RowRule> rule(const Batch&, const OwnChannels& own) const override {
    return std::make_shared<Rule>(own.beside, width_);
  }

 private:
  std::int64_t offset(Role role, std::int64_t h, std::int64_t c) const {
    return ((role == Role::k ? shape_.H * width_ : 0) + h * width_ + c) * shape_.C;
  }
  template <class W, class X>
  double project(const W* w, Role role, std::int64_t h, std::int64_t c, const X* x) const {
    double sum = 0;
    for (std::int64_t k = 0; k < shape_.C; ++k) sum += double(w[offset(role, h, c) + k]) * double(x[k]);
    return sum;
  }
  class Rule final : public RowRule {
   public:
    Rule(std::int64_t beside, std::int64_t width) : beside_(beside), width_(width) {}
    void forward(const QueryRow& query, LogitRows s) const override {
      for (std::int64_t h = 0; h < query.H; ++h) {
        double sum = 0;
        for (std::int64_t j = query.end; j-- > query.first;) {
          if (j < query.at) sum -= softplus(-gate(query, h, j));
          s.head(h)[j] += float(sum);
        }
      }
    }
    // A gate counts for every key at or before it.
    void backward(const QueryRow& query, LogitRows, LogitRows ds, const RuleGrad& grad) const override {
      const float root = float(1 / std::sqrt(double(width_)));
      for (std::int64_t h = 0; h < query.H; ++h) {
        const float* a = query.query_head(h) + beside_;
        float* da = grad.dq.row(h) + beside_;
        double sum = 0;
        for (std::int64_t j = query.first; j < std::min(query.at, query.end); ++j) {
          sum += ds.head(h)[j];
          const float d = root * float(sum * sigmoid(-gate(query, h, j)));
          const float* b = query.key_head(h, j) + beside_;
          float* db = grad.key_head(h, j) + beside_;
          for (std::int64_t c = 0; c < width_; ++c) da[c] += d * b[c], db[c] += d * a[c];
        }
      }
    }

   private:
    double gate(const QueryRow& query, std::int64_t h, std::int64_t j) const {
      const float *a = query.query_head(h) + beside_, *b = query.key_head(h, j) + beside_;
      double z = 0;
      for (std::int64_t c = 0; c < width_; ++c) z += double(a[c]) * b[c];
      return z / std::sqrt(double(width_));
    }
    const std::int64_t beside_, width_;
  };
  const std::int64_t width_;
};

}  // namespace

extern const Entry data_alibi_entry;
const Entry data_alibi_entry = {.name = "data_alibi",
                                .title = "Data-dependent ALiBi: every query has its own forget gates",
                                .paper = "https://github.com/lucidrains/x-transformers",
                                .formula = "s = q*k/sqrt(D) + sum_{l=j..i-1} ln sigmoid(a_i*b_l/sqrt(w))",
                                .pitfall = "quadratic, causal only",
                                .year = 2024,
                                .acts = kQk | kRows,
                                .relative = true,
                                .causal_only = true,
                                .options = {{.name = "width",
                                             .help = "channels of the gates",
                                             .standard = "8",
                                             .least = 1,
                                             .most = 256,
                                             .whole = true}},
                                .make = [](const Options& options, const Shape& shape) {
                                  return std::make_unique<DataAlibi>(options, shape);
                                }};

}  // namespace gnomon
