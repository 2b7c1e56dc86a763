#include "gnomon/lens/inspection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "gnomon/core/error.h"
#include "gnomon/kernels/loss.h"

namespace gnomon {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool headless(const Trained& m) { return m.model.architecture().head.form == HeadForm::none; }

// The mean over windows of what each gained, and the half-width of its 95 % interval.
struct Mean {
  double mean, half_width;
};
Mean paired(std::span<const float> now, std::span<const float> before, std::int64_t T) {
  std::vector<double> gained;
  for (std::size_t n = 0; n < now.size(); n += std::size_t(T)) {
    double sum = 0;
    for (std::size_t t = n; t < n + std::size_t(T); ++t)
      sum += (double(now[t]) - (before.empty() ? 0.0 : double(before[t]))) / double(T);
    gained.push_back(sum);
  }
  double mean = 0, squares = 0;
  for (const double g : gained) mean += g / double(gained.size());
  for (const double g : gained) squares += (g - mean) * (g - mean);
  const double n = double(gained.size());
  return {mean, n > 1 ? 1.96 * std::sqrt(squares / (n - 1) / n) : kNan};
}

Change between(const std::string& what, const SampleOutcome& before, const SampleOutcome& after,
               std::int64_t T) {
  Change c{what, kNan, kNan, kNan};
  if (before.losses.empty()) {
    c.pooled = pooled_change(before.rows, after.rows, T);
  } else {
    const Mean gained = paired(after.losses, before.losses, T);
    c.loss = gained.mean, c.half_width = gained.half_width;
  }
  return c;
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

// Streams of one pass: all of them at once would be as large as a model.
constexpr std::size_t kAtOnce = 8;

}  // namespace

SampleOutcome outcome_of(const Trained& m, const Sample& sample) {
  if (headless(m)) return {{}, last_rows(m, sample)};
  return {watch(m, sample, {}, {}), {}};
}

Streams look_at_streams(const Trained& m, const Sample& sample, const std::vector<std::int64_t>& probed) {
  const std::int64_t L = m.model.architecture().layers, T = sample.T, N = std::int64_t(sample.inputs.size());
  Streams out;
  out.looks.resize(std::size_t(L + 1));
  std::vector<std::string> names{"words"};
  for (std::int64_t l = 0; l < L; ++l) names.push_back(text("layers.", l, ".before"));
  names.push_back(text("layers.", L - 1, ".after"));
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
      look.variance = variance_shares(without_first(stream, T), without_first(sample));
      look.first_length = first_length(stream, T);
      if (std::find(probed.begin(), probed.end(), l) != probed.end()) look.probe = probe_positions(stream, T);
    }
  }
  return out;
}

Change look_at_shift(const Trained& m, const Sample& sample, const SampleOutcome& before, double shift) {
  const Placement moved = Placement::consecutive(shift, sample.T);
  Sample there = sample;
  there.placement = &moved;
  return between(text("positions + ", shift), before, outcome_of(m, there), sample.T);
}

Change look_without(const Trained& m, const Sample& sample, const SampleOutcome& before, std::int64_t layer) {
  const Architecture& c = m.model.architecture();
  if (layer >= 0) {
    const Model model = with_spec(m, without_position(c.position, c.layers, layer));
    return between(text("layer ", layer, " without position"), before, outcome_of({model, m.w}, sample),
                   sample.T);
  }
  if (headless(m)) return between("no positions", before, {{}, last_rows(m, sample, true)}, sample.T);
  Spec none = c.position;
  none.attention.clear(), none.layers.clear();
  const Model model = with_spec(m, none);
  return between("no positions", before, outcome_of({model, m.w}, sample), sample.T);
}

LongReading look_beyond(const Trained& m, const WayOfReading& way, const Sample& sample,
                        std::int64_t scored) {
  if (scored < 1 || scored > sample.T)
    throw Error(Fault::usage, text("beyond: the last ", scored, " of ", sample.T, " tokens"));
  const Model model = with_spec(m, way.spec);
  Sample last = sample;
  for (std::size_t n = 0; n < last.targets.size(); ++n) {
    if (std::int64_t(n) % sample.T < sample.T - scored) last.targets[n] = kUnscored;
  }
  const Mean nats = paired(outcome_of({model, m.w}, last).losses, {}, sample.T);
  const double whole = double(sample.T) / double(scored);
  return {way.name, way.spec.print(), sample.T, nats.mean * whole, nats.half_width * whole};
}

}  // namespace gnomon
