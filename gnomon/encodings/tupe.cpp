// TUPE: untied positional encoding. Ke, He, Liu 2021, https://arxiv.org/abs/2006.15595, equations 7 to 11; the authors' fairseq
// modules, transformer_sentence_encoder.py.
//
//   s[h,i,j] = (q_i·k_j + (p_i U_q)·(p_j U_k))/√(2D) + b_h[bucket(i − j)],   p = LayerNorm(table)
//   (with 1e-5 beside the variance, as in the authors' fairseq)
//   cls=reset: in the row of position 0 the position part (all but q·k) is θ1_h, in its column θ2_h
//
// Words and positions have their own projections and never meet (those of positions have biases in the authors' code, and none here); q·k too is divided by √(2D). Acts on q and k (the
// product is wider by D, and by 2 for the reset) and on the logits. Parameters: table (length, C), its LayerNorm, U_q, U_k (H·D, C), θ1, θ2 (H), b (buckets,
// H), one for all layers.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/distance_bias.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/norm.h"

namespace gnomon {
namespace {

class Tupe final : public Encoding, public MapPart, public BiasPart {
 public:
  Tupe(const Options& options, const Shape& shape)
      : Encoding(shape),
        length_(options.whole("length") ? options.whole("length") : shape.length),
        buckets_{options.whole("buckets"), options.whole("distance"), shape.causal},
        reset_(options.word("cls") == "reset") {
    check_buckets("tupe", buckets_);
  }
  std::optional<std::int64_t> positions_end() const override { return length_; }
  std::vector<ParamSpec> params() const override {
    const std::int64_t C = shape_.C, HD = shape_.H * shape_.D;
    const double deviation = 1 / std::sqrt(double(C));
    return {{"table", {length_, C}, 0, 0.02, false},
            {"norm.gain", {C}, 1, 0, false},
            {"norm.bias", {C}, 0, 0, false},
            {"query.weight", {HD, C}, 0, deviation, true},
            {"key.weight", {HD, C}, 0, deviation, true},
            {"from_first", {shape_.H}, 0, 0, false},
            {"to_first", {shape_.H}, 0, 0, false},
            {"bias", {buckets_.count, shape_.H}, 0, deviation, false}};
  }
  bool keeps_keys() const override { return true; }
  Widths widths() const override { return {shape_.D + 2, 0}; }

  double content_scale() const override { return 1 / std::sqrt(2.0); }
  // Words and positions never meet: the rows of the definition stay, and the wider product of the fast path is one number.
  void map_row(const Scene&, Role, std::int64_t, std::int64_t, std::vector<double>&) const override {}
  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double* w = s.w.data();
    if (reset_ && s.positions[i] == 0) return w[first() + h];
    if (reset_ && s.positions[j] == 0) return w[first() + shape_.H + h];
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d)
      sum += projected(w, queries(), s.positions[i], h * shape_.D + d) *
             projected(w, keys(), s.positions[j], h * shape_.D + d);
    return sum / std::sqrt(2.0 * double(shape_.D)) +
           w[table() + t5_bucket(buckets_, s.positions[i] - s.positions[j]) * shape_.H + h];
  }
  void lower(const Batch& b, Terms& t) const override {
    add_by_distance(t, shape_.H, [&](std::int64_t h, std::int64_t delta) {
      return b.w[table() + t5_bucket(buckets_, double(delta)) * shape_.H + h];
    });
  }
  void lower_backward(const Batch&, const Terms& g, const BatchGrad& grad) const override {
    for (std::int64_t n = 0; n < shape_.H * g.distances; ++n) {
      const double delta = double(g.first_distance + n % g.distances);
      grad.w[table() + t5_bucket(buckets_, delta) * shape_.H + n / g.distances] += g.by_distance[n];
    }
  }
  // The product is divided by √(2D): so channel D of q, which is read by the key at position 0, holds what has to
  // take the place of the bias there, times √(2D); channel D+1 does the same for the query at position 0.
  void map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const override {
    const std::int64_t D = shape_.D, H = shape_.H, width = D + 2;
    const float root = std::sqrt(2.0f * float(D));
    for (const Role role : {Role::q, Role::k}) {
      const Projected p = project(b, role);
      Widen wide{own.joined, width, H, Floats(b.tokens() * H * width)};
      for (std::int64_t n = 0; n < b.tokens() * H; ++n) {
        const std::int64_t t = n / H, h = n % H;
        const bool first_token = b.positions[t] == 0, at_first = reset_ && first_token;
        float* to = &wide.columns[n * width];
        for (std::int64_t d = 0; d < D; ++d) to[d] = at_first ? 0 : p.rows[n * D + d];
        if (role == Role::q) {
          const float own_root = first_token ? 0.0f : root;
          to[D] = own_root * (b.w[first() + H + h] - b.w[bias_index(b.positions[t], h)]);
          to[D + 1] = at_first ? root : 0;
        } else {
          to[D] = at_first;
          to[D + 1] = b.w[first() + h] - b.w[bias_index(-b.positions[t], h)];
        }
      }
      steps.push_back({unsigned(role), std::move(wide), true});
    }
  }
  void map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                    const BatchGrad& grad) const override {
    const std::int64_t D = shape_.D, H = shape_.H, width = D + 2;
    const float root = std::sqrt(2.0f * float(D));
    for (const Role role : {Role::q, Role::k}) {
      const Floats& columns = std::get<Widen>(dsteps[role == Role::q ? 0 : 1].what).columns;
      Scratch drows(b.tokens() * H * D);
      for (std::int64_t n = 0; n < b.tokens() * H; ++n) {
        const std::int64_t t = n / H, h = n % H;
        const bool at_first = reset_ && b.positions[t] == 0;
        const float* d = &columns[n * width];
        for (std::int64_t c = 0; c < D; ++c) drows[n * D + c] = at_first ? 0.0f : d[c];
        if (role == Role::q && b.positions[t] != 0) {
          grad.w[first() + H + h] += root * d[D];
          grad.w[bias_index(b.positions[t], h)] -= root * d[D];
        } else if (role == Role::k) {
          grad.w[first() + h] += d[D + 1];
          grad.w[bias_index(-b.positions[t], h)] -= d[D + 1];
        }
      }
      project_backward(b, role, drows, grad);
    }
  }

 private:
  std::int64_t gain() const { return length_ * shape_.C; }
  std::int64_t queries() const { return gain() + 2 * shape_.C; }
  std::int64_t keys() const { return queries() + shape_.H * shape_.D * shape_.C; }
  std::int64_t first() const { return keys() + shape_.H * shape_.D * shape_.C; }  // θ1, then θ2
  std::int64_t table() const { return first() + 2 * shape_.H; }
  std::int64_t bias_index(double delta, std::int64_t h) const {
    return table() + t5_bucket(buckets_, delta) * shape_.H + h;
  }
  double projected(const double* w, std::int64_t weights, double position, std::int64_t channel) const {
    const std::int64_t C = shape_.C;
    const double* p = w + whole_position("tupe", position, length_) * C;
    double mean = 0, squares = 0, sum = 0;
    for (std::int64_t c = 0; c < C; ++c) mean += p[c] / double(C);
    for (std::int64_t c = 0; c < C; ++c) squares += (p[c] - mean) * (p[c] - mean) / double(C);
    for (std::int64_t c = 0; c < C; ++c)
      sum += w[weights + channel * C + c] *
             ((p[c] - mean) / std::sqrt(squares + 1e-5) * w[gain() + c] + w[gain() + C + c]);
    return sum;
  }
  struct Projected {
    Scratch table, normal, statistics, rows;  // of the tokens: (tokens,C) twice, (tokens,2), (tokens,H·D)
  };
  Projected project(const Batch& b, Role role) const {
    const std::int64_t C = shape_.C, n = b.tokens(), HD = shape_.H * shape_.D;
    Projected p;
    p.table.resize(n * C), p.normal.resize(n * C), p.statistics.resize(2 * n), p.rows.resize(n * HD);
    for (std::int64_t t = 0; t < n; ++t)
      std::copy_n(b.w + whole_position("tupe", b.positions[t], length_) * C, C, &p.table[t * C]);
    normalise({Norm::layer, n, C, C}, p.table.data(), b.w + gain(), b.w + gain() + C, p.normal.data(),
              p.statistics.data());
    linear({n, C, HD, C, HD}, p.normal.data(), b.w + (role == Role::q ? queries() : keys()), nullptr,
           p.rows.data());
    return p;
  }
  void project_backward(const Batch& b, Role role, const Scratch& drows, const BatchGrad& grad) const {
    const std::int64_t C = shape_.C, n = b.tokens(), HD = shape_.H * shape_.D;
    const Projected p = project(b, role);
    const std::int64_t weights = role == Role::q ? queries() : keys();
    Scratch dnormal(n * C);
    Floats dtable(n * C);
    linear_backward({n, C, HD, C, HD}, p.normal.data(), b.w + weights, drows.data(),
                    {dnormal.data(), grad.w + weights, nullptr});
    normalise_backward({Norm::layer, n, C, C}, p.table.data(), b.w + gain(), p.statistics.data(),
                       dnormal.data(), {dtable.data(), grad.w + gain(), grad.w + gain() + C});
    for (std::int64_t t = 0; t < n; ++t) {
      float* to = grad.w + whole_position("tupe", b.positions[t], length_) * C;
      for (std::int64_t c = 0; c < C; ++c) to[c] += dtable[t * C + c];
    }
  }
  const std::int64_t length_;
  const Buckets buckets_;
  const bool reset_;
};

}  // namespace

extern const Entry tupe_entry;
const Entry tupe_entry = entry<Tupe>(
    {.name = "tupe",
     .title = "TUPE: separate projections for words and positions",
     .paper = "https://arxiv.org/abs/2006.15595",
     .formula = "s = (q*k + (p_i U_q)*(p_j U_k))/sqrt(2D) + b_h[bucket(i - j)]",
     .latex =
         R"(s_{ij} = \frac{q_i \cdot k_j + (p_i U_q) \cdot (p_j U_k)}{\sqrt{2D}} + b_{h,\mathrm{bucket}(i - j)})",
     .pitfall =
         "the content term is divided by sqrt(2D) too; the authors' code adds biases to the projections of "
         "positions",
     .year = 2021,
     .relative = false,
     .options = {{.name = "length",
                  .help = "number of rows in the table; 0 = the training window",
                  .standard = "0",
                  .least = 0,
                  .most = 1 << 20,
                  .whole = true},
                 bucket_count_option(),
                 bucket_distance_option(),
                 {.name = "cls",
                  .help = "reset: position 0 is [CLS] and gets learned position terms of its own",
                  .standard = "reset",
                  .words = {"reset", "off"}}}});

}  // namespace gnomon
