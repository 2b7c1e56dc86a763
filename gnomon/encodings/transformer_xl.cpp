// Transformer-XL. Dai et al. 2019, https://arxiv.org/abs/1901.02860, section 3.3; Hugging Face transformers,
// modeling_transfo_xl.py, RelPartialLearnableMultiHeadAttn.
//
//   s[h,i,j] = [(q_i + u_h)·k_j + (q_i + v_h)·(W_R,h r_δ)]/√D
//   r_δ = [sin(δ·w) ; cos(δ·w)],  w_n = 10000^(−2n/C),  δ = min(p_i − p_j, clamp) (clamp=0: no limit)
//   layout=interleaved: sin and cos on channels 2n and 2n+1, as in Conformer (Hugging Face transformers,
//   modeling_wav2vec2_conformer.py, Wav2Vec2ConformerRelPositionalEmbedding)
//   frequencies=tensor2tensor: w_n = 10000^(−n/(C/2 − 1)); biases=off: no u and no v. With both and a band of keys,
//   window(size=13, after=1), the audio towers of Gemma 3n and Gemma 4 (modeling_gemma3n.py,
//   Gemma3nAudioRelativePositionEmbedding; modeling_gemma4.py, Gemma4AudioRelPositionalEncoding). Their soft cap, the scale
//   of each channel of q, and Gemma 4's factor of k are the block's.
//
// Acts on the logits and on cross. Parameters: u, v (H,D), W_R (H·D, C), each layer its own.
#include <algorithm>
#include <cmath>

#include "gnomon/core/parallel.h"
#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/matmul.h"

namespace gnomon {
namespace {

class TransformerXl final : public Encoding, public BiasPart, public CrossPart {
 public:
  TransformerXl(const Options& options, const Shape& shape)
      : Encoding(shape),
        clamp_(options.number("clamp")),
        interleaved_(options.word("layout") == "interleaved"),
        biased_(options.word("biases") == "on") {
    const bool tensor2tensor = options.word("frequencies") == "tensor2tensor";
    const double last = std::max<double>(double(half() - 1), 1);
    for (std::int64_t n = 0; n < half(); ++n)
      frequencies_.push_back(
          std::pow(10000.0, tensor2tensor ? -double(n) / last : -2.0 * double(n) / double(shape.C)));
  }
  bool per_layer() const override { return true; }
  unsigned reads() const override { return biased_ ? unsigned(kReadsRows) : 0; }
  std::vector<ParamSpec> params() const override {
    std::vector<ParamSpec> all;
    if (biased_) {
      all.push_back({"content_bias", {shape_.H, shape_.D}, 0, 0.02, false});
      all.push_back({"position_bias", {shape_.H, shape_.D}, 0, 0.02, false});
    }
    all.push_back({"weight", {shape_.H * shape_.D, shape_.C}, 0, 1 / std::sqrt(double(shape_.C)), true});
    return all;
  }

  double bias(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    if (!biased_) return 0;
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
    if (biased_) make_over_distances(t, t.by_distance, H, 1);
    make_over_distances(t, t.query_cross, H, D);
    const Scratch x = waves(t);
    Scratch r(R * HD);
    linear({R, shape_.C, HD, shape_.C, HD}, x.data(), b.w + weights(), nullptr, r.data());
    const float root = 1 / std::sqrt(float(D));
    parallel_for(H * R, [&](std::int64_t at) {
      const float* turned = &r[at % R * HD + at / R * D];
      for (std::int64_t d = 0; d < D; ++d) t.query_cross[at * D + d] += root * turned[d];
      if (!biased_) return;
      const float* v = b.w + biases() + at / R * D;
      float sum = 0;
      for (std::int64_t d = 0; d < D; ++d) sum += v[d] * (root * turned[d]);
      t.by_distance[at] += sum;
    });
    if (!biased_) return;
    const Content& content = *b.content;
    t.by_key.resize(content.B * H * content.T);
    each_key(content, [&](std::int64_t at, std::int64_t place, std::int64_t hd) {
      float sum = 0;
      for (std::int64_t d = 0; d < D; ++d) sum += root * b.w[hd + d] * content.k[place + d];
      t.by_key[at] += sum;
    });
  }
  void lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const override {
    const std::int64_t H = shape_.H, D = shape_.D, R = g.distances, HD = H * D, C = shape_.C;
    const Scratch x = waves(g);
    Scratch r(R * HD), dr(R * HD), dx(R * C);
    linear({R, C, HD, C, HD}, x.data(), b.w + weights(), nullptr, r.data());
    const float root = 1 / std::sqrt(float(D));
    parallel_for(H, [&](std::int64_t h) {
      for (std::int64_t n = 0; n < R; ++n) {
        for (std::int64_t d = 0; d < D; ++d)
          dr[n * HD + h * D + d] = root * g.query_cross[(h * R + n) * D + d];
      }
      if (!biased_) return;
      std::vector<double> dv(static_cast<std::size_t>(D));
      const float* v = b.w + biases() + h * D;
      for (std::int64_t n = 0; n < R; ++n) {
        const float by_distance = root * g.by_distance[h * R + n];
        for (std::int64_t d = 0; d < D; ++d) {
          dv[std::size_t(d)] += double(by_distance) * r[n * HD + h * D + d];
          dr[n * HD + h * D + d] += by_distance * v[d];
        }
      }
      for (std::int64_t d = 0; d < D; ++d) grad.w[biases() + h * D + d] += float(dv[std::size_t(d)]);
    });
    linear_backward({R, C, HD, C, HD}, x.data(), b.w + weights(), dr.data(),
                    {dx.data(), grad.w + weights(), nullptr});
    if (!biased_) return;
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
  std::int64_t weights() const { return biased_ ? 2 * shape_.H * shape_.D : 0; }
  // Channel n of all heads of W_R·r_δ.
  double turned(const Scene& s, std::int64_t n, double delta) const {
    double r = 0;
    for (std::int64_t c = 0; c < shape_.C; ++c) r += s.w[weights() + n * shape_.C + c] * wave(delta, c);
    return r;
  }
  std::int64_t half() const { return (shape_.C + 1) / 2; }
  double wave(double delta, std::int64_t c) const {
    if (clamp_ > 0) delta = std::min(delta, clamp_);
    const std::int64_t n = interleaved_ ? c / 2 : c % half();
    const bool sine = interleaved_ ? c % 2 == 0 : c < half();
    return sine ? std::sin(delta * frequencies_[n]) : std::cos(delta * frequencies_[n]);
  }
  Scratch waves(const Terms& t) const {
    Scratch x(t.distances * shape_.C);
    parallel_for(t.distances, [&](std::int64_t n) {
      for (std::int64_t c = 0; c < shape_.C; ++c)
        x[n * shape_.C + c] = float(wave(double(t.first_distance + n), c));
    });
    return x;
  }
  // f(index into by_key, offset of the row of k, offset of the head in u), heads at the same time
  template <class Body>
  void each_key(const Content& content, const Body& f) const {
    const RowLayout& at = content.heads;
    parallel_for(shape_.H, [&](std::int64_t h) {
      for (std::int64_t n = 0; n < content.B * content.T; ++n) {
        const std::int64_t batch = n / content.T, t = n % content.T;
        f((batch * shape_.H + h) * content.T + t, batch * at.batch + t * at.token + h * at.head,
          h * shape_.D);
      }
    });
  }
  const double clamp_;
  const bool interleaved_, biased_;
  std::vector<double> frequencies_;
};

}  // namespace

extern const Entry transformer_xl_entry;
const Entry transformer_xl_entry = entry<TransformerXl>(
    {.name = "transformer_xl",
     .aliases = {"txl", "xlnet", "conformer", "rel_pos"},
     .title = "Transformer-XL: projected sinusoids of the distance and two biases",
     .paper = "https://arxiv.org/abs/1901.02860",
     .formula = "s = [(q_i + u)*k_j + (q_i + v)*W_R r_(i-j)]/sqrt(D)",
     .latex = R"(s_{ij} = \frac{(q_i + u) \cdot k_j + (q_i + v) \cdot W_R\, r_{i-j}}{\sqrt{D}})",
     .pitfall =
         "the relative-shift trick leaves garbage above the diagonal; R runs from L-1 down to 0; "
         "Conformer's sines are interleaved, Transformer-XL's are not; a caller's scale applies to q*k "
         "only, not to the other terms",
     .year = 2019,
     .relative = true,
     .extrapolates = true,
     .options = {
         {.name = "clamp",
          .help = "largest distance in tokens; 0 = no limit",
          .standard = "0",
          .least = 0,
          .most = 1000000000.0,
          .whole = true},
         {.name = "layout",
          .help = "order of the sinusoid's channels: [sin sin cos cos], or [sin cos sin cos] in Conformer",
          .standard = "halves",
          .words = {"halves", "interleaved"},
          .word_aliases = {{"adjacent", "interleaved"}, {"half", "halves"}}},
         {.name = "frequencies",
          .help = "exponent of the frequencies: -2n/C, or -n/(C/2-1) in Gemma's audio towers",
          .standard = "paper",
          .words = {"paper", "tensor2tensor"},
          .word_aliases = {{"t2t", "tensor2tensor"}}},
         {.name = "biases",
          .help = "the two biases u and v; off in Gemma's audio towers",
          .standard = "on",
          .words = {"on", "off"}}}});

}  // namespace gnomon
