#include "gnomon/lens/stream.h"

#include <algorithm>
#include <map>
#include <memory>

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

// A value's rows in the places of a batch, whose first row is `row`.
void put(const TapValue& value, std::int64_t row, Matrix& to) {
  const Floats all = value.read();
  std::copy(all.begin(), all.end(), to.values.begin() + row * to.columns);
}

std::string of_layer(std::int64_t layer, std::string_view name) { return text("layers.", layer, ".", name); }

// After what is there already.
void then(Taps& taps, const std::string& name, Tap next) {
  Tap& tap = taps[name];
  tap = [before = std::move(tap), next = std::move(next)](TapValue& value) {
    if (before) before(value);
    next(value);
  };
}

void check_surgery(const Architecture& c, const Surgery& surgery) {
  if (surgery.cut < -1 || surgery.cut >= c.layers) {
    throw Error(Fault::usage, text("surgery: found a cut after layer ", surgery.cut,
                                   "; the model has layers 0 to ", c.layers - 1));
  }
  if (surgery.removed && (surgery.cut < 0 || surgery.removed->columns != c.width)) {
    throw Error(Fault::usage,
                text("surgery: found rows of ", surgery.removed->columns, " to remove after layer ",
                     surgery.cut, "; a cut needs a layer and rows of ", c.width));
  }
  if (!surgery.erasure) return;
  const Erasure& e = *surgery.erasure;
  if (e.layer < 0 || e.layer > c.layers || e.basis.rows != c.width ||
      std::int64_t(e.centre.size()) != c.width) {
    throw Error(Fault::usage, text("surgery: the erasure before layer ", e.layer, " of ", c.layers,
                                   " has rows of ", e.basis.rows, " and a centre of ", e.centre.size(),
                                   " numbers; the model has width ", c.width));
  }
}

void erase(const Erasure& e, TapValue& value) {
  Floats all = value.read();
  const std::size_t C = e.centre.size();
  std::vector<double> less(C);
  for (std::size_t row = 0; row < all.size(); row += C) {
    std::fill(less.begin(), less.end(), 0.0);
    for (std::int64_t k = 0; k < e.basis.columns; ++k) {
      double along = 0;
      for (std::size_t c = 0; c < C; ++c)
        along += (double(all[row + c]) - e.centre[c]) * e.basis.at(std::int64_t(c), k);
      for (std::size_t c = 0; c < C; ++c) less[c] += along * e.basis.at(std::int64_t(c), k);
    }
    for (std::size_t c = 0; c < C; ++c) all[row + c] -= float(less[c]);
  }
  value.write(all);
}
Taps taps_of(const Architecture& c, const Surgery& surgery) {
  Taps taps;
  const auto silence = [&](const std::string& name) {
    taps[name] = [](TapValue& value) { value.write(Floats(std::size_t(value.size()))); };
  };
  for (std::int64_t l = 0; surgery.no_attention && l < c.layers; ++l) {
    silence(of_layer(l, "attention.written"));
    if (c.cross) silence(of_layer(l, "cross.written"));
  }
  if (const Erasure* e = surgery.erasure)
    taps[e->layer < c.layers ? of_layer(e->layer, "resid_pre") : of_layer(c.layers - 1, "resid_post")] =
        [e](TapValue& value) { erase(*e, value); };
  if (surgery.cut < 0) return taps;
  if (const Matrix* removed = surgery.removed) {
    then(taps, of_layer(surgery.cut, "resid_post"), [removed](TapValue& value) {
      Floats left = value.read();
      for (std::size_t n = 0; n < left.size(); ++n)
        left[n] -= float(removed->values[n % removed->values.size()]);
      value.write(left);
    });
    return taps;
  }
  const auto entered = std::make_shared<Floats>();
  then(taps, of_layer(surgery.cut, "resid_pre"), [=](TapValue& value) { *entered = value.read(); });
  then(taps, of_layer(surgery.cut, "resid_post"), [=](TapValue& value) {
    Floats left = value.read();
    for (std::size_t n = 0; n < left.size(); ++n) left[n] -= (*entered)[n];
    value.write(left);
  });
  return taps;
}

// Runs the sample in batches. look(row, taps) adds taps for the batch whose first row is `row`.
template <class Look>
Scored pass(const Trained& m, const Sample& sample, const Surgery& surgery, const Look& look,
            std::vector<float>* all_losses = nullptr) {
  check_surgery(m.model.architecture(), surgery);
  Session session(m.model);
  std::vector<float> losses;
  Scored scored;
  in_batches(sample, [&](std::int64_t row, Tokens tokens) {
    Taps taps = taps_of(m.model.architecture(), surgery);
    look(row, taps);
    tokens.taps = &taps;
    losses.resize(tokens.inputs.size());
    session.loss(tokens, m.w, losses);
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
  const Architecture& c = m.model.architecture();
  std::vector<Matrix> h(std::size_t(c.layers + 1), Matrix(std::int64_t(sample.inputs.size()), c.width));
  pass(m, sample, surgery, [&](std::int64_t row, Taps& taps) {
    const auto keep = [&](const std::string& name, Matrix& to) {
      then(taps, name, [&to, row](TapValue& value) { put(value, row, to); });
    };
    for (std::int64_t l = 0; l < c.layers; ++l) keep(of_layer(l, "resid_pre"), h[std::size_t(l)]);
    keep(of_layer(c.layers - 1, "resid_post"), h.back());
  });
  return h;
}

Written written(const Trained& m, const Sample& sample) {
  const Architecture& c = m.model.architecture();
  const Scheme& scheme = m.model.scheme();
  if (c.norm.place == NormPlace::after_sum || c.norm.embedding) {
    throw Error(Fault::usage,
                text("written: '", c.position.print(),
                     "': the model normalises the residual stream itself, so its parts do not add up"));
  }
  if (c.layers > 1 && scheme.input && scheme.combination->injection() == Injection::every_layer) {
    throw Error(Fault::usage,
                text("written: '", c.position.print(),
                     "' adds positions before every layer; only those before the first have a part"));
  }
  if (c.cross)
    throw Error(Fault::usage,
                "written: cross attention writes too, and has no part; allowed is a model without");
  if (c.layer_words > 0 || c.layer_scale)
    throw Error(
        Fault::usage,
        "written: layers scale the stream or add words to it, which has no part; allowed is a model without");
  const std::int64_t N = std::int64_t(sample.inputs.size());
  Written out;
  out.attention.assign(std::size_t(c.layers), Matrix(N, c.width));
  out.feed_forward = out.attention;
  Matrix whole(N, c.width);
  pass(m, sample, {}, [&](std::int64_t row, Taps& taps) {
    const auto keep = [&](const std::string& name, Matrix& to) {
      taps[name] = [&to, row](TapValue& value) { put(value, row, to); };
    };
    keep("layers.0.resid_pre", whole);
    for (std::int64_t l = 0; l < c.layers; ++l) {
      keep(of_layer(l, "attention.written"), out.attention[std::size_t(l)]);
      keep(of_layer(l, "feed_forward.written"), out.feed_forward[std::size_t(l)]);
    }
  });
  // What enters the first layer with the positions left out, and what they add to it.
  Session session(m.model);
  out.word = Matrix(N, c.width);
  in_batches(sample, [&](std::int64_t row, Tokens tokens) {
    std::vector<float> losses(tokens.inputs.size());
    const Taps taps{{"layers.0.resid_pre", [&](TapValue& value) { put(value, row, out.word); }}};
    tokens.drop_positions = true, tokens.taps = &taps;
    session.loss(tokens, m.w, losses);
  });
  out.position = sum(whole, out.word, -1);
  return out;
}

double mean_loss(const Trained& m, const Sample& sample, const Surgery& surgery, std::vector<float>* losses) {
  return pass(
             m, sample, surgery, [](std::int64_t, Taps&) {}, losses)
      .mean();
}

double mean_loss(const Trained& m, const Sample& sample, const std::string& tap,
                 const std::function<void(std::int64_t, TapValue&)>& look) {
  return pass(m, sample, {},
              [&](std::int64_t row, Taps& taps) {
                taps[tap] = [&look, row](TapValue& value) { look(row, value); };
              })
      .mean();
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

// The two sets of means, one after the other (tokens over what positions leave), and how many rows are behind each. Tokens
// are counted through those that occur: a vocabulary may be far larger than a sample.
struct Means {
  Matrix position, token;
  std::vector<double> tokens;      // occurrences
  std::vector<std::int64_t> kind;  // of each row: its token's place in `token`
  std::vector<std::int32_t> ids;   // of each kind
};
Means two_way_means(const Matrix& x, const Sample& s) {
  s.check();
  const std::int64_t S = windows_of(x, s.T, 1, "variance parts"), T = s.T, C = x.columns;
  if (S != s.count())
    throw Error(Fault::usage, text("variance parts: ", x.rows, " rows for ", s.inputs.size(), " tokens"));
  Means m;
  std::map<std::int32_t, std::int64_t> kinds;
  for (const std::int32_t id : s.inputs) {
    const auto [at, is_new] = kinds.emplace(id, std::int64_t(kinds.size()));
    if (is_new) m.tokens.push_back(0), m.ids.push_back(id);
    m.tokens[std::size_t(at->second)] += 1;
    m.kind.push_back(at->second);
  }
  m.position = Matrix(T, C), m.token = Matrix(std::int64_t(kinds.size()), C);
  // Alternating projections: word and position are nearly independent, so a few rounds settle it.
  for (int round = 0; round < 4; ++round) {
    Matrix position(T, C), token(m.token.rows, C);
    for (std::int64_t n = 0; n < x.rows; ++n) {
      const std::int64_t w = m.kind[std::size_t(n)];
      for (std::int64_t c = 0; c < C; ++c)
        position.at(n % T, c) += (x.at(n, c) - m.token.at(w, c)) / double(S);
    }
    m.position = std::move(position);
    for (std::int64_t n = 0; n < x.rows; ++n) {
      const std::int64_t w = m.kind[std::size_t(n)];
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
  double position = S * squares(centred(m.position)), token = 0;
  const double kinds = double(m.ids.size());
  for (std::int64_t w = 0; w < m.token.rows; ++w) {
    for (const double v : m.token.row(w)) token += m.tokens[std::size_t(w)] * v * v;
  }
  const double total = squares(x), rest = std::max(0.0, total - position - token);
  // Means over finitely many rows carry rest variance: (groups − 1)/(degrees of freedom of the rest) of it.
  const double freedom = N - double(s.T) - kinds + 1;
  if (freedom < 1) {
    throw Error(Fault::usage, text("variance shares: ", N, " rows are too few to separate ", s.T,
                                   " positions from ", kinds, " tokens; use more windows"));
  }
  position = std::max(0.0, position - rest * double(s.T - 1) / freedom);
  token = std::max(0.0, token - rest * (kinds - 1) / freedom);
  const auto of_total = [&](double part) { return share(part, total, squares(rows), "variance shares"); };
  return {of_total(position), of_total(token), 1 - of_total(position + token)};
}

VarianceParts variance_parts(const Matrix& rows, const Sample& sample) {
  Means m = two_way_means(centred(rows), sample);
  Matrix token(1 + *std::max_element(m.ids.begin(), m.ids.end()), rows.columns);
  for (std::size_t w = 0; w < m.ids.size(); ++w) {
    const auto from = m.token.row(std::int64_t(w));
    std::copy(from.begin(), from.end(), token.row(m.ids[w]).begin());
  }
  return {std::move(m.position), std::move(token)};
}

}  // namespace gnomon
