// Transformer-XL. Dai et al. 2019, https://arxiv.org/abs/1901.02860, section 3.3; Hugging Face transformers,
// modeling_transfo_xl.py, RelPartialLearnableMultiHeadAttn.
//
//   s[h,i,j] = [(q_i + u_h)·k_j + (q_i + v_h)·(W_R,h r_δ)]/√D
//   r_δ = [sin(δ·w) ; cos(δ·w)],  w_n = 10000^(−2n/C),  δ = min(p_i − p_j, clamp) (clamp=0: no limit)
//
// Acts on the logits and on cross. Parameters: u, v (H,D), W_R (H·D, C), each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/matmul.h"

namespace gnomon {
namespace {

class TransformerXl final : public Encoding, public BiasPart, public CrossPart {
 public:
  TransformerXl(const Options& options, const Shape& shape)
      : Encoding(shape), clamp_(options.number("clamp")) {}
  bool per_layer() const override { return true; }
  unsigned reads() const override { return kReadsRows; }
  std::vector<ParamSpec> params() const override {
    return {{"content_bias", {shape_.H, shape_.D}, 0, 0.02, false},
            {"position_bias", {shape_.H, shape_.D}, 0, 0.02, false},
            {"weight", {shape_.H * shape_.D, shape_.C}, 0, 1 / std::sqrt(double(shape_.C)), true}};
  }

  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double *k = &s.k[(h * s.T() + j) * shape_.D], delta = s.positions[i] - s.positions[j];
    double sum = 0;
    for (std::int64_t d = 0, n = h * shape_.D; d < shape_.D; ++d, ++n)
      sum += s.w[n] * k[d] + s.w[biases() + n] * turned(s, n, delta);
    return sum / std::sqrt(double(shape_.D));
  }
  double cross(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    const double *q = &s.q[(h * s.T() + i) * shape_.D], delta = s.positions[i] - s.positions[j];
    double sum = 0;
    for (std::int64_t d = 0; d < shape_.D; ++d) sum += q[d] * turned(s, h * shape_.D + d, delta);
    return sum / std::sqrt(double(shape_.D));
  }
  void lower(const Batch& b, Terms& t) const override {
    const std::int64_t H = shape_.H, D = shape_.D, R = t.distances, HD = H * D;
    make_over_distances(t, t.by_distance, H, 1);
    make_over_distances(t, t.query_cross, H, D);
    const Scratch x = waves(t);
    Scratch r(R * HD);
    linear({R, shape_.C, HD, shape_.C, HD}, x.data(), b.w + weights(), nullptr, r.data());
    const float root = 1 / std::sqrt(float(D));
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t n = 0; n < R; ++n) {
        for (std::int64_t d = 0; d < D; ++d) {
          const float turned = root * r[n * HD + h * D + d];
          t.query_cross[(h * R + n) * D + d] += turned;
          t.by_distance[h * R + n] += b.w[biases() + h * D + d] * turned;
        }
      }
    }
    const Content& content = *b.content;
    t.by_key.resize(content.B * H * content.T);
    each_key(content, [&](std::int64_t at, std::int64_t place, std::int64_t hd) {
      for (std::int64_t d = 0; d < D; ++d) t.by_key[at] += root * b.w[hd + d] * content.k[place + d];
    });
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    const std::int64_t H = shape_.H, D = shape_.D, R = g.distances, HD = H * D, C = shape_.C;
    const Scratch x = waves(g);
    Scratch r(R * HD), dr(R * HD), dx(R * C);
    linear({R, C, HD, C, HD}, x.data(), b.w + weights(), nullptr, r.data());
    const float root = 1 / std::sqrt(float(D));
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t d = 0; d < D; ++d) {
        double dv = 0;
        for (std::int64_t n = 0; n < R; ++n) {
          const float by_distance = g.by_distance[h * R + n];
          dv += double(root * by_distance) * r[n * HD + h * D + d];
          dr[n * HD + h * D + d] =
              root * (g.query_cross[(h * R + n) * D + d] + by_distance * b.w[biases() + h * D + d]);
        }
        grad.w[biases() + h * D + d] += float(dv);
      }
    }
    linear_backward({R, C, HD, C, HD}, x.data(), b.w + weights(), dr.data(),
                    {dx.data(), grad.w + weights(), nullptr});
    const Content& content = *b.content;
    each_key(content, [&](std::int64_t at, std::int64_t place, std::int64_t hd) {
      for (std::int64_t d = 0; d < D; ++d) {
        grad.w[hd + d] += root * g.by_key[at] * content.k[place + d];
        grad.content->k[place + d] += root * g.by_key[at] * b.w[hd + d];
      }
    });
  }

 private:
  std::int64_t biases() const { return shape_.H * shape_.D; }
  std::int64_t weights() const { return 2 * shape_.H * shape_.D; }
  // Channel n of all heads of W_R·r_δ.
  double turned(const Scene& s, std::int64_t n, double delta) const {
    double r = 0;
    for (std::int64_t c = 0; c < shape_.C; ++c) r += s.w[weights() + n * shape_.C + c] * wave(delta, c);
    return r;
  }
  double wave(double delta, std::int64_t c) const {
    const std::int64_t half = (shape_.C + 1) / 2;
    if (clamp_ > 0) delta = std::min(delta, clamp_);
    const double angle = delta * std::pow(10000.0, -2.0 * double(c % half) / double(shape_.C));
    return c < half ? std::sin(angle) : std::cos(angle);
  }
  Scratch waves(const Terms& t) const {
    Scratch x(t.distances * shape_.C);
    for (std::int64_t n = 0; n < std::int64_t(x.size()); ++n)
      x[n] = float(wave(double(t.first_distance + n / shape_.C), n % shape_.C));
    return x;
  }
  // f(index into by_key, offset of the row of k, offset of the head in u)
  template <class Body>
  void each_key(const Content& content, const Body& f) const {
    const RowLayout& at = content.heads;
    for (std::int64_t n = 0; n < content.B * shape_.H * content.T; ++n) {
      const std::int64_t t = n % content.T, h = n / content.T % shape_.H, batch = n / content.T / shape_.H;
      f(n, batch * at.batch + t * at.token + h * at.head, h * shape_.D);
    }
  }
  const double clamp_;
};

}  // namespace

extern const Entry transformer_xl_entry;
const Entry transformer_xl_entry = entry<TransformerXl>(
    {.name = "transformer_xl",
     .aliases = {"txl", "xlnet"},
     .title = "Transformer-XL: projected sinusoids of the distance and two biases",
     .paper = "https://arxiv.org/abs/1901.02860",
     .formula = "s = [(q_i + u)*k_j + (q_i + v)*W_R r_(i-j)]/sqrt(D)",
     .latex = R"(s_{ij} = \frac{(q_i + u) \cdot k_j + (q_i + v) \cdot W_R\, r_{i-j}}{\sqrt{D}})",
     .pitfall = "the relative-shift trick leaves garbage above the diagonal; R runs from L-1 down to 0; a "
                "caller's scale applies to q*k only, not to the other terms",
     .year = 2019,
     .relative = true,
     .extrapolates = true,
     .options = {{.name = "clamp",
                  .help = "largest distance in tokens; 0 = no limit",
                  .standard = "0",
                  .least = 0,
                  .most = 1000000000.0,
                  .whole = true}}});

}  // namespace gnomon
