// The Transformer of nn/model.h once more, slowly and in double, from the definitions of the encodings and
// the combinations alone: the oracle of the model tests. It shares the names of the parameters with the
// model, no code.
#pragma once
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gnomon/encodings/definition.h"
#include "gnomon/encodings/gates.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/nn/session.h"
#include "tests/nn/reference_parts.h"

namespace gnomon {

class ReferenceModel : public ReferenceParts {
 public:
  ReferenceModel(const Model& model, const std::vector<double>& w)
      : ReferenceParts(model, w), scheme_(make_scheme(c_)) {}

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

  // The encoder's rows (B·T, width), instead of those of the tokens.
  std::vector<double> encoder;

  // The rows that the head reads.
  Matrix hidden(const Tokens& tokens, std::int64_t b) const {
    const std::int64_t T = tokens_ = tokens.T, d = c_.width;
    const Placement place = tokens.placement ? *tokens.placement : Placement::consecutive(0, T);
    const Positions positions = Positions(place).row(b);
    const bool widens_words = c_.narrow && c_.narrow->widened == Widened::words;
    const std::int64_t joined = c_.narrow && !widens_words ? c_.narrow->width : d;
    const std::vector<double> words = words_of(tokens, b);
    tell("words", words);
    words_.assign(std::size_t(T), {}), ids_.clear();
    for (std::int64_t t = 0; t < T; ++t) {
      const std::int64_t width = std::int64_t(words.size()) / T;
      words_[std::size_t(t)].assign(words.begin() + t * width, words.begin() + (t + 1) * width);
      ids_.push_back(tokens.inputs[b * T + t]);
    }
    e_.clear();
    std::vector<double> read = words;  // by an input encoding that reads words: padding has none
    for (std::size_t n = 0; n < read.size(); ++n) {
      const std::size_t t = n / (read.size() / std::size_t(T));
      if (tokens.padding && tokens.padding[b * T + std::int64_t(t)]) read[n] = 0;
    }
    for (std::int64_t n = 0; scheme_.input && n < T * scheme_.input->shape().C; ++n) {
      const std::int64_t C = scheme_.input->shape().C;
      e_.push_back(
          scheme_.at_input().input({positions, {}, {}, tail("position.input."), read}, n / C, n % C));
    }
    if (scheme_.input) tell("positions", e_);
    Matrix h(T);
    for (std::int64_t n = 0; n < T * joined; ++n)
      h[n / joined].push_back(
          scheme_.combination->at({words, e_, tail("embed.combination."), T}, n / joined, n % joined));
    for (std::int64_t n = 0; c_.token_types > 0 && n < T * joined; ++n) {
      const std::int64_t type = tokens.types.empty() ? 0 : tokens.types[b * T + n / joined];
      h[n / joined][n % joined] += at("embed.type")[type * joined + n % joined];
    }
    tell("embedded", h);
    if (c_.norm.embedding) h = norm(h, "embed.norm.");
    if (c_.narrow && !widens_words) h = linear(h, "embed.widen", d);
    for (std::int64_t l = 0; l < c_.layers; ++l) {
      for (std::int64_t n = 0; injects(Injection::every_layer) && l > 0 && n < T * d; ++n)
        h[n / d][n % d] += e_[n];
      tell(of_layer(l, "resid_pre"), h);
      layer(l, positions, tokens, b, h);
      tell(of_layer(l, "resid_post"), h);
    }
    if (c_.norm.last) h = norm(h, "head.norm.");
    tell("last", h);
    return h;
  }
  Matrix logits(const Tokens& tokens, std::int64_t b) const {
    Matrix h = hidden(tokens, b);
    if (c_.head.form == HeadForm::transform) {
      h = linear(h, "head.transform", c_.narrow ? c_.narrow->width : c_.width);
      for (auto& row : h) {
        for (double& z : row) z = activation_by_definition(c_.head_activation(), z);
      }
      h = norm(h, "head.transform.norm.");
      tell("transformed", h);
    } else if (c_.narrow) {
      h = linear(h, "head.narrow", c_.narrow->width);
    }
    Matrix z = times(h, at(c_.head.tied ? "embed.word" : "head.weight"), maybe("head.bias"), c_.vocabulary);
    for (auto& row : z) {
      for (double& x : row) x = capped(c_.head.scale * x, c_.head.soft_cap);
    }
    tell("logits", z);
    return z;
  }

 private:
  // Rows of the word table as they are joined.
  std::vector<double> words_of(const Tokens& tokens, std::int64_t b) const {
    const bool widens = c_.narrow && c_.narrow->widened == Widened::words;
    const std::int64_t T = tokens.T, to = scheme_.combination->word_width(),
                       width = widens ? c_.narrow->width : to;
    Matrix rows(T);
    for (std::int64_t n = 0; n < T * width; ++n) {
      const std::int64_t word = tokens.inputs[b * T + n / width];
      rows[n / width].push_back(c_.word_scale * at("embed.word")[word * width + n % width]);
    }
    if (widens) rows = linear(rows, "embed.widen", to);
    std::vector<double> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    return all;
  }
  static std::string of_layer(std::int64_t l, const std::string& name) {
    return "layers." + std::to_string(l) + "." + name;
  }
  // Rows (T, heads·D) as (heads,T,D).
  void tell_heads(const std::string& name, const Matrix& rows) const {
    const std::int64_t D = rule_.head_dim, H = std::int64_t(rows[0].size()) / D;
    std::vector<double> all;
    for (std::int64_t h = 0; h < H; ++h) {
      for (const auto& row : rows) all.insert(all.end(), row.begin() + h * D, row.begin() + (h + 1) * D);
    }
    tell(name, all);
  }
  bool injects(Injection where) const { return scheme_.input && scheme_.combination->injection() == where; }
  // The encodings of layer l, with their parameters.
  std::vector<Defined> encodings_of(std::int64_t l) const {
    std::vector<Defined> all;
    for (const std::size_t n : scheme_.in_layer(l)) {
      const Encoding& e = *scheme_.attention[n].encoding;
      const std::string prefix = "position.attention." + std::to_string(n) + ".";
      all.push_back({&e, tail(e.per_layer() ? prefix + std::to_string(l) + "." : prefix)});
    }
    return all;
  }
  // q, k and v (heads,T,head_dim) of all query heads: k and v as each of them reads them.
  struct Projected {
    std::vector<double> q, k, v;
  };
  void normalise_heads(std::vector<double>& row, const std::string& name, std::int64_t heads) const {
    const std::int64_t D = rule_.head_dim;
    if (c_.norm.qk == QkNorm::none) return;
    const NormForm form = c_.norm.qk_form.value_or(c_.norm.form);
    if (c_.norm.qk == QkNorm::whole) {
      row = norm({row}, name, form)[0];
      return;
    }
    for (std::int64_t h = 0; h < heads; ++h) {
      const Matrix one = norm({{row.begin() + h * D, row.begin() + (h + 1) * D}}, name, form,
                              c_.norm.qk == QkNorm::own ? h * D : 0);
      std::copy(one[0].begin(), one[0].end(), row.begin() + h * D);
    }
  }
  // q, k or v of these rows, with its bias, its norms and its limit.
  Matrix part(const Matrix& from, const std::string& name, char which) const {
    const AttentionRule& a = rule_;
    const std::int64_t first = which == 'q'                         ? 0
                               : which == 'v' && !a.keys_are_values ? a.q_width() + a.kv_width()
                                                                    : a.q_width(),
                       heads = which == 'q' ? a.heads : a.kv_heads;
    const double* whole = maybe(name + "qkv.bias");
    const char matrix = which == 'v' && a.keys_are_values ? 'k' : which;
    const double* bias = whole ? whole + first : maybe(name + matrix + ".bias");
    Matrix rows = times(from, at(name + "qkv.weight") + first * c_.width, bias, heads * a.head_dim);
    for (auto& row : rows) {
      if (which != 'v') normalise_heads(row, name + which + ".norm.", heads);
      if (which == 'v' && c_.norm.values) normalise_values(row);
      for (double& v : row) v = a.clip == 0 ? v : std::min(std::max(v, -a.clip), a.clip);
    }
    tell_heads(name + which, rows);
    return rows;
  }
  void normalise_values(std::vector<double>& row) const {
    for (std::int64_t h = 0; h < rule_.kv_heads; ++h) {
      double squares = 0;
      for (std::int64_t c = 0; c < rule_.head_dim; ++c) squares += std::pow(row[h * rule_.head_dim + c], 2);
      const double size = std::sqrt(squares / double(rule_.head_dim) + c_.norm.epsilon);
      for (std::int64_t c = 0; c < rule_.head_dim; ++c) row[h * rule_.head_dim + c] /= size;
    }
  }
  // Keys or values of layer l: its own, or those that another made.
  Matrix keys_or_values(std::int64_t l, const Matrix& from, const std::string& name, char which) const {
    std::map<std::int64_t, Matrix>& made = which == 'k' ? keys_ : values_;
    if (!rule_.borrows) return made[l] = part(from, name, which);
    const Matrix rows = made.at(c_.keys_of(l));
    tell_heads(name + which, rows);
    return rows;
  }
  Projected project(std::int64_t l, const Matrix& asked, const Matrix& x, const std::string& name) const {
    const AttentionRule& a = rule_;
    const std::int64_t T = std::int64_t(x.size()), D = a.head_dim, group = a.heads / a.kv_heads;
    const Matrix q = part(asked, name, 'q'), k = keys_or_values(l, asked, name, 'k'),
                 v = keys_or_values(l, a.keys_are_values ? asked : x, name, 'v');
    Projected p;
    for (std::int64_t n = 0; n < a.heads * T * D; ++n) {
      const std::int64_t h = n / (T * D), t = n / D % T, own = h * D + n % D, shared = h / group * D + n % D;
      // The scale is in q: the definitions divide by √D themselves.
      p.q.push_back(q[t][own] * (a.scale == 0 ? 1 : a.scale * std::sqrt(double(D))));
      p.k.push_back(k[t][shared]), p.v.push_back(v[t][shared]);
    }
    return p;
  }
  Matrix attention(std::int64_t l, const Positions& positions, const Tokens& tokens, std::int64_t b,
                   const Matrix& normed) const {
    const std::string name = "layers." + std::to_string(l) + ".attention.";
    const AttentionRule& a = rule_;
    const std::int64_t T = tokens.T, d = c_.width, D = a.head_dim;
    Matrix asked = normed;
    for (std::int64_t n = 0; injects(Injection::queries_and_keys) && n < T * d; ++n)
      asked[n / d][n % d] += e_[n];
    const Projected p = project(l, asked, normed, name);
    std::vector<double> x;
    for (const auto& row : asked) x.insert(x.end(), row.begin(), row.end());
    const double *weight = at(name + "qkv.weight"), *whole = maybe(name + "qkv.bias");
    const std::int64_t Q = a.q_width();
    const double *q_bias = whole ? whole : maybe(name + "q.bias"),
                 *k_bias = whole ? whole + Q : maybe(name + "k.bias");
    const Scene scene{positions, p.q, p.k, {}, x, p.v, {weight, weight + Q * d, q_bias, k_bias}};
    const Definition definition(c_.shape_in(l), encodings_of(l), scene);
    const std::int32_t* document = nullptr;
    if (tokens.placement && !tokens.placement->document.empty())
      document = &tokens.placement->document[tokens.placement->rows > 1 ? b * T : 0];
    Matrix mixed(T, std::vector<double>(Q));
    for (std::int64_t head = 0; head < a.heads; ++head) {
      for (std::int64_t i = 0; i < T; ++i) {
        const auto row = output(definition, head, i, name, [&](std::int64_t j) {
          return (tokens.padding && tokens.padding[b * T + j]) || (document && document[i] != document[j]);
        });
        std::copy(row.begin(), row.end(), mixed[i].begin() + head * D);
      }
    }
    if (note) {
      tell_pairs(name, definition, [&](std::int64_t i, std::int64_t j) {
        return definition.sees(i, j) && !(tokens.padding && tokens.padding[b * T + j]) &&
               !(document && document[i] != document[j]);
      });
    }
    tell_heads(name + "attended", mixed);
    return linear(mixed, name + "out", d);
  }
  // Logits and weights (heads,T,T); sees(i, j) knows all that hides a key.
  template <class Sees>
  void tell_pairs(const std::string& name, const Definition& definition, const Sees& sees) const {
    const AttentionRule& a = rule_;
    const bool softmax = definition.weights() == Weighting::softmax;
    std::vector<double> logits, weights;
    for (std::int64_t n = 0; n < a.heads * tokens_; ++n) {
      const std::int64_t h = n / tokens_, i = n % tokens_;
      double sum = a.sinks ? std::exp(at(name + "sinks")[h]) : 0;
      for (std::int64_t j = 0; j < tokens_; ++j) {
        logits.push_back(ln_weight(definition, h, i, j, [&](std::int64_t u) { return sees(i, u); }));
        sum += std::exp(logits.back());
      }
      for (std::int64_t j = 0; j < tokens_; ++j) {
        const double w = std::exp(logits[std::size_t(n * tokens_ + j)]);
        weights.push_back(w == 0 ? 0 : softmax ? w / sum : w);
      }
    }
    tell(name + "logits", logits), tell(name + "weights", weights);
  }
  // Definition::ln_weight with a soft-cap, which it does not know; sees(key) knows all that hides it.
  template <class Sees>
  double ln_weight(const Definition& definition, std::int64_t h, std::int64_t i, std::int64_t j,
                   const Sees& sees) const {
    const auto logit = [&](std::int64_t u) {
      return capped(definition.logit(h, i, u), c_.attention.soft_cap);
    };
    if (!sees(j)) return -INFINITY;
    if (definition.weights() == Weighting::softmax) return logit(j);
    double log = -softplus(-logit(j));
    for (std::int64_t u = j + 1; u <= i; ++u) log -= sees(u) ? softplus(logit(u)) : 0;
    return log;
  }
  // With a soft-cap and sinks, which a definition does not know. What it gives for a key that alone is seen is the value
  // times its weight there, which of a softmax is 1.
  std::vector<double> output(const Definition& definition, std::int64_t h, std::int64_t i,
                             const std::string& name, const Definition::Hidden& hidden) const {
    const AttentionRule& a = rule_;
    if (a.soft_cap == 0 && !a.sinks) return definition.output(h, i, hidden);
    const bool softmax = definition.weights() == Weighting::softmax;
    std::vector<double> weights, out(std::size_t(a.head_dim));
    double sum = a.sinks ? std::exp(at(name + "sinks")[h]) : 0;
    for (std::int64_t j = 0; j < (c_.causal ? i + 1 : tokens_); ++j) {
      const auto sees = [&](std::int64_t u) { return definition.sees(i, u) && !hidden(u); };
      weights.push_back(std::exp(ln_weight(definition, h, i, j, sees)));
      sum += weights.back();
    }
    for (std::int64_t j = 0; j < std::int64_t(weights.size()); ++j) {
      const double weight = weights[std::size_t(j)];
      if (weight == 0) continue;
      const auto others = [&](std::int64_t u) { return u != j; };
      const auto given = definition.output(h, i, others);
      const double of = softmax ? sum : std::exp(definition.ln_weight(h, i, j, others));
      for (std::size_t d = 0; d < out.size(); ++d) out[d] += weight / of * given[d];
    }
    return out;
  }
  Matrix encoder_rows(const Tokens& tokens, std::int64_t b) const {
    const std::int64_t S = tokens.encoder.T, d = c_.width;
    Matrix rows(S, std::vector<double>(d));
    for (std::int64_t n = 0; n < S * d; ++n)
      rows[n / d][n % d] =
          encoder.empty() ? double(tokens.encoder.rows[b * S * d + n]) : encoder[b * S * d + n];
    return rows;
  }
  // Of the rows x to the encoder's, whatever their places.
  Matrix cross_attention(const std::string& name, const Tokens& tokens, std::int64_t b,
                         const Matrix& x) const {
    const AttentionRule& a = c_.attention;
    const std::int64_t T = tokens.T, S = tokens.encoder.T, D = a.head_dim, group = a.heads / a.kv_heads;
    const double scale = c_.cross->scale == 0 ? 1 / std::sqrt(double(D)) : c_.cross->scale;
    const Matrix from = encoder_rows(tokens, b), q = part(x, name, 'q'), k = part(from, name, 'k'),
                 v = part(from, name, 'v');
    std::vector<double> logits, weights;
    Matrix mixed(T, std::vector<double>(a.q_width()));
    for (std::int64_t n = 0; n < a.heads * T; ++n) {
      const std::int64_t h = n / T, i = n % T, shared = h / group * D;
      double sum = 0;
      for (std::int64_t j = 0; j < S; ++j) {
        double dot = 0;
        for (std::int64_t c = 0; c < D; ++c) dot += q[i][h * D + c] * k[j][shared + c];
        const bool hidden = tokens.encoder.padding && tokens.encoder.padding[b * S + j];
        logits.push_back(hidden ? -INFINITY : capped(scale * dot, a.soft_cap));
        sum += std::exp(logits.back());
      }
      for (std::int64_t j = 0; j < S; ++j) {
        weights.push_back(std::exp(logits[std::size_t(n * S + j)]) / sum);
        for (std::int64_t c = 0; c < D; ++c) mixed[i][h * D + c] += weights.back() * v[j][shared + c];
      }
    }
    tell(name + "logits", logits), tell(name + "weights", weights), tell_heads(name + "attended", mixed);
    return linear(mixed, name + "out", c_.width);
  }
  void layer(std::int64_t l, const Positions& positions, const Tokens& tokens, std::int64_t b,
             Matrix& h) const {
    const std::string name = "layers." + std::to_string(l) + ".", first = name + "attention.",
                      crossed = name + "cross.", second = name + "feed_forward.";
    rule_ = c_.attention_in(l);
    const NormPlace place = c_.norm.place;
    const bool before = place == NormPlace::before || place == NormPlace::before_and_after;
    const auto in = [&](const Matrix& x, const std::string& at) {
      return before ? norm(x, at + "norm.") : x;
    };
    const auto out = [&](const Matrix& x, const std::string& at, Matrix& to) {
      const bool of_x = place == NormPlace::before_and_after || place == NormPlace::after_sublayer;
      Matrix written = of_x ? norm(x, at + "norm_after.") : x;
      for (auto& row : written) {
        for (double& v : row) v *= c_.residual_scale;
      }
      tell(at + "written", written);
      add(written, to);
      if (place == NormPlace::after_sum) to = norm(to, at + "norm_after.");
    };
    const Matrix x = l == 0 && !c_.norm.first ? h : in(h, first);
    tell(first + "read", x);
    const Matrix old = h;
    out(attention(l, positions, tokens, b, x), first, h);
    tell(name + "resid_mid", h);
    if (c_.cross) {
      const Matrix asking = in(h, crossed);
      tell(crossed + "read", asking);
      out(cross_attention(crossed, tokens, b, asking), crossed, h);
      tell(name + "resid_cross", h);
    }
    const Matrix& left = c_.residual == Residual::in_turn ? h : old;
    out(feed_forward(c_.residual == Residual::parallel_one_norm ? x : in(left, second), l, second), second,
        h);
    if (c_.layer_words > 0) add_layer_words(l, name, h);
    for (auto& row : h) {
      for (double& v : row) v *= c_.layer_scale ? at(name + "scale")[0] : 1;
    }
  }
  // modeling_gemma4.py: project_per_layer_inputs, and the end of Gemma4TextDecoderLayer.
  void add_layer_words(std::int64_t l, const std::string& name, Matrix& h) const {
    const std::int64_t E = c_.layer_words, all = c_.layers * E;
    const Matrix projected = times(words_, at("embed.layers.project.weight"), nullptr, all);
    Matrix gate = linear(h, name + "words.gate", E);
    for (std::size_t t = 0; t < h.size(); ++t) {
      std::vector<double> of_layer(projected[t].begin() + l * E, projected[t].begin() + (l + 1) * E);
      for (double& v : of_layer) v /= std::sqrt(double(c_.width));
      of_layer = norm({of_layer}, "embed.layers.norm.")[0];
      for (std::int64_t i = 0; i < E; ++i) {
        const double word = std::sqrt(double(E)) * at("embed.layers.word")[ids_[t] * all + l * E + i];
        gate[t][i] = activated(gate[t][i]) * (of_layer[i] + word) / std::sqrt(2.0);
      }
    }
    add(norm(linear(gate, name + "words.out", c_.width), name + "words.norm."), h);
  }
  const Scheme scheme_;
  mutable std::int64_t tokens_ = 0;                       // of the sequence at hand
  mutable AttentionRule rule_;                            // of the layer at hand
  mutable std::map<std::int64_t, Matrix> keys_, values_;  // by the layer that makes them
  mutable Matrix words_;
  mutable std::vector<std::int64_t> ids_;
  mutable std::vector<double> e_;  // position vectors (T, width) of the sequence at hand
};

}  // namespace gnomon
