#include "gnomon/lens/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "gnomon/core/error.h"

namespace gnomon {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

std::string at(std::int64_t layer, std::string_view name) { return text("layers.", layer, ".", name); }

// Throws Error(usage) where the lens would show something else than what the model computes.
[[noreturn]] void refuse(const Architecture& c, std::string_view why) {
  throw Error(Fault::usage, text("'", c.position.print(), "': ", why));
}
void check_layer(const Architecture& c, std::int64_t layer) {
  if (layer < 0 || layer >= c.layers)
    throw Error(Fault::usage, text("found layer ", layer, "; the model has layers 0 to ", c.layers - 1));
}
void check_head(const Architecture& c, std::int64_t head) {
  if (head < 0 || head >= c.attention.heads)
    throw Error(Fault::usage,
                text("found head ", head, "; the model has heads 0 to ", c.attention.heads - 1));
}

Floats floats(const Matrix& rows) { return {rows.values.begin(), rows.values.end()}; }

// Values of a layer at positions 0..T−1, by their names within it, where `entry` of it is these rows (T,C).
struct Entered {
  std::string_view entry;  // "resid_pre", the residual stream, or "attention.read", past the norm
  const Matrix& rows;
};
using Values = std::map<std::string_view, Floats>;
Values values_of(const Trained& m, std::int64_t layer, const Entered& in,
                 std::initializer_list<std::string_view> names) {
  const Architecture& c = m.model.architecture();
  check_layer(c, layer);
  if (c.attention_in(layer).borrows)
    refuse(c, text("layer ", layer, " reads the keys and values of layer ", c.keys_of(layer),
                   ", so it cannot be looked at by itself"));
  if (in.rows.rows < 1 || in.rows.columns != c.width) {
    throw Error(Fault::usage, text("a layer takes rows of ", c.width, " numbers, at least one row; found (",
                                   in.rows.rows, ", ", in.rows.columns, ")"));
  }
  if (!m.model.scheme().samplers.empty())
    refuse(c, "positions are drawn at random, so the lens does not know them");
  struct Enough {};
  Values values;
  Taps taps{{at(layer, in.entry), [&](TapValue& value) { value.write(floats(in.rows)); }},
            {at(layer, "resid_mid"), [](TapValue&) { throw Enough(); }}};
  for (const std::string_view name : names)
    taps[at(layer, name)] = [&values, name](TapValue& value) { values[name] = value.read(); };
  const std::vector<std::int32_t> any(std::size_t(in.rows.rows));
  Tokens tokens{1, in.rows.rows, any, {}};
  tokens.taps = &taps;
  const Floats unread(c.cross ? std::size_t(c.width)
                              : 0);  // an encoder's row: cross attention comes after all that is seen
  if (c.cross) tokens.encoder = {1, unread};
  Floats last(std::size_t(in.rows.rows * c.width));
  try {
    Session(m.model).hidden(tokens, m.w, last);
  } catch (const Enough&) {
  }
  return values;
}

// A matrix (rows, columns) of these numbers from `first` on.
Matrix matrix(const Floats& all, std::int64_t first, std::int64_t rows, std::int64_t columns) {
  Matrix out(rows, columns);
  std::copy_n(all.begin() + first, rows * columns, out.values.begin());
  return out;
}
std::vector<Matrix> by_head(const Floats& all, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
  std::vector<Matrix> out;
  for (std::int64_t h = 0; h < heads; ++h) out.push_back(matrix(all, h * rows * columns, rows, columns));
  return out;
}

}  // namespace

Matrix projected_rows(const Trained& m, std::int64_t layer, const Matrix& h) {
  const Values values = values_of(m, layer, {"resid_pre", h}, {"attention.q", "attention.k", "attention.v"});
  const AttentionRule rule = m.model.architecture().attention_in(layer);
  Matrix out(h.rows, rule.qkv_width());
  const auto put = [&](std::string_view name, std::int64_t first, std::int64_t heads) {
    const auto rows = by_head(values.at(name), heads, h.rows, rule.head_dim);
    for (std::int64_t n = 0; n < heads; ++n) {
      for (std::int64_t t = 0; t < h.rows; ++t) {
        const auto row = rows[std::size_t(n)].row(t);
        std::copy(row.begin(), row.end(), out.row(t).begin() + first + n * rule.head_dim);
      }
    }
  };
  put("attention.q", 0, rule.heads), put("attention.k", rule.q_width(), rule.kv_heads);
  put("attention.v", rule.q_width() + rule.kv_width(), rule.kv_heads);
  return out;
}

AttentionMaps attention_maps(const Trained& m, std::int64_t layer, const Matrix& h) {
  const Values values = values_of(m, layer, {"resid_pre", h}, {"attention.logits", "attention.weights"});
  const std::int64_t heads = m.model.architecture().attention.heads, T = h.rows;
  return {by_head(values.at("attention.logits"), heads, T, T),
          by_head(values.at("attention.weights"), heads, T, T)};
}

void must_add_up(const Trained& m, const std::vector<Matrix>& parts, const Matrix& logits,
                 std::string_view who) {
  double size = 1;
  for (const double v : logits.values) size = std::isfinite(v) ? std::max(size, std::abs(v)) : size;
  for (const Matrix& part : parts) {
    for (const double v : part.values) size = std::max(size, std::abs(v));
  }
  for (std::size_t n = 0; n < logits.values.size(); ++n) {
    if (logits.values[n] == kHidden) continue;
    double total = 0;
    for (const Matrix& part : parts) total += part.values[n];
    if (std::abs(total - logits.values[n]) <= kFloatRounding * size) continue;
    refuse(m.model.architecture(), text(who, ": the parts add up to ", total, " but the logit is ",
                                        logits.values[n], "; the encoding changes q·k in another way too"));
  }
}

std::vector<HeadHabits> head_habits(const Trained& m, std::int64_t layer, const Matrix& stream,
                                    std::int64_t T) {
  std::vector<HeadHabits> habits(std::size_t(m.model.architecture().attention.heads), HeadHabits{});
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

namespace {

// What the norm before attention makes of a part x of what enters it, with the statistics of the whole: γ·(x − mean)/σ, the
// mean of x and the σ of the whole; x itself where no norm stands there.
Matrix normed_part(const Trained& m, std::int64_t layer, const Matrix& x, const Matrix& whole) {
  const Norms& norm = m.model.architecture().norm;
  if (!norm.before_sublayers() || (layer == 0 && !norm.first)) return x;
  const bool rms = norm.form == NormForm::rms || norm.form == NormForm::rms_one_plus;
  const bool plain = norm.form == NormForm::layer_plain;
  const Matrix gain = plain ? Matrix() : parameter(m, at(layer, "attention.norm.gain"));
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
    const double offset = norm.form == NormForm::rms_one_plus ? 1 : 0;
    for (std::int64_t c = 0; c < x.columns; ++c)
      out.at(n, c) = (plain ? 1 : gain.values[std::size_t(c)] + offset) * (x.at(n, c) - mean) /
                     std::sqrt(variance + norm.epsilon);
  }
  return out;
}

// q and k of one head as sums: of each component, and last of all that is there without them.
struct HeadParts {
  std::vector<Matrix> q, k;
};
HeadParts parts_of(const Trained& m, std::int64_t layer, const std::vector<Matrix>& components,
                   const Matrix& whole, std::int64_t head) {
  const AttentionRule rule = m.model.architecture().attention_in(layer);
  const std::int64_t T = whole.rows, D = rule.head_dim, key_head = head / (rule.heads / rule.kv_heads);
  struct Both {
    Matrix q, k;
  };
  const auto projected = [&](const Matrix& read) {
    const Values values = values_of(m, layer, {"attention.read", read}, {"attention.q", "attention.k"});
    return Both{matrix(values.at("attention.q"), head * T * D, T, D),
                matrix(values.at("attention.k"), key_head * T * D, T, D)};
  };
  // q = W·read + b: linear up to what it is for rows of zeros.
  const Both zero = projected(Matrix(T, whole.columns));
  HeadParts out;
  Matrix constant = matrix(values_of(m, layer, {"resid_pre", whole}, {"attention.read"}).at("attention.read"),
                           0, T, whole.columns);
  for (const Matrix& x : components) {
    const Matrix part = normed_part(m, layer, x, whole);
    const Both of = projected(part);
    out.q.push_back(sum(of.q, zero.q, -1)), out.k.push_back(sum(of.k, zero.k, -1));
    constant = sum(constant, part, -1);
  }
  const Both rest = projected(constant);
  out.q.push_back(rest.q), out.k.push_back(rest.k);
  return out;
}

}  // namespace

std::vector<Matrix> term_maps(const Trained& m, std::int64_t layer, const std::vector<Matrix>& components,
                              std::int64_t head) {
  const Architecture& c = m.model.architecture();
  check_head(c, head);
  if (components.empty()) throw Error(Fault::usage, "term_maps: no components");
  if (c.norm.qk != QkNorm::none)
    refuse(c, "term_maps: the model normalises q and k, so the logits are not a sum of terms");
  Matrix whole = components.front();
  for (std::size_t a = 1; a < components.size(); ++a) whole = sum(whole, components[a]);
  const HeadParts parts = parts_of(m, layer, components, whole, head);
  std::vector<Matrix> terms;
  for (const Matrix& a : parts.q) {
    for (const Matrix& b : parts.k) {
      Matrix t = product_transposed(a, b);
      for (double& v : t.values) v *= c.attention_in(layer).scale_of_product();
      terms.push_back(std::move(t));
    }
  }
  must_add_up(m, terms, attention_maps(m, layer, whole).logits[std::size_t(head)], "term_maps");
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
  const bool causal = m.model.architecture().causal;
  std::vector<Matrix> shares;
  for (std::int64_t h = 0; h < m.model.architecture().attention.heads; ++h) {
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

double loss_with(const Trained& m, const Sample& sample, std::int64_t layer, const LogitEdit& edit) {
  check_layer(m.model.architecture(), layer);
  const std::int64_t T = sample.T, H = m.model.architecture().attention.heads;
  return mean_loss(m, sample, at(layer, "attention.logits"), [&](std::int64_t row, TapValue& value) {
    Floats all = value.read();
    const std::int64_t windows = value.shape()[0];
    for (std::int64_t n = 0; n < windows * H; ++n) {
      Matrix logits = matrix(all, n * T * T, T, T);
      edit(row / T + n / H, n % H, logits);
      std::copy(logits.values.begin(), logits.values.end(), all.begin() + n * T * T);
    }
    value.write(all);
  });
}

}  // namespace gnomon
