#include "gnomon/encodings/definition.h"

#include <algorithm>
#include <cmath>

#include "gnomon/encodings/gates.h"

namespace gnomon {

template <class Part>
std::vector<Definition::At<Part>> Definition::parts_of(const std::vector<Defined>& encodings) const {
  std::vector<At<Part>> all;
  for (const Defined& one : encodings) {
    const Part* of = part<Part>(*one.encoding);
    if (!of) continue;
    all.push_back({of, scene_});
    all.back().scene.w = one.w;
  }
  return all;
}

Definition::Definition(const Shape& shape, const std::vector<Defined>& encodings, const Scene& scene)
    : shape_(shape),
      scene_(scene),
      maps_(parts_of<MapPart>(encodings)),
      value_maps_(parts_of<ValueMapPart>(encodings)),
      biases_(parts_of<BiasPart>(encodings)),
      crosses_(parts_of<CrossPart>(encodings)),
      values_(parts_of<ValuePart>(encodings)),
      masks_(parts_of<MaskPart>(encodings)),
      rules_(parts_of<RulePart>(encodings)),
      far_(parts_of<FarPart>(encodings)),
      carries_(parts_of<CarryPart>(encodings)),
      scale_(1 / std::sqrt(double(shape.D))) {
  for (const auto& at : parts_of<TermsPart>(encodings)) scale_ *= at.part->content_scale();
  for (const auto& at : parts_of<WeightsPart>(encodings)) weights_ = at.part->weights();
  map_rows(Role::q, false, scene.q, q_), map_rows(Role::k, false, scene.k, k_);
  if (!far_.empty()) map_rows(Role::q, true, scene.q, far_q_), map_rows(Role::k, true, scene.k, far_k_);
  if (!carries_.empty()) operators_ = carries_.front().part->operators(carries_.front().scene);
}

void Definition::map_rows(Role role, bool far, std::span<const double> from, std::vector<double>& to) {
  for (std::int64_t n = 0; n < shape_.H * scene_.T(); ++n) {
    const std::int64_t h = n / scene_.T(), t = n % scene_.T();
    const double* begin = from.data() + n * shape_.D;
    std::vector<double> row(begin, begin + shape_.D);
    for (const auto& at : maps_) {
      const auto* otherwise = far ? dynamic_cast<const FarPart*>(at.part) : nullptr;
      if (otherwise) {
        otherwise->far_row(at.scene, role, t, row);
      } else {
        at.part->map_row(at.scene, role, h, t, row);
      }
    }
    width_ = std::int64_t(row.size());
    to.insert(to.end(), row.begin(), row.end());
  }
}

double Definition::score(std::int64_t h, std::int64_t i, std::int64_t j) const {
  const bool far = !far_.empty() && far_.front().part->far(scene_, i, j);
  const double *q = row(far ? far_q_ : q_, h, i), *k = row(far ? far_k_ : k_, h, j);
  std::vector<double> carried;
  if (!carries_.empty()) {
    carried.assign(q, q + width_);
    const std::size_t each = operators_.size() / std::size_t(shape_.H * scene_.T());
    for (std::int64_t l = i; l > j; --l)
      carries_.front().part->pass(std::span(operators_).subspan(std::size_t(h * scene_.T() + l) * each, each),
                                  carried);
    q = carried.data();
  }
  double sum = 0;
  for (std::int64_t c = 0; c < width_; ++c) sum += q[c] * k[c];
  return scale_ * sum;
}

double Definition::logit(std::int64_t h, std::int64_t i, std::int64_t j) const {
  double sum = score(h, i, j);
  for (const auto& at : biases_) sum += at.part->bias(at.scene, h, i, j);
  for (const auto& at : crosses_) sum += at.part->cross(at.scene, h, i, j);
  for (const auto& at : rules_) sum += at.part->rule(at.scene, *this, h, i, j);
  return sum;
}

bool Definition::sees(std::int64_t i, std::int64_t j) const {
  if ((shape_.causal && j > i) || (weights_ == Weighting::stick && j == i)) return false;
  return std::all_of(masks_.begin(), masks_.end(),
                     [&](const auto& at) { return at.part->sees(at.scene, i, j); });
}

// Stick-breaking: ln σ(s_ij) + Σ ln(1 − σ(s_iu)) over the keys u after j that i sees.
double Definition::ln_weight(std::int64_t h, std::int64_t i, std::int64_t j, const Hidden& hidden) const {
  if (weights_ == Weighting::softmax) return logit(h, i, j);
  if (!sees(i, j)) return -INFINITY;
  double log = -softplus(-logit(h, i, j));
  for (std::int64_t u = j + 1; u <= i; ++u) {
    if (sees(i, u) && !(hidden && hidden(u))) log -= softplus(logit(h, i, u));
  }
  return log;
}

std::vector<double> Definition::output(std::int64_t h, std::int64_t i, const Hidden& hidden) const {
  const std::int64_t T = scene_.T(), D = shape_.D;
  const bool softmax = weights_ == Weighting::softmax;
  std::vector<double> weights(std::size_t(T), -INFINITY), out(std::size_t(D), 0.0);
  double most = -INFINITY, sum = 0;
  for (std::int64_t j = 0; j < T; ++j) {
    double& w = weights[std::size_t(j)];
    if (sees(i, j) && !(hidden && hidden(j))) w = ln_weight(h, i, j, hidden);
    most = std::max(most, w);
  }
  if (most == -INFINITY) return out;
  for (double& w : weights) sum += w = std::exp(softmax ? w - most : w);
  for (std::int64_t j = 0; j < T; ++j) {
    const double weight = weights[std::size_t(j)] / (softmax ? sum : 1);
    if (weight == 0) continue;
    const double* v = scene_.v.data() + (h * T + j) * D;
    std::vector<double> value(v, v + D);
    for (const auto& at : value_maps_) at.part->map_value(at.scene, Role::v, h, j, value);
    for (std::int64_t d = 0; d < D; ++d) {
      for (const auto& at : values_) value[std::size_t(d)] += at.part->value(at.scene, h, i, j, d);
      out[std::size_t(d)] += weight * value[std::size_t(d)];
    }
  }
  for (const auto& at : value_maps_) at.part->map_value(at.scene, Role::out, h, i, out);
  return out;
}

}  // namespace gnomon
