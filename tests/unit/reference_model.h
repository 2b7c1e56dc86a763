// The Transformer of nn/model.h once more, slowly and in double, from the definitions of the encodings and
// the combinations alone: the oracle of the model tests. It shares the names of the parameters with the
// model, no code.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "gnomon/encodings/definition.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/nn/model.h"

namespace gnomon {

class ReferenceModel {
 public:
  ReferenceModel(const Model& model, const std::vector<double>& w)
      : model_(model), c_(model.config()), w_(w) {
    position_ = make_position(c_.position, {c_.width, c_.heads, c_.head_size(), c_.length, c_.causal});
  }

  // Mean loss in nats over the scored targets.
  double loss(const Tokens& tokens) const {
    double sum = 0, scored = 0;
    for (std::int64_t b = 0; b < tokens.B; ++b) {
      const auto z = logits(tokens, b);
      for (std::int64_t t = 0; t < tokens.T; ++t) {
        const auto target = tokens.targets[b * tokens.T + t];
        if (target == kUnscored) continue;
        double normaliser = 0;
        for (const double x : z[t]) normaliser += std::exp(x);
        sum += std::log(normaliser) - z[t][target];
        scored += 1;
      }
    }
    return sum / scored;
  }

  using Matrix = std::vector<std::vector<double>>;  // (T, channels)
  Matrix logits(const Tokens& tokens, std::int64_t b) const {
    const std::int64_t T = tokens.T, d = c_.width;
    const Placement place = tokens.placement ? *tokens.placement : Placement::consecutive(0, T);
    const Positions positions = Positions(place).row(b);
    const std::int64_t dw = position_.combination->word_width();
    std::vector<double> words;
    for (std::int64_t t = 0; t < T; ++t) {
      const double* word = at("embed.word") + tokens.inputs[b * T + t] * dw;
      words.insert(words.end(), word, word + dw);
    }
    e_.clear();
    for (std::int64_t n = 0; position_.input && n < T * position_.input->shape().C; ++n) {
      const std::int64_t C = position_.input->shape().C;
      e_.push_back(position_.at_input().input({positions, {}, {}, tail("position.input.")}, n / C, n % C));
    }
    Matrix h(T);
    for (std::int64_t n = 0; n < T * d; ++n)
      h[n / d].push_back(position_.combination->at({words, e_, tail("embed.combination."), T}, n / d, n % d));
    for (std::int64_t l = 0; l < c_.layers; ++l) {
      for (std::int64_t n = 0; injects(Injection::every_layer) && l > 0 && n < T * d; ++n)
        h[n / d][n % d] += e_[n];
      layer(l, positions, tokens, b, h);
    }
    const std::string head = c_.tied ? "embed.word" : "head.weight";
    return times(norm(h, "head.norm."), at(head), nullptr, kVocabulary);
  }

 private:
  const double* at(const std::string& name) const { return w_.data() + model_.param(name).offset; }
  std::span<const double> tail(const std::string& prefix) const {
    for (const auto& p : model_.params()) {
      if (p.spec.name.rfind(prefix, 0) == 0) return std::span(w_).subspan(p.offset);
    }
    return {};
  }
  Matrix times(const Matrix& x, const double* weight, const double* bias, std::int64_t out) const {
    Matrix y(x.size(), std::vector<double>(out));
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::int64_t o = 0; o < out; ++o) {
        y[t][o] = bias ? bias[o] : 0;
        for (std::size_t i = 0; i < x[t].size(); ++i)
          y[t][o] += weight[o * std::int64_t(x[t].size()) + std::int64_t(i)] * x[t][i];
      }
    }
    return y;
  }
  Matrix linear(const Matrix& x, const std::string& name, std::int64_t out) const {
    return times(x, at(name + ".weight"), at(name + ".bias"), out);
  }
  Matrix norm(const Matrix& x, const std::string& name) const {
    Matrix y = x;
    for (auto& row : y) {
      const double n = double(row.size());
      double mean = 0, squares = 0;
      if (c_.norm == Norm::layer) {
        for (const double v : row) mean += v / n;
      }
      for (const double v : row) squares += (v - mean) * (v - mean) / n;
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = (row[i] - mean) / std::sqrt(squares + 1e-5) * at(name + "gain")[i] +
                 (c_.norm == Norm::layer ? at(name + "bias")[i] : 0);
      }
    }
    return y;
  }
  bool injects(Injection where) const {
    return position_.input && position_.combination->injection() == where;
  }
  // The encodings of layer l, with their parameters.
  std::vector<Defined> encodings_of(std::int64_t l) const {
    std::vector<Defined> all;
    for (const std::size_t n : position_.in_layer(l)) {
      const Encoding& e = *position_.attention[n].encoding;
      const std::string prefix = "position.attention." + std::to_string(n) + ".";
      all.push_back({&e, tail(e.per_layer() ? prefix + std::to_string(l) + "." : prefix)});
    }
    return all;
  }
  void layer(std::int64_t l, const Positions& positions, const Tokens& tokens, std::int64_t b,
             Matrix& h) const {
    const std::string name = "layers." + std::to_string(l) + ".";
    const std::int64_t T = tokens.T, d = c_.width, H = c_.heads, D = c_.head_size();
    const Matrix normed = norm(h, name + "attention.norm.");
    Matrix asked = normed;
    for (std::int64_t n = 0; injects(Injection::queries_and_keys) && n < T * d; ++n)
      asked[n / d][n % d] += e_[n];
    const Matrix qk = linear(asked, name + "attention.qkv", 3 * d),
                 values = linear(normed, name + "attention.qkv", 3 * d);
    std::vector<double> q(T * d), k(T * d), v(T * d), x(T * d);
    for (std::int64_t n = 0; n < T * d; ++n) {
      const std::int64_t head = n / (T * D), t = n / D % T, ch = head * D + n % D;
      q[n] = qk[t][ch], k[n] = qk[t][d + ch], v[n] = values[t][2 * d + ch];
      x[n] = asked[n / d][n % d];
    }
    const double *weight = at(name + "attention.qkv.weight"), *bias = at(name + "attention.qkv.bias");
    const Scene scene{positions, q, k, {}, x, v, {weight, weight + d * d, bias, bias + d}};
    const Definition definition({d, H, D, c_.length, c_.causal}, encodings_of(l), scene);
    const std::int32_t* document = nullptr;
    if (tokens.placement && !tokens.placement->document.empty())
      document = &tokens.placement->document[tokens.placement->rows > 1 ? b * T : 0];
    Matrix mixed(T, std::vector<double>(d));
    for (std::int64_t head = 0; head < H; ++head) {
      for (std::int64_t i = 0; i < T; ++i) {
        const auto row = definition.output(head, i, [&](std::int64_t j) {
          return (tokens.padding && tokens.padding[b * T + j]) || (document && document[i] != document[j]);
        });
        std::copy(row.begin(), row.end(), mixed[i].begin() + head * D);
      }
    }
    add(linear(mixed, name + "attention.out", d), h);
    Matrix up = linear(norm(h, name + "feed_forward.norm."), name + "feed_forward.up", c_.feed_forward * d);
    for (auto& row : up) {
      for (double& z : row) z = 0.5 * z * (1 + std::tanh(std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z)));
    }
    add(linear(up, name + "feed_forward.down", d), h);
  }
  static void add(const Matrix& x, Matrix& h) {
    for (std::size_t t = 0; t < h.size(); ++t) {
      for (std::size_t c = 0; c < h[t].size(); ++c) h[t][c] += x[t][c];
    }
  }
  const Model& model_;
  const ModelConfig c_;
  const std::vector<double>& w_;
  Position position_;
  mutable std::vector<double> e_;  // position vectors (T, width) of the sequence at hand
};

}  // namespace gnomon
