#include "gnomon/encodings/disentangled.h"

#include <algorithm>
#include <cmath>

#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/norm.h"

namespace gnomon {

std::vector<OptionSpec> Disentangled::options(std::string_view projections, std::vector<OptionSpec> more) {
  more.push_back(
      {.name = "terms",
       .help =
           "terms besides content-to-content: content-to-position, position-to-content, position-to-position",
       .standard = "c2p_p2c",
       .words = {"c2p", "p2c", "c2p_p2c", "c2p_p2c_p2p"}});
  more.push_back({.name = "projections",
                  .help = "projections of the table: its own, or the layer's query and key projections",
                  .standard = projections,
                  .words = {"own", "shared"}});
  more.push_back({.name = "layers",
                  .help = "one table with its projections for all layers, or for each layer its own",
                  .standard = "one",
                  .words = {"one", "own"}});
  more.push_back({.name = "norm",
                  .help = "apply LayerNorm to the table",
                  .standard = projections == "shared" ? "on" : "off",
                  .words = {"on", "off"}});
  more.push_back({.name = "epsilon",
                  .help = "epsilon of that LayerNorm; every published checkpoint has 1e-7",
                  .standard = "1e-07",
                  .least = 1e-12,
                  .most = 1});
  more.push_back(
      {.name = "direction",
       .help =
           "sign of the distance in position-to-content: as in the authors' code, or as printed in the paper",
       .standard = "code",
       .words = {"code", "paper"},
       .must_be_named = true});
  return more;
}

Disentangled::Disentangled(const Options& options, const Shape& shape, std::int64_t span)
    : Encoding(shape),
      span_(span),
      c2p_(options.word("terms") != "p2c"),
      p2c_(options.word("terms") != "c2p"),
      p2p_(options.word("terms") == "c2p_p2c_p2p"),
      shared_(options.word("projections") == "shared"),
      own_(options.word("layers") == "own"),
      norm_(options.word("norm") == "on"),
      paper_(options.word("direction") == "paper"),
      factor_(1 + c2p_ + p2c_ + p2p_),
      epsilon_(options.number("epsilon")) {}

std::vector<ParamSpec> Disentangled::params() const {
  const std::int64_t C = shape_.C, HD = shape_.H * shape_.D;
  std::vector<ParamSpec> all{{"table", {rows(), C}, 0, norm_ ? 0.02 : 1, false}};
  if (norm_) {
    all.push_back({"norm.gain", {C}, 1, 0, false});
    all.push_back({"norm.bias", {C}, 0, 0, false});
  }
  for (const char* name : {"key", "query"}) {
    if (shared_) break;
    all.push_back({std::string(name) + ".weight", {HD, C}, 0, 1 / std::sqrt(double(C)), true});
    all.push_back({std::string(name) + ".bias", {HD}, 0, 0, false});
  }
  return all;
}

std::int64_t Disentangled::row_of(double delta) const {
  return std::int64_t(std::clamp(offset(delta) + double(span_), 0.0, double(rows() - 1)));
}

// Channel of Q (Role::q) or K in double.
double Disentangled::projected(const Scene& s, Role role, std::int64_t row, std::int64_t channel) const {
  const std::int64_t C = shape_.C, HD = shape_.H * shape_.D;
  std::vector<double> p(&s.w[row * C], &s.w[row * C] + C);
  if (norm_) {
    double mean = 0, squares = 0;
    for (const double x : p) mean += x / double(C);
    for (const double x : p) squares += (x - mean) * (x - mean) / double(C);
    for (std::int64_t c = 0; c < C; ++c)
      p[c] = (p[c] - mean) / std::sqrt(squares + epsilon_) * s.w[gain() + c] + s.w[gain() + C + c];
  }
  const double *weight, *bias;
  if (shared_) {
    weight = role == Role::q ? s.projections.q : s.projections.k;
    bias = role == Role::q ? s.projections.q_bias : s.projections.k_bias;
  } else {
    weight = s.w.data() + (role == Role::q ? weight_q() : weight_k());
    bias = weight + HD * C;
  }
  double sum = bias ? bias[channel] : 0;  // a layer's projections may have none
  for (std::int64_t c = 0; c < C; ++c) sum += weight[channel * C + c] * p[c];
  return sum;
}

double Disentangled::cross(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const {
  const std::int64_t D = shape_.D;
  const double *q = &s.q[(h * s.T() + i) * D], *k = &s.k[(h * s.T() + j) * D];
  const double delta = s.positions[i] - s.positions[j];
  double sum = 0;
  for (std::int64_t d = 0; d < D; ++d) {
    const double K = c2p_ ? projected(s, Role::k, row_of(delta), h * D + d) : 0;
    const double Q = p2c_ ? projected(s, Role::q, query_row(delta), h * D + d) : 0;
    sum += q[d] * K + k[d] * Q + (p2p_ ? Q * K : 0);
  }
  return sum / std::sqrt(factor_ * double(D));
}

struct Disentangled::Projected {
  Scratch table, statistics, K, Q;  // (rows,C) after the norm, (rows,2), (rows,H·D) twice
  Projections<const float> by;
  Scratch dK, dQ;
};

Disentangled::Projected Disentangled::project(const Batch& b) const {
  const std::int64_t C = shape_.C, HD = shape_.H * shape_.D, n = rows();
  Projected p;
  p.table.resize(n * C), p.statistics.resize(2 * n), p.K.resize(n * HD), p.Q.resize(n * HD);
  if (norm_) {
    normalise({Norm::layer, n, C, C, float(epsilon_)}, b.w, b.w + gain(), b.w + gain() + C, p.table.data(),
              p.statistics.data());
  } else {
    std::copy_n(b.w, n * C, p.table.data());
  }
  const float *k = b.w + weight_k(), *q = b.w + weight_q();
  p.by = shared_ ? b.content->projections : Projections<const float>{q, k, q + HD * C, k + HD * C};
  linear({n, C, HD, C, HD}, p.table.data(), p.by.k, p.by.k_bias, p.K.data());
  linear({n, C, HD, C, HD}, p.table.data(), p.by.q, p.by.q_bias, p.Q.data());
  return p;
}

void Disentangled::lower(const Batch& b, Terms& t) const {
  const std::int64_t H = shape_.H, D = shape_.D, HD = H * D, R = t.distances;
  const Projected p = project(b);
  const float root = float(1 / std::sqrt(factor_ * double(D)));
  if (c2p_) make_over_distances(t, t.query_cross, H, D);
  if (p2c_) make_over_distances(t, t.key_cross, H, D);
  if (p2p_) make_over_distances(t, t.by_distance, H, 1);
  for (std::int64_t n = 0; n < H * R; ++n) {
    const std::int64_t h = n / R;
    const double delta = double(t.first_distance + n % R);
    const float *K = &p.K[row_of(delta) * HD + h * D], *Q = &p.Q[query_row(delta) * HD + h * D];
    for (std::int64_t d = 0; d < D; ++d) {
      if (c2p_) t.query_cross[n * D + d] += root * K[d];
      if (p2c_) t.key_cross[n * D + d] += root * Q[d];
      if (p2p_) t.by_distance[n] += root * K[d] * Q[d];
    }
  }
}

void Disentangled::lower_backward(const Batch& b, const Terms& g, const BatchGrad& grad) const {
  const std::int64_t H = shape_.H, D = shape_.D, HD = H * D, R = g.distances;
  Projected p = project(b);
  p.dK.assign(p.K.size(), 0.0f), p.dQ.assign(p.Q.size(), 0.0f);
  const float root = float(1 / std::sqrt(factor_ * double(D)));
  for (std::int64_t n = 0; n < H * R; ++n) {
    const std::int64_t h = n / R;
    const double delta = double(g.first_distance + n % R);
    const std::int64_t k = row_of(delta) * HD + h * D, q = query_row(delta) * HD + h * D;
    for (std::int64_t d = 0; d < D; ++d) {
      if (c2p_) p.dK[k + d] += root * g.query_cross[n * D + d];
      if (p2c_) p.dQ[q + d] += root * g.key_cross[n * D + d];
      if (p2p_) {
        p.dK[k + d] += root * g.by_distance[n] * p.Q[q + d];
        p.dQ[q + d] += root * g.by_distance[n] * p.K[k + d];
      }
    }
  }
  project_backward(b, p, grad);
}

void Disentangled::project_backward(const Batch& b, const Projected& p, const BatchGrad& grad) const {
  const std::int64_t C = shape_.C, HD = shape_.H * shape_.D, n = rows();
  float *k = grad.w + weight_k(), *q = grad.w + weight_q();
  const Projections<float> to =
      shared_ ? grad.content->projections : Projections<float>{q, k, q + HD * C, k + HD * C};
  Scratch both(n * C), one(n * C);
  linear_backward({n, C, HD, C, HD}, p.table.data(), p.by.k, p.dK.data(), {both.data(), to.k, to.k_bias});
  linear_backward({n, C, HD, C, HD}, p.table.data(), p.by.q, p.dQ.data(), {one.data(), to.q, to.q_bias});
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += one[i];
  if (norm_) {
    normalise_backward({Norm::layer, n, C, C}, b.w, b.w + gain(), p.statistics.data(), both.data(),
                       {grad.w, grad.w + gain(), grad.w + gain() + C});
  } else {
    for (std::int64_t i = 0; i < n * C; ++i) grad.w[i] += both[i];
  }
}

}  // namespace gnomon
