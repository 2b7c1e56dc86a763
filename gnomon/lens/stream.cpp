#include "gnomon/lens/stream.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/kernels/loss.h"

namespace gnomon {
namespace {

constexpr std::int64_t kAtOnce = 16;  // windows in one forward pass

// f(first, tokens) for batches of windows.
template <class F>
void in_batches(const Sample& s, F&& f) {
  s.check();
  for (std::int64_t first = 0; first < s.count(); first += kAtOnce) {
    const std::int64_t B = std::min(kAtOnce, s.count() - first);
    f(first * s.T, s.tokens(first, B));
  }
}

// The parameters with the output of attention set to nothing.
Floats without_attention(const Trained& m) {
  Floats w(m.w.begin(), m.w.end());
  for (const Param& p : m.model.params()) {
    if (p.spec.name.find(".attention.out.") != std::string::npos)
      std::fill_n(&w[p.offset], p.spec.size(), 0.0f);
  }
  return w;
}

void copy_rows(const float* from, std::int64_t step, std::int64_t rows, double* to, std::int64_t columns) {
  for (std::int64_t n = 0; n < rows; ++n) {
    for (std::int64_t c = 0; c < columns; ++c) to[n * columns + c] = double(from[n * step + c]);
  }
}

void cut(const LayerView& v, std::int64_t numbers) {
  for (std::int64_t n = 0; n < numbers; ++n) v.after[n] -= v.before[n];
}

template <class Look>
Scored pass(const Trained& m, const Sample& sample, const Surgery& surgery, const Look& look,
            std::vector<float>* all_losses = nullptr) {
  if (surgery.cut < -1 || surgery.cut >= m.model.architecture().layers) {
    throw Error(Fault::usage, text("surgery: a cut after layer ", surgery.cut,
                                   " of a model that has layers 0 to ", m.model.architecture().layers - 1));
  }
  if (surgery.no_attention && m.model.architecture().norm.place != NormPlace::before)
    throw Error(Fault::usage, "surgery: attention is followed by a norm, which makes something of nothing");
  const Floats changed = surgery.no_attention ? without_attention(m) : Floats();
  const std::span<const float> w = surgery.no_attention ? std::span<const float>(changed) : m.w;
  Session session(m.model);
  const std::int64_t step = row_step(m.model.architecture().width);
  std::vector<float> losses;
  Scored scored;
  in_batches(sample, [&](std::int64_t row, const Tokens& tokens) {
    losses.resize(tokens.inputs.size());
    session.observe(tokens, w, losses, [&](const LayerView& v) {
      if (v.layer == surgery.cut) cut(v, tokens.B * tokens.T * step);
      look(row, tokens.B * tokens.T, v);
    });
    scored.add(losses, tokens.targets);
    if (all_losses) all_losses->insert(all_losses->end(), losses.begin(), losses.end());
  });
  return scored;
}

}  // namespace

void Scored::add(std::span<const float> losses, std::span<const std::int32_t> targets) {
  for (std::size_t n = 0; n < losses.size(); ++n) sum += double(losses[n]), count += targets[n] >= 0;
}
double Scored::mean() const {
  if (count == 0) throw Error(Fault::usage, "a mean loss needs at least one scored target");
  return sum / count;
}

std::vector<Matrix> streams(const Trained& m, const Sample& sample, const Surgery& surgery) {
  const std::int64_t C = m.model.architecture().width, N = std::int64_t(sample.inputs.size());
  std::vector<Matrix> h(std::size_t(m.model.architecture().layers + 1), Matrix(N, C));
  pass(m, sample, surgery, [&](std::int64_t row, std::int64_t rows, const LayerView& v) {
    copy_rows(v.before, row_step(C), rows, &h[std::size_t(v.layer)].at(row, 0), C);
    if (std::size_t(v.layer) + 2 == h.size()) copy_rows(v.after, row_step(C), rows, &h.back().at(row, 0), C);
  });
  return h;
}

Written written(const Trained& m, const Sample& sample) {
  const Architecture& c = m.model.architecture();
  const Position& position = m.model.position();
  if (c.norm.place == NormPlace::after_sum || c.norm.embedding) {
    throw Error(Fault::usage, text("written: '", c.position.print(),
                                   "': norms of the residual stream itself leave no parts that add up"));
  }
  if (c.layers > 1 && position.input && position.combination->injection() == Injection::every_layer) {
    throw Error(Fault::usage, text("written: '", c.position.print(),
                                   "' adds positions before every layer; the parts are of the first alone"));
  }
  const std::int64_t N = std::int64_t(sample.inputs.size());
  Written out;
  out.attention.assign(std::size_t(c.layers), Matrix(N, c.width));
  out.feed_forward = out.attention;
  out.word = Matrix(N, c.width);
  const auto difference = [&](const float* a, const float* b, std::int64_t rows, Matrix& to,
                              std::int64_t row) {
    for (std::int64_t n = 0; n < rows; ++n) {
      for (std::int64_t k = 0; k < c.width; ++k)
        to.at(row + n, k) = double(a[n * row_step(c.width) + k]) - double(b[n * row_step(c.width) + k]);
    }
  };
  pass(m, sample, {}, [&](std::int64_t row, std::int64_t rows, const LayerView& v) {
    if (v.layer == 0) copy_rows(v.before, row_step(c.width), rows, &out.word.at(row, 0), c.width);
    difference(v.middle, v.before, rows, out.attention[std::size_t(v.layer)], row);
    difference(v.after, v.middle, rows, out.feed_forward[std::size_t(v.layer)], row);
  });
  // What enters the first layer with the positions left out, and what they add to it.
  Session session(m.model);
  Matrix alone(N, c.width);
  in_batches(sample, [&](std::int64_t row, Tokens tokens) {
    std::vector<float> losses(tokens.inputs.size());
    tokens.drop_positions = true;
    session.observe(tokens, m.w, losses, [&](const LayerView& v) {
      if (v.layer == 0)
        copy_rows(v.before, row_step(c.width), tokens.B * tokens.T, &alone.at(row, 0), c.width);
    });
  });
  out.position = sum(out.word, alone, -1);
  out.word = std::move(alone);
  return out;
}

double mean_loss(const Trained& m, const Sample& sample, const Surgery& surgery, std::vector<float>* losses) {
  const auto nothing = [](std::int64_t, std::int64_t, const LayerView&) {};
  return pass(m, sample, surgery, nothing, losses).mean();
}

Matrix logits(const Trained& m, const Sample& sample) {
  Session session(m.model);
  Matrix out(std::int64_t(sample.inputs.size()), m.model.architecture().vocabulary);
  in_batches(sample, [&](std::int64_t row, const Tokens& tokens) {
    std::vector<float> all(tokens.inputs.size() * std::size_t(out.columns));
    session.logits(tokens, m.w, all);
    std::copy(all.begin(), all.end(), &out.at(row, 0));
  });
  return out;
}

double accuracy(const Trained& m, const Sample& sample) {
  const Matrix all = logits(m, sample);
  double right = 0, asked = 0;
  for (std::int64_t n = 0; n < all.rows; ++n) {
    const std::int32_t target = sample.targets[std::size_t(n)];
    if (target == kUnscored) continue;
    const auto row = all.row(n);
    right += std::max_element(row.begin(), row.end()) - row.begin() == target, asked += 1;
  }
  return right / asked;
}

Matrix parameter(const Trained& m, std::string_view name) {
  const auto all = m.model.params();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Param& p) { return p.spec.name == name; });
  if (found == all.end()) {
    throw Error(Fault::usage, text("'", m.model.architecture().position.print(),
                                   "': the model has no parameter '", name, "'"));
  }
  const Param& p = *found;
  Matrix out(p.spec.shape.front(), p.spec.size() / p.spec.shape.front());
  std::copy_n(m.w.begin() + p.offset, p.spec.size(), out.values.begin());
  return out;
}

namespace {

// The two sets of means, one after the other (tokens over what positions leave), and how many rows are behind each.
struct Means {
  Matrix position, token;
  std::vector<double> tokens;
};
Means two_way_means(const Matrix& x, const Sample& s) {
  s.check();
  const std::int64_t S = windows_of(x, s.T, 1, "variance parts"), T = s.T, C = x.columns;
  if (S != s.count())
    throw Error(Fault::usage, text("variance parts: ", x.rows, " rows for ", s.inputs.size(), " tokens"));
  Means m{Matrix(T, C), Matrix(kVocabulary, C), std::vector<double>(std::size_t(kVocabulary), 0.0)};
  for (const std::int32_t w : s.inputs) m.tokens[std::size_t(w)] += 1;
  // Alternating projections: word and position are nearly independent, so a few rounds settle it.
  for (int round = 0; round < 4; ++round) {
    Matrix position(T, C), token(kVocabulary, C);
    for (std::int64_t n = 0; n < x.rows; ++n) {
      const std::int64_t w = s.inputs[std::size_t(n)];
      for (std::int64_t c = 0; c < C; ++c)
        position.at(n % T, c) += (x.at(n, c) - m.token.at(w, c)) / double(S);
    }
    m.position = std::move(position);
    for (std::int64_t n = 0; n < x.rows; ++n) {
      const std::int64_t w = s.inputs[std::size_t(n)];
      for (std::int64_t c = 0; c < C; ++c)
        token.at(w, c) += (x.at(n, c) - m.position.at(n % T, c)) / m.tokens[std::size_t(w)];
    }
    m.token = std::move(token);
  }
  return m;
}

}  // namespace

VarianceShares variance_shares(const Matrix& rows, const Sample& s) {
  const Matrix x = centred(rows);
  const Means m = two_way_means(x, s);
  const double S = double(s.count()), N = double(x.rows);
  double position = S * squares(centred(m.position)), token = 0, kinds = 0;
  for (std::int64_t w = 0; w < kVocabulary; ++w) {
    const double n = m.tokens[std::size_t(w)];
    kinds += n > 0;
    for (const double v : m.token.row(w)) token += n * v * v;
  }
  const double total = squares(x), rest = std::max(0.0, total - position - token);
  // Means over finitely many rows carry rest variance: (groups − 1)/(degrees of freedom of the rest) of it.
  const double freedom = N - double(s.T) - kinds + 1;
  if (freedom < 1) {
    throw Error(Fault::usage, text("variance shares: ", N, " rows do not tell ", s.T, " positions from ",
                                   kinds, " tokens; more windows do"));
  }
  position = std::max(0.0, position - rest * double(s.T - 1) / freedom);
  token = std::max(0.0, token - rest * (kinds - 1) / freedom);
  const auto of_total = [&](double part) { return share(part, total, squares(rows), "variance shares"); };
  return {of_total(position), of_total(token), 1 - of_total(position + token)};
}

VarianceParts variance_parts(const Matrix& rows, const Sample& sample) {
  Means m = two_way_means(centred(rows), sample);
  return {std::move(m.position), std::move(m.token)};
}

}  // namespace gnomon
