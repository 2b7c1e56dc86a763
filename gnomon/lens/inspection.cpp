#include "gnomon/lens/inspection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/lens/blocks.h"

namespace gnomon {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool headless(const Trained& m) { return m.model.architecture().head.form == HeadForm::none; }

// The scored losses of these tokens of a sample, added up. Throws Error(usage) where one is not finite.
BlockSum finite_sum(std::span<const float> losses, const Sample& sample, std::int64_t first,
                    std::int64_t count) {
  const BlockSum sum = scored_sum(losses, sample, first, count);
  if (std::isfinite(sum.sum)) return sum;
  throw Error(Fault::usage, text("a loss of tokens ", first, " to ", first + count - 1,
                                 " is not finite: numbers in the model overflow"));
}

// `after`: of the same sample.
Change between(const std::string& what, const Sample& sample, const SampleOutcome& before,
               const SampleOutcome& after) {
  const std::int64_t T = sample.T;
  if (before.losses.empty()) return {what, pooled_change(before.rows, after.rows, T), kNan};
  std::vector<BlockSum> windows;
  for (std::int64_t first = 0; first < std::int64_t(before.losses.size()); first += T) {
    windows.push_back(finite_sum(after.losses, sample, first, T));
    windows.back().sum -= finite_sum(before.losses, sample, first, T).sum;
  }
  const BlockMean more = over_sums(windows);
  return {what, more.mean, more.half_width};
}

// A sample, and rows of its tokens, without the first place of every window.
Sample without_first(const Sample& s) {
  Sample out{s.T - 1, {}, {}};
  for (std::size_t n = 0; n < s.inputs.size(); ++n) {
    if (std::int64_t(n) % s.T == 0) continue;
    out.inputs.push_back(s.inputs[n]), out.targets.push_back(s.targets[n]);
  }
  return out;
}
Matrix without_first(const Matrix& rows, std::int64_t T) {
  Matrix out(rows.rows / T * (T - 1), rows.columns);
  std::int64_t to = 0;
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    if (n % T == 0) continue;
    const auto from = rows.row(n);
    std::copy(from.begin(), from.end(), out.row(to++).begin());
  }
  return out;
}
double first_length(const Matrix& rows, std::int64_t T) {
  double first = 0, others = 0;
  for (std::int64_t n = 0; n < rows.rows; ++n) {
    double size = 0;
    for (const double v : rows.row(n)) size += v * v;
    (n % T ? others : first) += std::sqrt(size);
  }
  return share(first * double(T - 1), others, others, "the length of the first token");
}

// The windows of a sample, or rows of them, but for those from `first` to `end`.
Sample without_windows(const Sample& s, std::int64_t first, std::int64_t end) {
  Sample out{s.T, s.inputs, s.targets};
  const auto cut = [&](auto& tokens) {
    tokens.erase(tokens.begin() + first * s.T, tokens.begin() + end * s.T);
  };
  cut(out.inputs), cut(out.targets);
  return out;
}
Matrix without_windows(const Matrix& rows, std::int64_t T, std::int64_t first, std::int64_t end) {
  Matrix out(rows.rows - (end - first) * T, rows.columns);
  const auto from = rows.values.begin();
  const auto to = out.values.begin();
  std::copy(from, from + first * T * rows.columns, to);
  std::copy(from + end * T * rows.columns, rows.values.end(), to + first * T * rows.columns);
  return out;
}

constexpr std::int64_t kBlocks = 8;
VarianceShares half_widths(const Matrix& rows, const Sample& sample) {
  const std::int64_t windows = sample.count(), blocks = std::min(kBlocks, windows);
  if (blocks < 2) return {kNan, kNan, kNan};
  const auto found = jackknife(blocks, [&](std::int64_t b) {
    const std::int64_t first = b * windows / blocks, end = (b + 1) * windows / blocks;
    const VarianceShares v =
        variance_shares(without_windows(rows, sample.T, first, end), without_windows(sample, first, end));
    return std::vector<double>{v.position, v.token, v.rest};
  });
  return {found[0], found[1], found[2]};
}

// Streams of one pass: all of them at once would be as large as a model.
constexpr std::size_t kAtOnce = 8;

}  // namespace

namespace {

// What enters layer l, or for l = layers leaves the last.
std::string stream_name(const Trained& m, std::int64_t l) {
  const std::int64_t L = m.model.architecture().layers;
  return l < L ? text("layers.", l, ".resid_pre") : text("layers.", L - 1, ".resid_post");
}

void probe_untrained(const Trained& m, const Sample& sample, const std::vector<std::int64_t>& probed,
                     std::vector<StreamLook>& looks) {
  const Floats initial = m.model.initial(1);
  std::vector<std::string> names;
  std::map<std::string, Matrix> rows;
  for (const std::int64_t l : probed) {
    names.push_back(stream_name(m, l));
    rows[names.back()] = Matrix(std::int64_t(sample.inputs.size()), m.model.architecture().width);
  }
  watch({m.model, initial}, sample, names, [&](std::int64_t w, const std::string& name, TapValue& value) {
    const Floats all = value.read();
    std::copy(all.begin(), all.end(), &rows.at(name).at(w * sample.T, 0));
  });
  for (std::size_t n = 0; n < probed.size(); ++n)
    looks[std::size_t(probed[n])].untrained = probe_positions(rows.at(names[n]), sample.T);
}

}  // namespace

Measure measure_of(const Architecture& a) {
  if (a.head.form == HeadForm::none) return Measure::rows;
  return a.causal ? Measure::loss : Measure::loss_of_masked;
}

std::string_view unit_of(Measure measure) {
  return measure == Measure::loss             ? "nats per token"
         : measure == Measure::loss_of_masked ? "nats per masked token"
                                              : "1 − cosine of the mean output vectors";
}

SampleOutcome outcome_of(const Trained& m, const Sample& sample) {
  if (headless(m)) return {{}, last_rows(m, sample)};
  if (std::all_of(sample.targets.begin(), sample.targets.end(), [](auto t) { return t == kUnscored; }))
    throw Error(Fault::usage, "no token is scored: there is no loss to compare");
  SampleOutcome out{watch(m, sample, {}, {}), {}};
  finite_sum(out.losses, sample, 0, std::int64_t(out.losses.size()));
  return out;
}

Streams look_at_streams(const Trained& m, const Sample& sample, const std::vector<std::int64_t>& probed) {
  const std::int64_t L = m.model.architecture().layers, T = sample.T, N = std::int64_t(sample.inputs.size());
  Streams out;
  out.looks.resize(std::size_t(L + 1));
  std::vector<std::string> names{"words"};
  for (std::int64_t l = 0; l <= L; ++l) names.push_back(stream_name(m, l));
  for (std::size_t first = 0; first < names.size(); first += kAtOnce) {
    const std::vector<std::string> here(
        names.begin() + std::ptrdiff_t(first),
        names.begin() + std::ptrdiff_t(std::min(first + kAtOnce, names.size())));
    std::map<std::string, Matrix> rows;
    watch(m, sample, here, [&](std::int64_t w, const std::string& name, TapValue& value) {
      const Floats all = value.read();
      Matrix& to = rows[name];
      if (to.rows == 0) to = Matrix(N, std::int64_t(all.size()) / T);
      std::copy(all.begin(), all.end(), &to.at(w * T, 0));
    });
    for (std::size_t n = 0; n < here.size(); ++n) {
      const Matrix& stream = rows.at(here[n]);
      if (first + n == 0) {
        out.words = probe_positions(stream, T);
        continue;
      }
      const auto l = std::int64_t(first + n) - 1;
      StreamLook& look = out.looks[std::size_t(l)];
      const Matrix others = without_first(stream, T);
      look.variance = variance_shares(others, without_first(sample));
      look.half_width = half_widths(others, without_first(sample));
      look.first_length = first_length(stream, T);
      if (std::find(probed.begin(), probed.end(), l) != probed.end()) look.probe = probe_positions(stream, T);
    }
  }
  probe_untrained(m, sample, probed, out.looks);
  return out;
}

Change look_at_shift(const Trained& m, const Sample& sample, const SampleOutcome& before, double shift) {
  const Placement moved = Placement::consecutive(shift, sample.T);
  Sample there = sample;
  there.placement = &moved;
  return between(text("positions + ", shift), sample, before, outcome_of(m, there));
}

Change look_without(const Trained& m, const Sample& sample, const SampleOutcome& before, std::int64_t layer) {
  const Architecture& c = m.model.architecture();
  if (layer >= 0) {
    const Model model = with_spec(m, without_position(c.position, c.layers, layer));
    return between(text("layer ", layer, " without position"), sample, before,
                   outcome_of({model, m.w}, sample));
  }
  Sample nowhere = sample;
  nowhere.drop_positions = true;
  return between("no positions", sample, before, outcome_of(m, nowhere));
}

namespace {

// The rows of a layer and one window, as projected: (heads, T, head dim).
struct Projected {
  const Floats &q, &k;
  std::int64_t T;
};

// The logits (heads, T, T) of head h that a query sees, as they are without any encoding.
void content_alone(const AttentionRule& at, std::int64_t h, const Projected& rows, Floats& logits) {
  const std::int64_t T = rows.T, D = at.head_dim, shared = h / (at.heads / at.kv_heads);
  for (std::int64_t i = 0; i < T; ++i) {
    for (std::int64_t j = 0; j < T; ++j) {
      float& logit = logits[std::size_t((h * T + i) * T + j)];
      if (!std::isfinite(logit)) continue;
      const float *q = &rows.q[std::size_t((h * T + i) * D)], *k = &rows.k[std::size_t((shared * T + j) * D)];
      const double dot = at.scale_of_product() * std::inner_product(q, q + D, k, 0.0);
      logit = float(at.soft_cap > 0 ? at.soft_cap * std::tanh(dot / at.soft_cap) : dot);
    }
  }
}

}  // namespace

Change look_without_heads(const Trained& m, const Sample& sample, const SampleOutcome& before,
                          std::int64_t layer, const std::vector<std::int64_t>& heads) {
  const Architecture& c = m.model.architecture();
  const std::int64_t H = c.attention.heads, T = sample.T;
  const bool known = std::all_of(heads.begin(), heads.end(), [&](std::int64_t h) { return h >= 0 && h < H; });
  if (layer < 0 || layer >= c.layers || heads.empty() || !known)
    throw Error(Fault::usage, text("without position: found no such head; allowed are layers 0 to ",
                                   c.layers - 1, " and heads 0 to ", H - 1));
  const std::string prefix = text("layers.", layer, ".attention.");
  Floats q, k;
  Matrix rows = headless(m) ? Matrix(std::int64_t(sample.inputs.size()), c.width) : Matrix();
  std::vector<std::string> names{prefix + "q", prefix + "k", prefix + "logits"};
  if (headless(m)) names.emplace_back("last");
  const auto losses = watch(m, sample, names, [&](std::int64_t w, const std::string& name, TapValue& value) {
    if (name == "last") {
      const Floats all = value.read();
      return void(std::copy(all.begin(), all.end(), &rows.at(w * T, 0)));
    }
    if (!name.ends_with("logits")) return void((name.ends_with("q") ? q : k) = value.read());
    Floats logits = value.read();
    for (const std::int64_t h : heads) content_alone(c.attention_in(layer), h, {q, k, T}, logits);
    value.write(logits);
  });
  std::string named;
  for (const std::int64_t h : heads) named += text(named.empty() ? "" : ", ", h);
  return between(text("layer ", layer, ", head ", named, " without position"), sample, before,
                 {losses, rows});
}

LongReading look_beyond(const Trained& m, const WayOfReading& way, const Sample& sample,
                        std::int64_t scored) {
  if (scored < 1 || scored > sample.T)
    throw Error(Fault::usage,
                text("beyond: found ", scored, " tokens to score; allowed are 1 to ", sample.T));
  const Model model = with_spec(m, way.spec);
  const std::vector<float> losses = outcome_of({model, m.w}, sample).losses;
  std::vector<BlockSum> blocks;
  for (std::int64_t w = 0; w < sample.count(); ++w) {
    for (std::int64_t b = 0; b < std::min(kBlocks, scored); ++b) {
      const std::int64_t end = (w + 1) * sample.T, n = scored / std::min(kBlocks, scored);
      blocks.push_back(scored_sum(losses, sample, end - scored + b * n, n));
    }
  }
  const BlockMean nats = over_sums(blocks);
  return {way.name, way.spec.print(), sample.T, nats.mean, nats.half_width};
}

}  // namespace gnomon
