#include "gnomon/encodings/two_pass.h"

#include <algorithm>
#include <cmath>

namespace gnomon {

double TwoPass::logit(const Scene& s, std::int64_t h, std::int64_t i, std::int64_t j) const {
  const double distance = s.positions[i] - s.positions[j];
  if (distance < near_) return Rotary::logit(s, h, i, j);
  // Far: the same product with other turns.
  const std::vector<double> places{far_turn(Role::q, s.positions[i]), far_turn(Role::k, s.positions[j])};
  std::vector<double> q(std::size_t(shape_.H * 2 * shape_.D)), k(q.size());
  std::copy_n(&s.q[(h * s.T() + i) * shape_.D], shape_.D, &q[h * 2 * shape_.D]);
  std::copy_n(&s.k[(h * s.T() + j) * shape_.D], shape_.D, &k[(h * 2 + 1) * shape_.D]);
  return Rotary::logit({places, q, k, {}}, h, 0, 1);
}

void TwoPass::map(const Batch& b, const OwnChannels& own, std::vector<Step>& steps) const {
  steps.push_back({Role::q | Role::k, Repeat{own.far, shape_.D}});
  for (const Role role : {Role::q, Role::k}) {
    std::vector<double> turned;
    for (std::int64_t t = 0; t < b.tokens(); ++t) turned.push_back(far_turn(role, b.positions[t]));
    Rotate far = rotation({turned, b.positions.rows, 1}, role);
    far.first += own.far;
    steps.push_back({unsigned(role), std::move(far)});
  }
  Rotary::map(b, own, steps);
}

void TwoPass::lower(const Batch&, Terms& t) const { t.far_from = near_; }

}  // namespace gnomon
