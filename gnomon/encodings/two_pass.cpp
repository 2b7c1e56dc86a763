#include "gnomon/encodings/two_pass.h"

#include <algorithm>
#include <cmath>

#include "gnomon/encodings/rows.h"

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

Floats TwoPass::tables(const Positions& p) const {
  Floats all = Rotary::tables(p);
  for (const Role role : {Role::q, Role::k}) {
    std::vector<double> turned;
    for (std::int64_t t = 0; t < p.size(); ++t) turned.push_back(far_turn(role, p[t]));
    const Floats far = Rotary::tables({turned, p.rows, 1});
    all.insert(all.end(), far.begin(), far.end());
  }
  return all;
}

void TwoPass::turn_far(const Batch& b, Role role, const MapRows& rows, int sign, float* x) const {
  const std::int64_t size = b.tokens() * window().pairs();
  const float* cos = b.tables.data() + (role == Role::q ? 2 : 4) * size;
  rotate({window().pairing, window().pairs(), cos, cos + size, b.positions.rows > 1}, rows.layout, sign,
         x + rows.far);
}
void TwoPass::map(const Batch& b, Role role, const MapRows& rows, float* x) const {
  if (role != Role::q && role != Role::k) return;
  each_row(rows.layout, b.positions, [&](std::int64_t, std::int64_t, std::int64_t place) {
    std::copy_n(x + place, shape_.D, x + place + rows.far);
  });
  turn_far(b, role, rows, +1, x);
  apply(b, role, rows, +1, x);
}
void TwoPass::map_backward(const Batch& b, Role role, const MapRows& rows, const float*, float* dy,
                           const BatchGrad&) const {
  if (role != Role::q && role != Role::k) return;
  turn_far(b, role, rows, -1, dy);
  apply(b, role, rows, -1, dy);
  each_row(rows.layout, b.positions, [&](std::int64_t, std::int64_t, std::int64_t place) {
    for (std::int64_t d = 0; d < shape_.D; ++d) dy[place + d] += dy[place + rows.far + d];
  });
}

void TwoPass::lower(const Batch&, Terms& t) const { t.far_from = near_; }

}  // namespace gnomon
