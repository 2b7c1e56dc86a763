#include "gnomon/lens/watch.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/lens/table.h"

namespace gnomon {
namespace {

// f(w, first index of its numbers) for the windows of a sample, each with tokens of its own.
template <class F>
void each_window(const Sample& sample, const F& f) {
  sample.check();
  for (std::int64_t w = 0; w < sample.count(); ++w) f(w, sample.tokens(w, 1));
}

bool headless(const Trained& m) { return m.model.architecture().head.form == HeadForm::none; }

// Logits of queries that see something, with what is hidden left out as 0.
Matrix visible(const Matrix& logits) {
  Matrix out = logits;
  for (double& v : out.values) v = std::isfinite(v) ? v : 0;
  return out;
}

void add_habits(const Matrix& a, double share, HeadHabits& to) {
  for (std::int64_t i = 2; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) {
      const double weight = a.at(i, j);
      to.distance += share * weight * double(std::abs(i - j));
      to.entropy -= weight > 0 ? share * weight * std::log(weight) : 0;
    }
    to.own += share * a.at(i, i), to.previous += share * a.at(i, i - 1), to.first += share * a.at(i, 0);
  }
}

Matrix head_of(const Floats& all, std::int64_t head, std::int64_t T) {
  Matrix out(T, T);
  std::copy_n(all.begin() + head * T * T, T * T, out.values.begin());
  return out;
}

}  // namespace

BlockSum scored_sum(std::span<const float> losses, const Sample& sample, std::int64_t first,
                    std::int64_t count) {
  BlockSum out;
  for (std::int64_t n = first; n < first + count; ++n) {
    if (sample.targets[std::size_t(n)] != kUnscored) out.sum += double(losses[std::size_t(n)]), ++out.count;
  }
  return out;
}

std::vector<float> watch(const Trained& m, const Sample& sample, const std::vector<std::string>& names,
                         const Look& look) {
  Session session(m.model);
  std::vector<float> all;
  each_window(sample, [&](std::int64_t w, Tokens tokens) {
    Taps taps;
    for (const std::string& name : names)
      taps[name] = [&, w](TapValue& value) { look(w, value.name(), value); };
    tokens.taps = &taps;
    if (headless(m)) {
      Floats rows(tokens.inputs.size() * std::size_t(m.model.architecture().width));
      session.hidden(tokens, m.w, rows);
    } else {
      std::vector<float> losses(tokens.inputs.size());
      session.loss(tokens, m.w, losses);
      all.insert(all.end(), losses.begin(), losses.end());
    }
  });
  return all;
}

std::vector<std::vector<HeadWatched>> watch_heads(const Trained& m, const Sample& sample) {
  const Architecture& c = m.model.architecture();
  const std::int64_t T = sample.T, H = c.attention.heads;
  if (T < 3) throw Error(Fault::usage, text("watch_heads: windows of ", T, " tokens; allowed are 3 or more"));
  std::vector<std::vector<HeadWatched>> out(std::size_t(c.layers),
                                            std::vector<HeadWatched>(std::size_t(H), HeadWatched{{}, 0}));
  std::vector<std::string> names;
  for (std::int64_t l = 0; l < c.layers; ++l) {
    names.push_back(text("layers.", l, ".attention.logits"));
    names.push_back(text("layers.", l, ".attention.weights"));
  }
  watch(m, sample, names, [&](std::int64_t, const std::string& name, TapValue& value) {
    auto& heads = out[std::stoul(name.substr(7))];
    const Floats all = value.read();
    const double windows = double(sample.count());
    for (std::int64_t h = 0; h < H; ++h) {
      const Matrix found = head_of(all, h, T);
      if (name.ends_with("weights")) {
        add_habits(found, 1 / (windows * double(T - 2)), heads[std::size_t(h)].habits);
      } else {
        const Matrix seen = visible(found);
        heads[std::size_t(h)].by_distance +=
            (c.causal ? causal_offset_share(seen, T / 2)
                      : offset_share(row_centred(seen, false), Diagonal::without)) /
            windows;
      }
    }
  });
  return out;
}

std::vector<LossAt> loss_by_place(std::span<const float> losses, const Sample& sample, std::int64_t group) {
  const std::int64_t T = sample.T;
  if (group < 1 || losses.empty() || losses.size() != sample.targets.size())
    throw Error(Fault::usage, text("loss_by_place: ", losses.size(), " losses of ", sample.targets.size(),
                                   " tokens in groups of ", group));
  std::vector<LossAt> out;
  for (std::int64_t first = 0; first < T; first += group) {
    std::vector<BlockSum> windows(std::size_t(sample.count()));
    for (std::size_t w = 0; w < windows.size(); ++w)
      windows[w] = scored_sum(losses, sample, std::int64_t(w) * T + first, std::min(group, T - first));
    if (std::all_of(windows.begin(), windows.end(), [](const BlockSum& b) { return b.count == 0; })) continue;
    const BlockMean here = over_sums(windows);
    out.push_back({first, here.mean, here.half_width});
  }
  return out;
}

Matrix last_rows(const Trained& m, const Sample& sample) {
  const std::int64_t C = m.model.architecture().width, T = sample.T;
  Session session(m.model);
  Matrix out(std::int64_t(sample.inputs.size()), C);
  each_window(sample, [&](std::int64_t w, const Tokens& tokens) {
    Floats rows(std::size_t(T * C));
    session.hidden(tokens, m.w, rows);
    std::copy(rows.begin(), rows.end(), &out.at(w * T, 0));
  });
  return out;
}

double pooled_change(const Matrix& a, const Matrix& b, std::int64_t T) {
  const std::int64_t windows = windows_of(a, T, 1, "pooled_change");
  if (a.rows != b.rows || a.columns != b.columns)
    throw Error(Fault::usage, text("pooled_change: rows (", a.rows, ", ", a.columns, ") and (", b.rows, ", ",
                                   b.columns, ")"));
  double change = 0;
  for (std::int64_t w = 0; w < windows; ++w) {
    const auto x = column_means(a.block(w * T, T)), y = column_means(b.block(w * T, T));
    double xy = 0, xx = 0, yy = 0;
    for (std::size_t c = 0; c < x.size(); ++c) xy += x[c] * y[c], xx += x[c] * x[c], yy += y[c] * y[c];
    change +=
        (1 - share(xy, std::sqrt(xx * yy), std::sqrt(xx * yy), "pooled_change: the rows")) / double(windows);
  }
  return change;
}

}  // namespace gnomon
