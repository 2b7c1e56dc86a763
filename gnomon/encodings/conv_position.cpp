// Convolutional position embedding. Baevski, Zhou, Mohamed, Auli 2020 (wav2vec 2.0), https://arxiv.org/abs/2006.11477,
// section 2; Hugging Face transformers, modeling_wav2vec2.py, Wav2Vec2PositionalConvEmbedding, and modeling_hubert.py.
//
//   e_t = gelu(b + Σ_k W_k·x_{t+k−⌊K/2⌋}),   k = 0..K−1,   W_k (C,C) of `groups` blocks on the diagonal
//   W_k = g_k·V_k/‖V_k‖,   ‖V_k‖ over all channels: torch's weight_norm with dim=2
//   in a causal model: x_{t+k−K+1}, so the window ends at the token, as in the decoder of the convolutional positions that
//   wav2vec 2.0 takes up: Mohamed, Okhonko, Zettlemoyer 2019, https://arxiv.org/abs/1904.11660, section 2
//
// x are the word vectors. Outside the sequence and of padding they are 0; so they are outside the document, where positions
// rise from each token to the next. gelu is that by the error function. wav2vec 2.0 adds e to x as it is: add(conv_position,
// scale=off). HuBERT's variant with a BatchNorm in place of the weight norm is not here. Acts on the input. Parameters: V (C,
// C/groups, K), gain g (K), bias b (C). transformers sets g to ‖V‖ as drawn, here it starts as the mean of that.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/pointwise.h"

namespace gnomon {
namespace {

// Tokens whose windows are laid out at a time, which bounds the memory.
constexpr std::int64_t kChunk = 128;
// Taps of a window that are summed in float32.
constexpr std::int64_t kTaps = 16;

class ConvPosition final : public Encoding, public InputPart {
 public:
  ConvPosition(const Options& options, const Shape& shape)
      : Encoding(shape),
        K_(options.whole("kernel")),
        groups_(options.whole("groups") ? options.whole("groups") : std::gcd(std::int64_t{16}, shape.C)),
        before_(shape.causal ? K_ - 1 : K_ / 2) {
    if (shape.C % groups_) {
      throw Error(Fault::usage, text("conv_position: found groups=", groups_, " for ", shape.C,
                                     " channels; allowed are divisors of them"));
    }
  }
  unsigned reads() const override { return kReadsInput; }
  std::vector<ParamSpec> params() const override {
    const double C = double(shape_.C), deviation = 2 / std::sqrt(double(K_) * C);
    return {{"weight", {shape_.C, width(), K_}, 0, deviation, true},
            {"gain", {K_}, deviation * std::sqrt(C * double(width())), 0, false},
            {"bias", {shape_.C}, 0, 0, false}};
  }

  double input(const Scene& s, std::int64_t t, std::int64_t c) const override {
    double z = s.w[std::size_t(bias() + c)];
    for (std::int64_t k = 0; k < K_; ++k) {
      const std::int64_t from = t + k - before_;
      if (!together(s.positions, t, from)) continue;
      double square = 0, sum = 0;
      for (std::int64_t n = 0; n < gain() / K_; ++n) square += s.w[n * K_ + k] * s.w[n * K_ + k];
      for (std::int64_t n = 0; n < width(); ++n)
        sum += s.w[(c * width() + n) * K_ + k] * s.x[from * shape_.C + c / width() * width() + n];
      z += s.w[gain() + k] / std::sqrt(square) * sum;
    }
    return 0.5 * z * (1 + std::erf(z / std::numbers::sqrt2));
  }
  void input(const Batch& b, float* e) const override {
    const Floats weight = weights(b.w);
    before_gelu(b, weight, e);
    activate(Activation::gelu, b.tokens() * shape_.C, e, e);
  }
  void input_backward(const Batch& b, const float* de, const BatchGrad& grad) const override {
    const std::int64_t numbers = b.tokens() * shape_.C;
    const Floats weight = weights(b.w);
    Floats z(static_cast<std::size_t>(numbers)), dz(z.size()), dweight(weight.size());
    before_gelu(b, weight, z.data());
    activate_backward(Activation::gelu, numbers, z.data(), de, dz.data());
    Scratch windows(std::size_t(kChunk * of_window())), dwindows(windows.size());
    each_chunk(b, [&](std::int64_t first, std::int64_t tokens, std::int64_t group) {
      const std::int64_t at = first * shape_.C + group * width();
      gather(b, first, tokens, group, windows.data());
      linear_backward(
          shape_of(tokens), windows.data(), &weight[group * width() * of_window()], &dz[at],
          {dwindows.data(), &dweight[group * width() * of_window()], grad.w + bias() + group * width()});
      scatter(b, first, tokens, group, dwindows.data(), grad.content->x);
    });
    weights_backward(b.w, dweight, grad.w);
  }

 private:
  std::int64_t width() const { return shape_.C / groups_; }      // channels of a group
  std::int64_t of_window() const { return K_ * width(); }        // numbers of a window of a group
  std::int64_t gain() const { return shape_.C * width() * K_; }  // offsets of the parameters
  std::int64_t bias() const { return gain() + K_; }
  Linear shape_of(std::int64_t tokens) const { return {tokens, of_window(), width(), of_window(), shape_.C}; }

  // Whether the window of token t of a sequence reaches token `from`: it exists, and positions rise between them.
  static bool together(const Positions& p, std::int64_t t, std::int64_t from) {
    const std::int64_t first = t / p.T() * p.T();
    if (from < first || from >= first + p.T()) return false;
    for (std::int64_t n = std::min(t, from); n < std::max(t, from); ++n) {
      if (!(p[n] < p[n + 1])) return false;
    }
    return true;
  }
  // The taps of token t that exist: k in [begin, end).
  struct Taps {
    std::int64_t begin, end;
  };
  Taps taps_of(const Positions& p, std::int64_t t) const {
    Taps k{before_, before_};
    const std::int64_t first = t / p.T() * p.T(), last = first + p.T() - 1;
    while (k.begin > 0 && t - (before_ - k.begin) > first &&
           p[t - (before_ - k.begin) - 1] < p[t - (before_ - k.begin)])
      --k.begin;
    while (k.end + 1 < K_ && t + (k.end - before_) < last &&
           p[t + (k.end - before_)] < p[t + (k.end - before_) + 1])
      ++k.end;
    return {k.begin, k.end + 1};
  }

  // f(first token, tokens, group)
  template <class Body>
  void each_chunk(const Batch& b, const Body& f) const {
    for (std::int64_t first = 0; first < b.tokens(); first += kChunk) {
      for (std::int64_t group = 0; group < groups_; ++group)
        f(first, std::min(kChunk, b.tokens() - first), group);
    }
  }
  // Windows (tokens, K, width) of a group: 0 where there is no token. And their gradient, added to that of x.
  void gather(const Batch& b, std::int64_t first, std::int64_t tokens, std::int64_t group,
              float* windows) const {
    const auto& x = b.content->x;
    std::fill_n(windows, tokens * of_window(), 0.0f);
    for (std::int64_t t = first; t < first + tokens; ++t, windows += of_window()) {
      const Taps taps = taps_of(b.positions, t);
      for (std::int64_t k = taps.begin; k < taps.end; ++k)
        std::copy_n(x.data + (t + k - before_) * x.step + group * width(), width(), windows + k * width());
    }
  }
  void scatter(const Batch& b, std::int64_t first, std::int64_t tokens, std::int64_t group,
               const float* dwindows, const Strided<float>& dx) const {
    for (std::int64_t t = first; t < first + tokens; ++t, dwindows += of_window()) {
      const Taps taps = taps_of(b.positions, t);
      for (std::int64_t k = taps.begin; k < taps.end; ++k) {
        float* to = dx.data + (t + k - before_) * dx.step + group * width();
        for (std::int64_t n = 0; n < width(); ++n) to[n] += dwindows[k * width() + n];
      }
    }
  }
  // Sums of a few taps in float32, those of a window in double.
  void before_gelu(const Batch& b, const Floats& weight, float* z) const {
    Scratch windows(std::size_t(kChunk * of_window())), part(std::size_t(kChunk * width()));
    std::vector<double> sums(part.size());
    each_chunk(b, [&](std::int64_t first, std::int64_t tokens, std::int64_t group) {
      gather(b, first, tokens, group, windows.data());
      for (std::int64_t n = 0; n < tokens * width(); ++n)
        sums[std::size_t(n)] = b.w[bias() + group * width() + n % width()];
      for (std::int64_t k = 0; k < K_; k += kTaps) {
        const std::int64_t numbers = std::min(kTaps, K_ - k) * width();
        matmul({.M = tokens,
                .N = width(),
                .K = numbers,
                .b_op = Op::transposed,
                .lda = of_window(),
                .ldb = of_window()},
               windows.data() + k * width(), &weight[group * width() * of_window() + k * width()],
               part.data());
        for (std::int64_t n = 0; n < tokens * width(); ++n) sums[std::size_t(n)] += double(part[n]);
      }
      for (std::int64_t n = 0; n < tokens * width(); ++n)
        z[(first + n / width()) * shape_.C + group * width() + n % width()] = float(sums[std::size_t(n)]);
    });
  }

  // ‖V_k‖ of all k.
  std::vector<double> norms(const float* w) const {
    std::vector<double> all(std::size_t(K_), 0.0);
    for (std::int64_t n = 0; n < gain(); ++n) all[std::size_t(n % K_)] += double(w[n]) * double(w[n]);
    for (double& x : all) x = std::sqrt(x);
    return all;
  }
  // W (C, K, width): the rows of a group's matrix.
  std::int64_t at(std::int64_t n) const {  // of number n of V (C, width, K)
    return n / (width() * K_) * of_window() + n % K_ * width() + n / K_ % width();
  }
  Floats weights(const float* w) const {
    const auto norm = norms(w);
    Floats all(static_cast<std::size_t>(gain()));
    for (std::int64_t n = 0; n < gain(); ++n)
      all[at(n)] = float(double(w[gain() + n % K_]) / norm[std::size_t(n % K_)] * double(w[n]));
    return all;
  }
  // With u = V/‖V‖ and W = g·u: dg = dW·u, dV = (dW − (dW·u)·u)·g/‖V‖.
  void weights_backward(const float* w, const Floats& dweight, float* dw) const {
    const auto norm = norms(w);
    std::vector<double> along(std::size_t(K_), 0.0);
    for (std::int64_t n = 0; n < gain(); ++n)
      along[std::size_t(n % K_)] += double(dweight[at(n)]) * double(w[n]) / norm[std::size_t(n % K_)];
    for (std::int64_t n = 0; n < gain(); ++n) {
      const auto k = std::size_t(n % K_);
      dw[n] += float((double(dweight[at(n)]) - along[k] * double(w[n]) / norm[k]) *
                     double(w[gain() + n % K_]) / norm[k]);
    }
    for (std::int64_t k = 0; k < K_; ++k) dw[gain() + k] += float(along[std::size_t(k)]);
  }

  const std::int64_t K_, groups_, before_;
};

}  // namespace

extern const Entry conv_position_entry;
const Entry conv_position_entry = entry<ConvPosition>(
    {.name = "conv_position",
     .aliases = {"wav2vec2", "hubert", "convolutional", "conv_pos"},
     .title = "Convolutional position embedding: a grouped convolution of the word vectors",
     .paper = "https://arxiv.org/abs/2006.11477",
     .formula = "e_t = gelu(b + sum_k W_k*x_(t+k-K/2)), W_k = g_k*V_k/|V_k|",
     .latex =
         R"(e_t = \mathrm{gelu}\Big(b + \sum_k W_k\, x_{t + k - \lfloor K/2 \rfloor}\Big), \quad W_k = g_k \frac{V_k}{\lVert V_k \rVert})",
     .pitfall = "an even kernel reads one token more before than after; the weights have one norm for each "
                "place in the window",
     .year = 2020,
     .relative = true,
     .options = {{.name = "kernel",
                  .help = "window in tokens",
                  .standard = "128",
                  .least = 1,
                  .most = 4096,
                  .whole = true,
                  .aliases = {"num_conv_pos_embeddings"}},
                 {.name = "groups",
                  .help = "groups of channels; 0 = 16, or their greatest common divisor with the width",
                  .standard = "0",
                  .least = 0,
                  .most = 65536,
                  .whole = true,
                  .aliases = {"num_conv_pos_embedding_groups"}}}});

}  // namespace gnomon
