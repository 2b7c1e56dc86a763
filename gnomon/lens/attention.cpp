#include "gnomon/lens/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
#include "gnomon/encodings/definition.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/pointwise.h"

namespace gnomon {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

std::string at(std::int64_t layer, const char* name) { return text("layers.", layer, ".", name); }
std::vector<double> vector_of(const Trained& m, const std::string& name) { return parameter(m, name).values; }

// γ·(x − mean)/σ of every row, with σ of `whole`, whose part x is; nothing is added.
Matrix scaled(const Trained& m, std::int64_t layer, const Matrix& x, const Matrix& whole) {
  const bool rms = m.model.config().norm == Norm::rms;
  const auto gain = vector_of(m, at(layer, "attention.norm.gain"));
  Matrix out = x;
  for (std::int64_t n = 0; n < x.rows; ++n) {
    const auto mean_of = [&](const Matrix& rows) {
      double mean = 0;
      for (const double v : rows.row(n)) mean += v / double(rows.columns);
      return rms ? 0 : mean;
    };
    const double mean = mean_of(x), mean_whole = mean_of(whole);
    double variance = 0;
    for (const double v : whole.row(n)) variance += (v - mean_whole) * (v - mean_whole) / double(x.columns);
    for (std::int64_t c = 0; c < x.columns; ++c)
      out.at(n, c) = gain[std::size_t(c)] * (x.at(n, c) - mean) / std::sqrt(variance + double(kNormEpsilon));
  }
  return out;
}

struct Projection {
  Matrix weight;             // (3C, C)
  std::vector<double> bias;  // (3C)
  std::vector<double> beta;  // of the norm; empty = 0
};
Projection projection(const Trained& m, std::int64_t layer) {
  Projection p{
      parameter(m, at(layer, "attention.qkv.weight")), vector_of(m, at(layer, "attention.qkv.bias")), {}};
  if (m.model.config().norm == Norm::layer) p.beta = vector_of(m, at(layer, "attention.norm.bias"));
  return p;
}
// The normalised rows through the rows `first`.. of the projection; with or without what is constant.
Matrix projected(const Projection& p, const Matrix& rows, std::int64_t first, std::int64_t count) {
  return product_transposed(rows, p.weight.block(first, count));
}
std::vector<double> constant(const Projection& p, std::int64_t first, std::int64_t count) {
  std::vector<double> out(p.bias.begin() + first, p.bias.begin() + first + count);
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::size_t c = 0; c < p.beta.size(); ++c)
      out[std::size_t(r)] += p.weight.at(first + r, std::int64_t(c)) * p.beta[c];
  }
  return out;
}
Matrix with_constant(Matrix rows, const std::vector<double>& c) {
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    for (std::int64_t k = 0; k < rows.columns; ++k) rows.at(n, k) += c[std::size_t(k)];
  }
  return rows;
}

// The weights of these logits; a query that sees no key has none.
void to_weights(Matrix& logits, bool softmax) {
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    const auto row = logits.row(i);
    const double most = softmax ? *std::max_element(row.begin(), row.end()) : 0;
    double total = 0;
    for (double& v : row) total += v = std::exp(v - (most == kHidden ? 0 : most));
    if (!softmax || total == 0) continue;
    for (double& v : row) v /= total;
  }
}

// Throws Error(usage) where the lens would show something else than what the model computes.
[[noreturn]] void refuse(const ModelConfig& c, std::string_view why) {
  throw Error(Fault::usage, text("'", c.position.print(), "': ", why));
}
void check_layer(const ModelConfig& c, std::int64_t layer) {
  if (layer < 0 || layer >= c.layers)
    throw Error(Fault::usage, text("layer ", layer, " of a model that has layers 0 to ", c.layers - 1));
}
void check_head(const ModelConfig& c, std::int64_t head) {
  if (head < 0 || head >= c.heads)
    throw Error(Fault::usage, text("head ", head, " of a model that has heads 0 to ", c.heads - 1));
}

// What acts inside the attention of a layer, with its parameters in double.
struct Acting {
  const Encoding* encoding;
  std::vector<double> w;
};
std::vector<Acting> acting(const Trained& m, const Position& position, std::int64_t layer) {
  std::vector<Acting> all;
  for (const std::size_t n : position.in_layer(layer)) {
    const Encoding& encoding = *position.attention[n].encoding;
    all.push_back({&encoding, {}});
    for (const auto& spec : encoding.params()) {
      const std::string own = encoding.per_layer() ? text(layer, ".") : "";
      const auto values = vector_of(m, text("position.attention.", n, ".", own, spec.name));
      all.back().w.insert(all.back().w.end(), values.begin(), values.end());
    }
  }
  return all;
}

// (H,T,D) of the columns [which·C, (which+1)·C) of qkv.
std::vector<double> by_head(const Matrix& qkv, std::int64_t which, std::int64_t H) {
  const std::int64_t C = qkv.columns / 3, D = C / H, T = qkv.rows;
  std::vector<double> out(std::size_t(T * C));
  for (std::int64_t h = 0; h < H; ++h) {
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t d = 0; d < D; ++d)
        out[std::size_t((h * T + t) * D + d)] = qkv.at(t, which * C + h * D + d);
    }
  }
  return out;
}

// One layer of one window: what its encodings read. x (T,C) is what q and k are projected from.
struct Opened {
  Position position;
  Projection by;
  Matrix x, qkv;
};
Opened open(const Trained& m, std::int64_t layer, const Matrix& h) {
  const ModelConfig& c = m.model.config();
  check_layer(c, layer);
  if (h.rows < 1 || h.columns != c.width) {
    throw Error(Fault::usage, text("what enters a layer has rows of ", c.width,
                                   " numbers, at least one; found ", h.rows, " of ", h.columns));
  }
  Opened o{make_position(c.position, {c.width, c.heads, c.head_size(), c.length, c.causal}),
           projection(m, layer),
           scaled(m, layer, h, h),
           {}};
  if (o.position.input && o.position.combination->injection() == Injection::queries_and_keys)
    refuse(c, "position vectors enter queries and keys; the stream does not hold them");
  o.qkv = with_constant(projected(o.by, o.x, 0, 3 * c.width), constant(o.by, 0, 3 * c.width));
  if (!o.by.beta.empty()) o.x = with_constant(std::move(o.x), o.by.beta);
  return o;
}

// The logits of every head, from the definition, and whether a softmax makes them weights.
struct Logits {
  std::vector<Matrix> of_head;
  bool softmax;
};
Logits logits_of(const Trained& m, std::int64_t layer, const Opened& o) {
  const ModelConfig& c = m.model.config();
  if (!o.position.samplers.empty()) refuse(c, "the positions are drawn; the lens does not know them");
  const auto inside = acting(m, o.position, layer);
  std::vector<Defined> defined;
  for (const Acting& one : inside) defined.push_back({one.encoding, one.w});
  const std::int64_t T = o.qkv.rows, C = c.width;
  const Placement placement = Placement::consecutive(0, T);
  const auto q = by_head(o.qkv, 0, c.heads), k = by_head(o.qkv, 1, c.heads), v = by_head(o.qkv, 2, c.heads);
  const double *weight = o.by.weight.values.data(), *bias = o.by.bias.data();
  const Scene scene{placement, q, k, {}, o.x.values, v, {weight, weight + C * C, bias, bias + C}};
  const Definition definition({c.width, c.heads, c.head_size(), c.length, c.causal}, defined, scene);
  Logits out{{}, definition.weights() == Weights::softmax};
  for (std::int64_t h = 0; h < c.heads; ++h) {
    Matrix l(T, T);
    for (std::int64_t i = 0; i < T; ++i) {
      for (std::int64_t j = 0; j < T; ++j) {
        l.at(i, j) = definition.sees(i, j) ? definition.ln_weight(h, i, j) : kHidden;
      }
    }
    out.of_head.push_back(std::move(l));
  }
  return out;
}

}  // namespace

Matrix projected_rows(const Trained& m, std::int64_t layer, const Matrix& h) { return open(m, layer, h).qkv; }

AttentionMaps attention_maps(const Trained& m, std::int64_t layer, const Matrix& h) {
  Logits logits = logits_of(m, layer, open(m, layer, h));
  AttentionMaps maps{logits.of_head, std::move(logits.of_head)};
  for (Matrix& a : maps.weights) to_weights(a, logits.softmax);
  return maps;
}

void must_add_up(const Trained& m, const std::vector<Matrix>& parts, const Matrix& logits,
                 std::string_view who) {
  double size = 1;
  for (const double v : logits.values) size = std::isfinite(v) ? std::max(size, std::abs(v)) : size;
  for (std::size_t n = 0; n < logits.values.size(); ++n) {
    if (logits.values[n] == kHidden) continue;
    double total = 0;
    for (const Matrix& part : parts) total += part.values[n];
    if (std::abs(total - logits.values[n]) <= 1e-9 * size) continue;
    refuse(m.model.config(), text(who, ": the parts add up to ", total, " where the logit is ",
                                  logits.values[n], "; the encoding does more to q·k"));
  }
}

std::vector<HeadHabits> head_habits(const Trained& m, std::int64_t layer, const Matrix& stream,
                                    std::int64_t T) {
  std::vector<HeadHabits> habits(std::size_t(m.model.config().heads), HeadHabits{});
  const std::int64_t windows = windows_of(stream, T, 3, "head_habits");
  for (std::int64_t s = 0; s < windows; ++s) {
    const AttentionMaps maps = attention_maps(m, layer, stream.block(s * T, T));
    for (std::size_t h = 0; h < habits.size(); ++h) {
      const Matrix& a = maps.weights[h];
      const double share = 1 / double(windows * (T - 2));
      for (std::int64_t i = 2; i < T; ++i) {
        for (std::int64_t j = 0; j < T; ++j) {
          habits[h].distance += share * a.at(i, j) * double(std::abs(i - j));
          habits[h].entropy -= a.at(i, j) > 0 ? share * a.at(i, j) * std::log(a.at(i, j)) : 0;
        }
        habits[h].own += share * a.at(i, i), habits[h].previous += share * a.at(i, i - 1);
        habits[h].first += share * a.at(i, 0);
      }
    }
  }
  return habits;
}

std::vector<Matrix> term_maps(const Trained& m, std::int64_t layer, const std::vector<Matrix>& components,
                              std::int64_t head) {
  const ModelConfig& c = m.model.config();
  check_head(c, head);
  if (components.empty()) throw Error(Fault::usage, "term_maps: no components");
  const std::int64_t D = c.head_size(), T = components.front().rows;
  Matrix whole = components.front();
  for (std::size_t a = 1; a < components.size(); ++a) whole = sum(whole, components[a]);
  const Opened opened = open(m, layer, whole);
  const Projection& p = opened.by;
  const auto parts = [&](std::int64_t first) {
    std::vector<Matrix> out;
    for (const Matrix& x : components) out.push_back(projected(p, scaled(m, layer, x, whole), first, D));
    out.push_back(with_constant(Matrix(T, D), constant(p, first, D)));
    return out;
  };
  const auto q = parts(head * D), k = parts(c.width + head * D);
  std::vector<Matrix> terms;
  for (const Matrix& a : q) {
    for (const Matrix& b : k) {
      Matrix t = product_transposed(a, b);
      for (double& v : t.values) v /= std::sqrt(double(D));
      terms.push_back(std::move(t));
    }
  }
  must_add_up(m, terms, logits_of(m, layer, opened).of_head[std::size_t(head)], "term_maps");
  return terms;
}

Matrix row_centred(const Matrix& logits, bool causal) {
  Matrix out(logits.rows, logits.columns);
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    const std::int64_t seen = causal ? i + 1 : logits.columns;
    double mean = 0;
    for (std::int64_t j = 0; j < seen; ++j) mean += logits.at(i, j) / double(seen);
    for (std::int64_t j = 0; j < seen; ++j) out.at(i, j) = logits.at(i, j) - mean;
  }
  return out;
}

std::vector<Matrix> term_shares(const Trained& m, std::int64_t layer, const std::vector<Matrix>& components,
                                std::int64_t T) {
  if (components.empty()) throw Error(Fault::usage, "term_shares: no components");
  const std::int64_t n = std::int64_t(components.size()) + 1,
                     windows = windows_of(components.front(), T, 2, "term_shares");
  const bool causal = m.model.config().causal;
  std::vector<Matrix> shares;
  for (std::int64_t h = 0; h < m.model.config().heads; ++h) {
    Matrix covariance(n, n);
    double variance = 0, raw = 0;
    for (std::int64_t s = 0; s < windows; ++s) {
      std::vector<Matrix> here;
      for (const Matrix& x : components) here.push_back(x.block(s * T, T));
      auto terms = term_maps(m, layer, here, h);
      Matrix total(T, T);
      for (Matrix& t : terms) raw += squares(t), t = row_centred(t, causal), total = sum(total, t);
      variance += squares(total);
      for (std::size_t t = 0; t < terms.size(); ++t) {
        for (std::size_t i = 0; i < total.values.size(); ++i)
          covariance.values[t] += terms[t].values[i] * total.values[i];
      }
    }
    for (double& v : covariance.values) v = share(v, variance, raw, "term_shares: the logits of a row");
    shares.push_back(std::move(covariance));
  }
  return shares;
}

namespace {

// Throws where an encoding does more than a matrix of logits shows.
void only_logits(const ModelConfig& c) {
  const Position position = make_position(c.position, {c.width, c.heads, c.head_size(), c.length, c.causal});
  for (const auto& inside : position.attention) {
    if (inside.acts & kValue) refuse(c, "loss_with: it changes the values beside the logits");
  }
}

// The layer again, with these attention weights; rows of one window, dense.
void rest_of_layer(const Trained& m, std::int64_t layer, const std::vector<Matrix>& weights, const Matrix& v,
                   std::vector<float>& h) {
  const ModelConfig& c = m.model.config();
  const std::int64_t T = v.rows, C = c.width, D = c.head_size(), hidden = c.feed_forward * C;
  const auto w = [&](const char* name) { return m.w.data() + m.model.param(at(layer, name)).offset; };
  const auto floats = [](std::int64_t n) { return std::vector<float>(std::size_t(n)); };
  auto attended = floats(T * C), middle = attended, normed = attended, statistics = floats(2 * T),
       up = floats(T * hidden);
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t k = 0; k < C; ++k) {
      double value = 0;
      for (std::int64_t j = 0; j < T; ++j) value += weights[std::size_t(k / D)].at(t, j) * v.at(j, k);
      attended[std::size_t(t * C + k)] = float(value);
    }
  }
  linear({T, C, C}, attended.data(), w("attention.out.weight"), w("attention.out.bias"), middle.data());
  add(T * C, h.data(), middle.data(), middle.data());
  normalise({c.norm, T, C}, middle.data(), w("feed_forward.norm.gain"),
            c.norm == Norm::rms ? nullptr : w("feed_forward.norm.bias"), normed.data(), statistics.data());
  linear({T, C, hidden}, normed.data(), w("feed_forward.up.weight"), w("feed_forward.up.bias"), up.data());
  gelu(T * hidden, up.data(), up.data());
  linear({T, hidden, C}, up.data(), w("feed_forward.down.weight"), w("feed_forward.down.bias"), h.data());
  add(T * C, middle.data(), h.data(), h.data());
}

}  // namespace

double loss_with(const Trained& m, const Sample& sample, std::int64_t layer, const LogitEdit& edit) {
  only_logits(m.model.config());
  check_layer(m.model.config(), layer);
  sample.check();
  if (sample.placement)
    throw Error(Fault::usage, "loss_with: the sample has positions of its own; the lens knows 0 to T-1");
  Model model(m.model.config());
  const std::int64_t C = model.config().width, T = sample.T;
  Scored scored;
  std::vector<float> losses(static_cast<std::size_t>(T)), rows(static_cast<std::size_t>(T * C));
  for (std::int64_t s = 0; s < sample.count(); ++s) {
    Tokens tokens{1, T, std::span(sample.inputs).subspan(std::size_t(s * T), std::size_t(T)),
                  std::span(sample.targets).subspan(std::size_t(s * T), std::size_t(T))};
    model.observe(tokens, m.w, losses, [&](const LayerView& v) {
      if (v.layer != layer) return;
      Matrix h(T, C);
      for (std::int64_t t = 0; t < T; ++t) {
        for (std::int64_t c = 0; c < C; ++c) h.at(t, c) = double(v.before[t * row_step(C) + c]);
      }
      std::copy(h.values.begin(), h.values.end(), rows.begin());
      const Opened o = open(m, layer, h);
      auto [weights, softmax] = logits_of(m, layer, o);
      for (std::size_t k = 0; k < weights.size(); ++k)
        edit(s, std::int64_t(k), weights[k]), to_weights(weights[k], softmax);
      Matrix values(T, C);
      for (std::int64_t t = 0; t < T; ++t)
        std::copy_n(o.qkv.row(t).begin() + 2 * C, C, values.row(t).begin());
      rest_of_layer(m, layer, weights, values, rows);
      for (std::int64_t t = 0; t < T; ++t)
        std::copy_n(&rows[std::size_t(t * C)], C, v.after + t * row_step(C));
    });
    scored.add(losses, tokens.targets);
  }
  return scored.mean();
}

}  // namespace gnomon
