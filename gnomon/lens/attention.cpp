#include "gnomon/lens/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gnomon/core/error.h"
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

void softmax(Matrix& a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const auto row = a.row(i);
    const double most = *std::max_element(row.begin(), row.end());
    double total = 0;
    for (double& v : row) total += v = std::exp(v - most);
    for (double& v : row) v /= total;
  }
}

// What acts on the logits of a layer, with its parameters in double.
struct Acting {
  const Encoding* encoding;
  std::vector<double> w;
};
std::vector<Acting> acting(const Trained& m, const Position& position, std::int64_t layer) {
  std::vector<Acting> out;
  for (const std::size_t n : position.in_layer(layer)) {
    const Encoding& e = *position.attention[n].encoding;
    Acting a{&e, {}};
    for (const auto& spec : e.params()) {
      const std::string own = e.per_layer() ? text(layer, ".") : "";
      const auto values = vector_of(m, text("position.attention.", n, ".", own, spec.name));
      a.w.insert(a.w.end(), values.begin(), values.end());
    }
    out.push_back(std::move(a));
  }
  return out;
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

struct Opened {
  Matrix normed, qkv;
};
Opened open(const Trained& m, std::int64_t layer, const Matrix& h) {
  const Projection p = projection(m, layer);
  Matrix normed = scaled(m, layer, h, h);
  return {normed, with_constant(projected(p, normed, 0, p.weight.rows), constant(p, 0, p.weight.rows))};
}

std::vector<Matrix> logits_of(const Trained& m, std::int64_t layer, const Opened& o) {
  const ModelConfig& c = m.model.config();
  const Shape shape{c.width, c.heads, c.head_size(), c.length, c.causal};
  const Position position = make_position(c.position, shape);
  const auto inside = acting(m, position, layer);
  if (inside.size() > 1)
    throw Error(Fault::usage,
                text("attention_maps: '", c.position.print(), "' has several encodings in a layer"));
  const std::int64_t T = o.qkv.rows, D = c.head_size();
  const Placement placement = Placement::consecutive(0, T);
  const auto q = by_head(o.qkv, 0, c.heads), k = by_head(o.qkv, 1, c.heads), v = by_head(o.qkv, 2, c.heads);
  std::vector<Matrix> out;
  for (std::int64_t h = 0; h < c.heads; ++h) {
    Matrix l(T, T);
    for (std::int64_t i = 0; i < T; ++i) {
      for (std::int64_t j = 0; j < T; ++j) {
        if (c.causal && j > i) {
          l.at(i, j) = kHidden;
        } else if (inside.empty()) {
          double dot = 0;
          for (std::int64_t d = 0; d < D; ++d)
            dot += q[std::size_t((h * T + i) * D + d)] * k[std::size_t((h * T + j) * D + d)];
          l.at(i, j) = dot / std::sqrt(double(D));
        } else {
          const Scene scene{placement, q, k, inside.front().w, o.normed.values, v};
          l.at(i, j) = inside.front().encoding->sees(scene, i, j)
                           ? inside.front().encoding->logit(scene, h, i, j)
                           : kHidden;
        }
      }
    }
    out.push_back(std::move(l));
  }
  return out;
}

}  // namespace

Matrix projected_rows(const Trained& m, std::int64_t layer, const Matrix& h) { return open(m, layer, h).qkv; }

AttentionMaps attention_maps(const Trained& m, std::int64_t layer, const Matrix& h) {
  AttentionMaps maps{logits_of(m, layer, open(m, layer, h)), {}};
  maps.weights = maps.logits;
  for (Matrix& a : maps.weights) softmax(a);
  return maps;
}

std::vector<HeadHabits> head_habits(const Trained& m, std::int64_t layer, const Matrix& stream,
                                    std::int64_t T) {
  std::vector<HeadHabits> habits(std::size_t(m.model.config().heads), HeadHabits{});
  const std::int64_t windows = stream.rows / T;
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
  const std::int64_t D = c.head_size(), T = components.front().rows;
  Matrix whole = components.front();
  for (std::size_t a = 1; a < components.size(); ++a) whole = sum(whole, components[a]);
  const Projection p = projection(m, layer);
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
  const std::int64_t n = std::int64_t(components.size()) + 1, windows = components.front().rows / T;
  const bool causal = m.model.config().causal;
  std::vector<Matrix> shares;
  for (std::int64_t h = 0; h < m.model.config().heads; ++h) {
    Matrix covariance(n, n);
    double variance = 0;
    for (std::int64_t s = 0; s < windows; ++s) {
      std::vector<Matrix> here;
      for (const Matrix& x : components) here.push_back(x.block(s * T, T));
      auto terms = term_maps(m, layer, here, h);
      Matrix total(T, T);
      for (Matrix& t : terms) t = row_centred(t, causal), total = sum(total, t);
      variance += squares(total);
      for (std::size_t t = 0; t < terms.size(); ++t) {
        for (std::size_t i = 0; i < total.values.size(); ++i)
          covariance.values[t] += terms[t].values[i] * total.values[i];
      }
    }
    for (double& v : covariance.values) v /= variance;
    shares.push_back(std::move(covariance));
  }
  return shares;
}

namespace {

// Throws where an encoding does more than a matrix of logits shows.
void only_logits(const ModelConfig& c) {
  const Position position = make_position(c.position, {c.width, c.heads, c.head_size(), c.length, c.causal});
  for (const auto& inside : position.attention) {
    if (inside.acts & kValue)
      throw Error(Fault::usage,
                  text("loss_with: '", c.position.print(), "' changes the values beside the logits"));
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
  Model model(m.model.config());
  const std::int64_t C = model.config().width, T = sample.T;
  double total = 0, scored = 0;
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
      auto weights = logits_of(m, layer, o);
      for (std::size_t k = 0; k < weights.size(); ++k)
        edit(s, std::int64_t(k), weights[k]), softmax(weights[k]);
      Matrix values(T, C);
      for (std::int64_t t = 0; t < T; ++t)
        std::copy_n(o.qkv.row(t).begin() + 2 * C, C, values.row(t).begin());
      rest_of_layer(m, layer, weights, values, rows);
      for (std::int64_t t = 0; t < T; ++t)
        std::copy_n(&rows[std::size_t(t * C)], C, v.after + t * row_step(C));
    });
    for (std::size_t n = 0; n < losses.size(); ++n)
      total += double(losses[n]), scored += tokens.targets[n] >= 0;
  }
  return total / std::max(scored, 1.0);
}

}  // namespace gnomon
