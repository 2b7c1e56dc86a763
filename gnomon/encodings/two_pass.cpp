#include "gnomon/encodings/two_pass.h"

#include <algorithm>
#include <cmath>

namespace gnomon {

void TwoPass::far_row(const Scene& s, Role role, std::int64_t t, std::vector<double>& row) const {
  const double place = far_turn(role, s.positions[t]);
  Rotary::map_row({{{&place, 1}, 1, 1}, {}, {}, {}}, role, 0, 0, row);
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
