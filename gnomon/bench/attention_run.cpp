#include "gnomon/bench/attention_run.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "gnomon/encodings/definition.h"
#include "gnomon/kernels/terms.h"

namespace gnomon::bench {

Floats normals(std::int64_t n, std::string_view name, double deviation) {
  const Random random(1, name);
  Floats x(n);
  for (std::int64_t i = 0; i < n; ++i) x[i] = float(deviation * random.normal(std::uint64_t(i)));
  return x;
}

AttentionRun::AttentionRun(std::string_view encoding, const Sizes& s, const Placement& place)
    : place_(place),
      shape_{s.heads * s.head_dim, s.heads, s.head_dim, place.T(), true},
      encoding_(make_encoding(encoding, shape_)),
      layer_{.B = s.B,
             .T = place.T(),
             .rule = {.heads = s.heads, .kv_heads = s.heads, .head_dim = s.head_dim},
             .causal = true,
             .precision = s.precision} {
  for (const auto& p : encoding_->params()) {
    const Floats noise = normals(p.size(), p.name);
    for (std::int64_t i = 0; i < p.size(); ++i) w_.push_back(float(p.initial(i, noise[i])));
  }
  dw_.resize(w_.size());
  const std::int64_t C = shape_.C, N = s.B * place.T(), step = row_step(C);
  x_ = normals(N * step, "x");
  projections_ = normals(2 * C * (C + 1), "w", 1 / std::sqrt(double(C)));
  qkv_ = normals(N * row_step(3 * C), "qkv");
  dreturned_ = dreturned_now_ = normals(N * step, "d");
  a_.attended.resize(N * step);
  // Vectors that follow from the words are those of each sequence.
  if (part<InputPart>(*encoding_) && encoding_->reads_content()) place_ = place.repeated(s.B);
  e_.resize(Positions(place_).size() * C);
  a_.projections.qkv = qkv_;
  dqkv_.resize(qkv_.size()), dprojections_.resize(projections_.size());
}

void AttentionRun::run() {
  const auto* input = part<InputPart>(*encoding_);
  const Floats tables = input ? input->tables(place_) : Floats{};
  const Content words{layer_.B, layer_.T, {x_.data(), row_step(shape_.C)}, {}, nullptr, nullptr, {}};
  const Batch batch{place_, tables, w_.data(), &words};
  if (input) input->input(batch, e_.data());
  positions_ = {};
  positions_.acting.push_back({encoding_.get(), w_.data(), dw_.data()});
  positions_.places = &place_;
  positions_.plan = compile(positions_.acting, place_, true);
  positions_.dplan = positions_.plan.zeros();
  positions_.reads_content = encoding_->reads_content();
  attention_forward(layer_, positions_, content(), a_);
  dx_.assign(positions_.reads_content ? x_.size() : 0, 0.0f);
  const std::int64_t C = shape_.C;
  float* p = dprojections_.data();
  ContentGrad grad{{dx_.data(), row_step(C)},
                   dqkv_.data(),
                   dqkv_.data() + C,
                   {p, p + C * C, p + 2 * C * C, p + 2 * C * C + C}};
  attention_backward(layer_, positions_, content(), {dreturned_now_.data(), dqkv_.data(), grad}, a_);
  compile_backward(positions_.acting, place_, positions_.plan, positions_.dplan);
  if (input) input->input_backward(batch, e_.data(), {dw_.data(), &grad});
  table_numbers_ = std::int64_t(tables.size());
}

void AttentionRun::restore() {
  std::copy(qkv_.begin(), qkv_.end(), a_.projections.qkv.begin());
  std::copy(dreturned_.begin(), dreturned_.end(), dreturned_now_.begin());
}

double AttentionRun::extra_megabytes() const {
  const Plan& plan = positions_.reads_content ? a_.plan : positions_.plan;
  const Terms& t = plan.terms;
  std::size_t n = std::size_t(table_numbers_);
  for (const TermArray& a : kTermArrays) n += 2 * (t.*a.at).size();  // and its gradient
  for (const Step& step : plan.steps) n += (step.learns ? 2 : 1) * step.numbers();
  const AttentionKept& kept = a_.kept;
  n += 2 * (kept.q.size() + kept.k.size() + kept.v.size()) + kept.attended.size();
  for (const Scratch& rows : kept.before) n += rows.size();
  n += (part<InputPart>(*encoding_) ? e_.size() : 0) + t.first_key.size() + t.end_key.size();
  return double(n) * 4 / 1048576;
}

double AttentionRun::error() {
  restore();
  run();
  const std::int64_t T = place_.T(), C = shape_.C, H = shape_.H, D = C / H, step = row_step(C),
                     qkv_step = row_step(3 * C);
  std::vector<double> q(T * C), k(q.size()), v(q.size()), x(q.size()), w(w_.begin(), w_.end()),
      p(projections_.begin(), projections_.end());
  for (std::int64_t n = 0; n < T * C; ++n) {
    const std::int64_t h = n / (T * D), t = n / D % T, c = h * D + n % D;
    q[n] = qkv_[t * qkv_step + c], k[n] = qkv_[t * qkv_step + C + c], v[n] = qkv_[t * qkv_step + 2 * C + c];
    x[n] = x_[n / C * step + n % C];
  }
  const Scene scene{
      place_, q, k, w, x, v, {p.data(), p.data() + C * C, p.data() + 2 * C * C, p.data() + 2 * C * C + C}};
  double most = 0;
  const auto* input = part<InputPart>(*encoding_);
  for (std::int64_t n = 0; input && n < T * C; ++n)
    most = std::max(most, std::abs(e_[n] - input->input(scene, n / C, n % C)));
  const Definition definition(*encoding_, scene);
  for (std::int64_t n = 0; n < H * T; ++n) {
    const auto want = definition.output(n / T, n % T);
    const float* found = &a_.attended[n % T * step + n / T * D];
    for (std::int64_t d = 0; d < D; ++d) most = std::max(most, std::abs(found[d] - want[std::size_t(d)]));
  }
  return most;
}

Content AttentionRun::content() const {
  const std::int64_t C = shape_.C, step = row_step(3 * C);
  const float* p = projections_.data();
  return {layer_.B,
          layer_.T,
          {x_.data(), row_step(C)},
          {layer_.B, layer_.T, layer_.rule.heads, layer_.T * step, step, layer_.rule.head_dim},
          a_.projections.qkv.data(),
          a_.projections.qkv.data() + C,
          {p, p + C * C, p + 2 * C * C, p + 2 * C * C + C}};
}

}  // namespace gnomon::bench
