#include "gnomon/encodings/content_rotary.h"

#include <cmath>

#include "gnomon/encodings/rotary.h"

namespace gnomon {

void ContentRotary::map_row(const Scene& s, Role, std::int64_t h, std::int64_t t,
                            std::vector<double>& row) const {
  const auto phi = angles(s, h, t);
  for (std::int64_t n = 0; n < pairs(); ++n)
    multiply_pair(window_, n, std::cos(phi[std::size_t(n)]), std::sin(phi[std::size_t(n)]), row);
}

void ContentRotary::map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const {
  const std::int64_t tokens = b.content->B * b.content->T;
  const auto phi = angles(b);
  Rotate r = window_.empty(shape_.H, tokens);
  r.angles.resize(phi.size());
  for (std::int64_t n = 0; n < std::int64_t(phi.size()); ++n) {
    const std::int64_t pair = n % pairs(), h = n / pairs() % shape_.H, at = r.at(h, n / turning()) + pair;
    r.angles[std::size_t(at)] = phi[std::size_t(n)];
    r.cos[at] = float(std::cos(phi[std::size_t(n)])), r.sin[at] = float(std::sin(phi[std::size_t(n)]));
  }
  steps.push_back({Role::q | Role::k, std::move(r), true});
}

void ContentRotary::map_backward(const Batch& b, std::span<const Step>, std::span<const Step> dsteps,
                                 const BatchGrad& grad) const {
  const auto& r = std::get<Rotate>(dsteps[0].what);
  std::vector<double> dphi(std::size_t(r.tokens * turning()));
  for (std::int64_t n = 0; n < std::int64_t(dphi.size()); ++n)
    dphi[std::size_t(n)] = r.cos[r.at(n / pairs() % shape_.H, n / turning()) + n % pairs()];
  angles_backward(b, dphi, grad);
}

std::int64_t tokens_before(const Positions& p, std::int64_t t, std::int64_t most) {
  std::int64_t n = 0;
  while (n < most && t % p.T() > n && p[t - n - 1] < p[t - n]) ++n;
  return n;
}

void add_to_input(const Linear& product, const Floats& dx, const BatchGrad& grad) {
  for (std::int64_t n = 0; n < product.N; ++n) {
    for (std::int64_t c = 0; c < product.in; ++c) grad.content->x.row(n)[c] += dx[n * product.x_step + c];
  }
}

void accumulate(const Sums& s, std::vector<double>& rows) {
  for (std::int64_t n = 0; n < s.sequences * s.tokens; ++n) {
    if (n % s.tokens == 0) continue;
    for (std::int64_t c = 0; c < s.width; ++c)
      rows[std::size_t(n * s.width + c)] += rows[std::size_t((n - 1) * s.width + c)];
  }
}
void accumulate_backward(const Sums& s, std::vector<double>& rows) {
  for (std::int64_t n = s.sequences * s.tokens; n-- > 0;) {
    if (n % s.tokens == 0) continue;
    for (std::int64_t c = 0; c < s.width; ++c)
      rows[std::size_t((n - 1) * s.width + c)] += rows[std::size_t(n * s.width + c)];
  }
}

}  // namespace gnomon
