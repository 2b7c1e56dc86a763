// An attention mixture of word and position: every token attends to its two sources.
//
//   h_t = a_x·V_x x'_t + a_e·V_e e_t,   (a_x, a_e) = softmax((Q c_t)·(K_x x'_t)/√d, (Q c_t)·(K_e e_t)/√d),   x' = s·x
//   query=word: c_t = x'_t     query=context: c_t is the mean of x' over the tokens up to t (causal) or over all
//   start=half: Q starts at 0, so that training begins with a_x = a_e = 1/2
//
// Each source projects its own key and value. Attention over the sources of one token: Bahdanau-style mixtures, as in
// Kiela, Wang, Cho 2018, https://arxiv.org/abs/1804.07983 (dynamic meta-embeddings). It can drop a source; with a_x = a_e =
// 1/2 it is a sum with separate linear maps. Parameters: Q, K_x, K_e, V_x, V_e (d,d). Padding counts in the context.
#include <algorithm>
#include <cmath>

#include "gnomon/kernels/matmul.h"
#include "gnomon/spec/combination.h"

namespace gnomon {
namespace {

class Mixture final : public Combination {
 public:
  Mixture(const Options& options, const Shape& shape)
      : Combination(shape.C),
        scale_(options.word("scale") == "on" ? std::sqrt(double(d)) : 1.0),
        context_(options.word("query") == "context"),
        half_(options.word("start") == "half"),
        causal_(shape.causal) {}
  std::vector<ParamSpec> params() const override {
    const double deviation = 1 / std::sqrt(double(d));
    std::vector<ParamSpec> all;
    for (const char* name : {"query", "word.key", "position.key", "word.value", "position.value"})
      all.push_back({name, {d, d}, 0, half_ && all.empty() ? 0 : deviation, true});
    return all;
  }

  double at(const Joining& s, std::int64_t t, std::int64_t c) const override {
    std::vector<double> ask(std::size_t(d), 0.0);
    const std::int64_t first = context_ ? 0 : t, last = context_ && !causal_ ? s.T - 1 : t;
    for (std::int64_t u = first; u <= last; ++u) {
      for (std::int64_t k = 0; k < d; ++k) ask[k] += scale_ * s.x[u * d + k] / double(last - first + 1);
    }
    double score_x = 0, score_e = 0, value_x = 0, value_e = 0;
    for (std::int64_t r = 0; r < d; ++r) {
      double q = 0, key_x = 0, key_e = 0;
      for (std::int64_t k = 0; k < d; ++k) {
        const double x = scale_ * s.x[t * d + k], e = s.e[t * d + k];
        q += s.w[r * d + k] * ask[k];
        key_x += s.w[(d + r) * d + k] * x, key_e += s.w[(2 * d + r) * d + k] * e;
        if (r == 0) value_x += s.w[(3 * d + c) * d + k] * x, value_e += s.w[(4 * d + c) * d + k] * e;
      }
      score_x += q * key_x, score_e += q * key_e;
    }
    const double a = 1 / (1 + std::exp((score_e - score_x) / std::sqrt(double(d))));
    return a * value_x + (1 - a) * value_e;
  }
  void forward(const Words& words, Strided<float> h) const override {
    const Pass p = run(words);
    for (std::int64_t n = 0; n < words.B * words.T; ++n) {
      for (std::int64_t c = 0; c < d; ++c)
        h.row(n)[c] = p.a[n] * p.value_x[n * d + c] + (1 - p.a[n]) * p.value_e[n * d + c];
    }
  }
  void backward(const Words& words, Strided<const float> dh, const WordsGrad& grad) const override {
    const std::int64_t N = words.B * words.T;
    const Pass p = run(words);
    const float root = 1 / std::sqrt(float(d));
    Scratch dq(N * d), dkey_x(N * d), dkey_e(N * d), dvalue_x(N * d), dvalue_e(N * d);
    for (std::int64_t n = 0; n < N; ++n) {
      float da = 0;
      for (std::int64_t c = 0; c < d; ++c) {
        const std::int64_t at = n * d + c;
        const float g = dh.row(n)[c];
        da += g * (p.value_x[at] - p.value_e[at]);
        dvalue_x[at] = p.a[n] * g, dvalue_e[at] = (1 - p.a[n]) * g;
      }
      const float ds = da * p.a[n] * (1 - p.a[n]) * root;
      for (std::int64_t c = 0; c < d; ++c) {
        const std::int64_t at = n * d + c;
        dq[at] = ds * (p.key_x[at] - p.key_e[at]);
        dkey_x[at] = ds * p.q[at], dkey_e[at] = -ds * p.q[at];
      }
    }
    Scratch dask(N * d), dx(N * d), de(N * d), more(N * d);
    const auto back = [&](const Scratch& x, std::int64_t which, const Scratch& dy, Scratch& to) {
      linear_backward({N, d, d, d, d}, x.data(), words.w + which * d * d, dy.data(),
                      {to.data(), grad.dw + which * d * d, nullptr});
    };
    const auto add_more = [&](Scratch& to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
    };
    back(p.ask, 0, dq, dask);
    back(p.x, 1, dkey_x, dx), back(p.x, 3, dvalue_x, more), add_more(dx);
    back(p.e, 2, dkey_e, de), back(p.e, 4, dvalue_e, more), add_more(de);
    spread_context(words, dask, dx);
    std::fill_n(grad.de, words.e_rows * words.T * d, 0.0f);
    for (std::int64_t n = 0; n < N; ++n) {
      for (std::int64_t c = 0; c < d; ++c) {
        grad.dx.row(n)[c] = float(scale_) * dx[n * d + c];
        grad.de[words.place(n) * d + c] += de[n * d + c];
      }
    }
  }

 private:
  struct Pass {
    Scratch x, e, ask, q, key_x, key_e, value_x, value_e, a;
  };
  Pass run(const Words& words) const {
    const std::int64_t N = words.B * words.T;
    Pass p;
    for (Scratch* rows : {&p.x, &p.e, &p.ask, &p.q, &p.key_x, &p.key_e, &p.value_x, &p.value_e})
      rows->resize(N * d);
    for (std::int64_t n = 0; n < N; ++n) {
      for (std::int64_t c = 0; c < d; ++c) p.x[n * d + c] = float(scale_) * words.x.row(n)[c];
      std::copy_n(words.e + words.place(n) * d, d, &p.e[n * d]);
    }
    gather_context(words, p.x, p.ask);
    const auto map = [&](const Scratch& x, std::int64_t which, Scratch& y) {
      linear({N, d, d, d, d}, x.data(), words.w + which * d * d, nullptr, y.data());
    };
    map(p.ask, 0, p.q), map(p.x, 1, p.key_x), map(p.e, 2, p.key_e), map(p.x, 3, p.value_x),
        map(p.e, 4, p.value_e);
    p.a.resize(N);
    for (std::int64_t n = 0; n < N; ++n) {
      float difference = 0;
      for (std::int64_t c = 0; c < d; ++c)
        difference += p.q[n * d + c] * (p.key_x[n * d + c] - p.key_e[n * d + c]);
      p.a[n] = 1 / (1 + std::exp(-difference / std::sqrt(float(d))));
    }
    return p;
  }
  void gather_context(const Words& words, const Scratch& x, Scratch& ask) const {
    if (!context_) return void(ask = x);
    for (std::int64_t b = 0; b < words.B; ++b) {
      std::vector<double> sum(std::size_t(d), 0.0);
      for (std::int64_t t = 0; t < words.T; ++t) {
        const std::int64_t row = (b * words.T + t) * d;
        for (std::int64_t c = 0; c < d; ++c) ask[row + c] = float((sum[c] += x[row + c]) / double(t + 1));
      }
      for (std::int64_t t = 0; !causal_ && t < words.T; ++t) {
        for (std::int64_t c = 0; c < d; ++c) ask[(b * words.T + t) * d + c] = float(sum[c] / double(words.T));
      }
    }
  }
  // dx += what the means pass back.
  void spread_context(const Words& words, const Scratch& dask, Scratch& dx) const {
    for (std::int64_t b = 0; b < words.B; ++b) {
      std::vector<double> sum(std::size_t(d), 0.0);
      const auto divisor = [&](std::int64_t t) {
        return !context_ ? 1.0 : causal_ ? double(t + 1) : double(words.T);
      };
      for (std::int64_t pass = context_ && !causal_ ? 0 : 1; pass < 2; ++pass) {
        for (std::int64_t t = words.T; t-- > 0;) {
          const std::int64_t row = (b * words.T + t) * d;
          for (std::int64_t c = 0; c < d; ++c) {
            if (!context_) sum[c] = 0;
            if (pass == 0 || !context_ || causal_) sum[c] += dask[row + c] / divisor(t);
            if (pass == 1) dx[row + c] += float(sum[c]);
          }
        }
      }
    }
  }
  const double scale_;
  const bool context_, half_, causal_;
};

}  // namespace

extern const CombinationEntry mixture_combination;
const CombinationEntry mixture_combination = {
    .name = "mixture",
    .aliases = {"mix"},
    .title = "Attention over the word and the position of a token, each with its own key and value",
    .paper = "https://arxiv.org/abs/1804.07983",
    .formula = "h = a_x*V_x x + a_e*V_e e, a = softmax of query times keys",
    .needs_position = true,
    .options = {{.name = "query",
                 .help = "source of the query: the word, or the mean of the words so far",
                 .standard = "word",
                 .words = {"word", "context"}},
                {.name = "start",
                 .help = "half: training begins with equal weights of word and position",
                 .standard = "random",
                 .words = {"random", "half"}},
                {.name = "scale",
                 .help = "multiply the word vector by sqrt(d)",
                 .standard = "on",
                 .words = {"on", "off"}}},
    .make = [](const Options& options, const Shape& shape) {
      return std::make_unique<Mixture>(options, shape);
    }};

}  // namespace gnomon
