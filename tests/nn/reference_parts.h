// The parts of the twin in double (reference_model.h) that know no positions: parameters by name, norms, matrices, feed-forward
// parts and experts.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gnomon/nn/model.h"
#include "tests/kernels/activation.h"

namespace gnomon {

class ReferenceParts {
 public:
  using Matrix = std::vector<std::vector<double>>;  // (T, channels)
  // Called with the values of a pass over one sequence, by the names of nn/taps.h.
  std::function<void(const std::string& name, const std::vector<double>& values)> note;

 protected:
  ReferenceParts(const Model& model, const std::vector<double>& w)
      : model_(model), c_(model.architecture()), w_(w) {}
  void tell(const std::string& name, const std::vector<double>& values) const {
    if (note) note(name, values);
  }
  void tell(const std::string& name, const Matrix& rows) const {
    std::vector<double> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    tell(name, all);
  }
  const double* at(const std::string& name) const { return w_.data() + model_.param(name).offset; }
  const double* maybe(const std::string& name) const {
    for (const auto& p : model_.params()) {
      if (p.spec.name == name) return w_.data() + p.offset;
    }
    return nullptr;
  }
  double activated(double x) const { return activation_by_definition(c_.feed_forward.activation, x); }
  static double capped(double x, double cap) { return cap == 0 ? x : cap * std::tanh(x / cap); }
  std::span<const double> tail(const std::string& prefix) const {
    for (const auto& p : model_.params()) {
      if (p.spec.name.rfind(prefix, 0) == 0) return std::span(w_).subspan(p.offset);
    }
    return {};
  }
  Matrix times(const Matrix& x, const double* weight, const double* bias, std::int64_t out) const {
    Matrix y(x.size(), std::vector<double>(out));
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::int64_t o = 0; o < out; ++o) {
        y[t][o] = bias ? bias[o] : 0;
        for (std::size_t i = 0; i < x[t].size(); ++i)
          y[t][o] += weight[o * std::int64_t(x[t].size()) + std::int64_t(i)] * x[t][i];
      }
    }
    return y;
  }
  Matrix linear(const Matrix& x, const std::string& name, std::int64_t out) const {
    return times(x, at(name + ".weight"), maybe(name + ".bias"), out);
  }
  Matrix norm(const Matrix& x, const std::string& name) const { return norm(x, name, c_.norm.form); }
  // `first`: of the gains, where a head has its own.
  Matrix norm(const Matrix& x, const std::string& name, NormForm form, std::int64_t first = 0) const {
    Matrix y = x;
    for (auto& row : y) {
      const double n = double(row.size());
      double mean = 0, squares = 0;
      const bool layer = form != NormForm::rms && form != NormForm::rms_one_plus;
      const double one = form == NormForm::rms_one_plus ? 1 : 0;
      const double *bias = maybe(name + "bias"), *gain = maybe(name + "gain");
      if (layer) {
        for (const double v : row) mean += v / n;
      }
      for (const double v : row) squares += (v - mean) * (v - mean) / n;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::size_t own = std::size_t(first) + i;
        row[i] = (row[i] - mean) / std::sqrt(squares + c_.norm.epsilon) * (gain ? one + gain[own] : 1) +
                 (bias ? bias[own] : 0);
      }
    }
    return y;
  }
  static void add(const Matrix& x, Matrix& h) {
    for (std::size_t t = 0; t < h.size(); ++t) {
      for (std::size_t c = 0; c < h[t].size(); ++c) h[t][c] += x[t][c];
    }
  }
  // What the feed-forward part makes of what goes up.
  double gated(const std::vector<double>& up, std::int64_t n) const {
    const FeedForward& f = c_.feed_forward;
    if (f.gating == Gating::off) return activated(up[n]);
    const double other = up[up.size() / 2 + std::size_t(n)], most = f.limit;
    if (f.gating == Gating::on) return activated(up[n]) * other;
    return activated(std::min(up[n], most)) * (std::min(std::max(other, -most), most) + 1);
  }
  // down(f(up(x))) of this hidden width, in one piece.
  Matrix plain(const Matrix& x, const std::string& name, std::int64_t hidden, bool told) const {
    const Matrix up = linear(x, name + "up", c_.feed_forward.gating == Gating::off ? hidden : 2 * hidden);
    Matrix rows(x.size());
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::int64_t n = 0; n < hidden; ++n) rows[t].push_back(gated(up[t], n));
    }
    if (told) tell(name + "up", up), tell(name + "hidden", rows);
    return linear(rows, name + "down", c_.width);
  }
  Matrix feed_forward(const Matrix& x, std::int64_t l, const std::string& name) const {
    const Experts& e = c_.feed_forward.experts;
    tell(name + "read", x);
    const OtherHidden& others = c_.feed_forward.others;
    const bool other = std::count(others.layers.begin(), others.layers.end(), l) > 0;
    if (e.count == 0 || other) return plain(x, name, other ? others.hidden : c_.feed_forward.hidden, true);
    Matrix y = experts(x, name);
    if (e.shared == 0) return y;
    const Matrix shared = plain(x, name + "shared.", e.shared, false);
    for (std::size_t t = 0; t < x.size(); ++t) {
      double gate = 0;
      for (std::int64_t c = 0; e.shared_gate && c < c_.width; ++c)
        gate += at(name + "shared.gate")[c] * x[t][c];
      for (std::int64_t c = 0; c < c_.width; ++c)
        y[t][c] += shared[t][c] * (e.shared_gate ? 1 / (1 + std::exp(-gate)) : 1);
    }
    return y;
  }
  // What the router makes of its logits: 0 for experts that are not chosen.
  std::vector<double> routed(const std::vector<double>& logits, const std::string& name) const {
    const Experts& e = c_.feed_forward.experts;
    const bool sigmoids = e.routing == Routing::sigmoid || e.routing == Routing::sigmoid_of_chosen;
    std::vector<double> scores, asked, weights;
    double all = 0, sum = 0;
    for (const double z : logits) all += std::exp(z);
    for (std::size_t n = 0; n < logits.size(); ++n) {
      scores.push_back(sigmoids ? 1 / (1 + std::exp(-logits[n])) : std::exp(logits[n]) / all);
      asked.push_back(scores[n] + (e.choice ? at(name + "choice")[n] : 0));
    }
    for (std::size_t n = 0; n < logits.size(); ++n) {
      const auto larger = std::count_if(asked.begin(), asked.end(), [&](double x) { return x > asked[n]; });
      weights.push_back(larger < e.active ? scores[n] : 0);
      sum += weights[n];
    }
    const bool whole = e.routing == Routing::of_all || e.routing == Routing::sigmoid;
    for (double& w : weights) w *= e.scale / (whole ? 1 : sum);
    return weights;
  }
  // Every expert of every token, with the weight that the router gives it, which of most is 0.
  Matrix experts(const Matrix& x, const std::string& name) const {
    const FeedForward& f = c_.feed_forward;
    const std::int64_t E = f.experts.count, U = f.gating == Gating::off ? f.hidden : 2 * f.hidden;
    const Matrix logits = linear(x, name + "router", E);
    tell(name + "router", logits);
    Matrix y(x.size(), std::vector<double>(c_.width));
    for (std::size_t t = 0; t < x.size(); ++t) {
      const std::vector<double> weights = routed(logits[t], name);
      for (std::int64_t e = 0; e < E; ++e) {
        if (weights[e] == 0) continue;
        const double *up_bias = maybe(name + "up.bias"), *down_bias = maybe(name + "down.bias");
        const Matrix up =
            times({x[t]}, at(name + "up.weight") + e * U * c_.width, up_bias ? up_bias + e * U : nullptr, U);
        Matrix rows(1);
        for (std::int64_t n = 0; n < f.hidden; ++n) rows[0].push_back(gated(up[0], n));
        const Matrix out = times(rows, at(name + "down.weight") + e * c_.width * f.hidden,
                                 down_bias ? down_bias + e * c_.width : nullptr, c_.width);
        for (std::int64_t c = 0; c < c_.width; ++c) y[t][c] += weights[e] * out[0][c];
      }
    }
    return y;
  }

  const Model& model_;
  const Architecture c_;
  const std::vector<double>& w_;
};

}  // namespace gnomon
