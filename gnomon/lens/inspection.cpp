#include "gnomon/lens/inspection.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

std::vector<float> losses_of(const Trained& m, const Sample& sample) { return watch(m, sample, {}, {}); }

Change change(const std::string& what, const Trained& m, const Sample& sample, const Trained& other,
              const Sample& there) {
  Change c{what, kNan, kNan, kNan};
  if (headless(m)) {
    c.pooled = pooled_change(last_rows(m, sample), last_rows(other, there), sample.T);
    return c;
  }
  const Mean gained = paired(losses_of(other, there), losses_of(m, sample), sample.T);
  c.loss = gained.mean, c.half_width = gained.half_width;
  return c;
}

}  // namespace

Streams look_at_streams(const Trained& m, const Sample& sample, const std::vector<std::int64_t>& probed) {
  const std::int64_t L = m.model.architecture().layers, T = sample.T, N = std::int64_t(sample.inputs.size());
  Streams out;
  out.looks.resize(std::size_t(L + 1));
  Matrix words;
  std::vector<std::string> names{"words"};
  for (std::int64_t l = 0; l < L; ++l) names.push_back(text("layers.", l, ".before"));
  names.push_back(text("layers.", L - 1, ".after"));
  // One value at a time, for all streams of all windows together are as large as the model.
  for (std::size_t n = 0; n < names.size(); ++n) {
    Matrix rows;
    watch(m, sample, {names[n]}, [&](std::int64_t w, const std::string&, TapValue& value) {
      const Floats all = value.read();
      if (rows.rows == 0) rows = Matrix(N, std::int64_t(all.size()) / T);
      std::copy(all.begin(), all.end(), &rows.at(w * T, 0));
    });
    if (n == 0) {
      out.words = probe_positions(rows, T);
      continue;
    }
    StreamLook& look = out.looks[n - 1];
    look.variance = variance_shares(rows, sample);
    if (std::find(probed.begin(), probed.end(), std::int64_t(n - 1)) != probed.end())
      look.probe = probe_positions(rows, T);
  }
  return out;
}

Change look_at_shift(const Trained& m, const Sample& sample, double shift) {
  const Placement moved = Placement::consecutive(shift, sample.T);
  Sample there = sample;
  there.placement = &moved;
  return change(text("positions + ", shift), m, sample, m, there);
}

Change look_without(const Trained& m, const Sample& sample, std::int64_t layer) {
  const Architecture& c = m.model.architecture();
  if (layer >= 0) {
    const Model model = with_spec(m, without_position(c.position, c.layers, layer));
    return change(text("layer ", layer, " without position"), m, sample, {model, m.w}, sample);
  }
  if (headless(m)) {
    Change without{"no positions", kNan, kNan, kNan};
    without.pooled = pooled_change(last_rows(m, sample), last_rows(m, sample, true), sample.T);
    return without;
  }
  Spec none = c.position;
  none.attention.clear(), none.layers.clear();
  const Model model = with_spec(m, none);
  return change("no positions", m, sample, {model, m.w}, sample);
}

Reading look_beyond(const Trained& m, const Extension& way, const Sample& sample, std::int64_t scored) {
  if (scored < 1 || scored > sample.T)
    throw Error(Fault::usage, text("beyond: the last ", scored, " of ", sample.T, " tokens"));
  const Model model = with_spec(m, way.spec);
  Sample last = sample;
  for (std::size_t n = 0; n < last.targets.size(); ++n) {
    if (std::int64_t(n) % sample.T < sample.T - scored) last.targets[n] = kUnscored;
  }
  const Mean nats = paired(losses_of({model, m.w}, last), {}, sample.T);
  const double whole = double(sample.T) / double(scored);
  return {way.name, way.spec.print(), sample.T, nats.mean * whole, nats.half_width * whole};
}

}  // namespace gnomon
