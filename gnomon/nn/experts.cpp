// The feed-forward part as experts: a router gives each token to some of them, and their outputs are added up with its weights.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/layer.h"

namespace gnomon {
namespace {

constexpr std::int64_t kNoRow = -1;  // an entry that only fills up

// Rows of a product for n entries: four sizes from one power of two to the next, since the library compiles a product for each.
std::int64_t rounded(std::int64_t n) {
  if (n <= 4) return n;
  const std::int64_t unit = std::int64_t(std::bit_floor(std::uint64_t(n))) / 4;
  return (n + unit - 1) / unit * unit;
}

struct Shapes {
  std::int64_t E, C, F, step, up_step, hidden_step, router_step;
  Linear router;
  Linear up(std::int64_t rows) const { return {rows, C, up_width, step, up_step}; }
  Linear down(std::int64_t rows) const { return {rows, F, C, hidden_step, step}; }
  std::int64_t up_width;
};
Shapes shapes(const LayerShape& s, const FeedForward& f) {
  const std::int64_t E = f.experts.count, C = s.a.width, step = row_step(C), router_step = row_step(E);
  return {E,
          C,
          f.hidden,
          step,
          row_step(f.up_width()),
          row_step(f.hidden),
          router_step,
          {s.N(), C, E, step, router_step},
          f.up_width()};
}
Activated activated(const FeedForward& f, const Shapes& z, const ExpertsKept& k) {
  return {f, k.first.back(), z.up_step, z.hidden_step};
}
// Where the parameters of expert e begin.
LinearAt of_expert(const LinearAt& all, const Linear& shape, std::int64_t e) {
  return {all.weight + e * shape.out * shape.in, all.bias < 0 ? -1 : all.bias + e * shape.out};
}

using Numbers = std::vector<double>;
bool by_sigmoid(Routing routing) {
  return routing == Routing::sigmoid || routing == Routing::sigmoid_of_chosen;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The experts with the largest numbers, in their order. NaN chooses the first.
std::vector<std::int64_t> largest(const Numbers& x, std::int64_t active) {
  std::vector<std::int64_t> all(x.size());
  std::iota(all.begin(), all.end(), 0);
  if (std::none_of(x.begin(), x.end(), [](double v) { return std::isnan(v); })) {
    std::partial_sort(all.begin(), all.begin() + active, all.end(), [&](std::int64_t a, std::int64_t b) {
      return x[std::size_t(a)] != x[std::size_t(b)] ? x[std::size_t(a)] > x[std::size_t(b)] : a < b;
    });
  }
  all.resize(static_cast<std::size_t>(active));
  std::sort(all.begin(), all.end());
  return all;
}
// The softmax of the logits of `of`; 0 for the others.
Numbers softmax(const Numbers& logits, std::span<const std::int64_t> of) {
  Numbers weights(logits.size());
  double most = -INFINITY, sum = 0;
  for (const std::int64_t e : of) most = std::max(most, logits[std::size_t(e)]);
  for (const std::int64_t e : of) sum += std::exp(logits[std::size_t(e)] - most);
  for (const std::int64_t e : of) weights[std::size_t(e)] = std::exp(logits[std::size_t(e)] - most) / sum;
  return weights;
}

// What the experts are chosen by: the logits, which order them as their softmax does, or with a number of each added to what
// becomes its weight.
Numbers asked(const Experts& rule, const Numbers& logits, std::span<const std::int64_t> everyone,
              const float* choice) {
  Numbers x = logits;
  if (by_sigmoid(rule.routing)) {
    for (double& v : x) v = sigmoid(v);
  } else if (choice) {
    x = softmax(logits, everyone);
  }
  for (std::size_t e = 0; choice && e < x.size(); ++e) x[e] += double(choice[e]);
  return x;
}
Numbers weights_of(const Experts& rule, const Numbers& logits, std::span<const std::int64_t> taken,
                   std::span<const std::int64_t> everyone) {
  if (!by_sigmoid(rule.routing)) return softmax(logits, rule.routing == Routing::of_all ? everyone : taken);
  Numbers weights(logits.size());
  double sum = 0;
  for (const std::int64_t e : taken) sum += weights[std::size_t(e)] = sigmoid(logits[std::size_t(e)]);
  for (double& w : weights) w = rule.routing == Routing::sigmoid ? w : w / sum;
  return weights;
}

// k.weights, k.first and k.row from k.logits. `choice` is null where none is added.
void route(const LayerShape& s, const Experts& rule, const Shapes& z, const float* choice, ExpertsKept& k) {
  std::vector<std::int64_t> everyone(static_cast<std::size_t>(z.E));
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(z.E));
  k.weights.assign(k.logits.size(), 0.0f);
  for (std::int64_t n = 0; n < s.N(); ++n) {
    const float* row = &k.logits[std::size_t(n * z.router_step)];
    const Numbers logits(row, row + z.E);
    const auto taken = largest(asked(rule, logits, everyone, choice), rule.active);
    const Numbers weights = weights_of(rule, logits, taken, everyone);
    for (std::int64_t e = 0; e < z.E; ++e)
      k.weights[std::size_t(n * z.router_step + e)] = float(rule.scale * weights[std::size_t(e)]);
    for (const std::int64_t e : taken) rows[std::size_t(e)].push_back(n);
  }
  k.first.assign(1, 0), k.row.clear();
  for (const auto& of : rows) {
    k.row.insert(k.row.end(), of.begin(), of.end());
    k.row.resize(std::size_t(k.first.back() + rounded(std::int64_t(of.size()))), kNoRow);
    k.first.push_back(std::int64_t(k.row.size()));
  }
}

// f(entry, row of the token, expert) for what is no filling.
template <class Body>
void each_entry(const ExpertsKept& k, const Body& f) {
  for (std::size_t e = 0; e + 1 < k.first.size(); ++e) {
    for (std::int64_t n = k.first[e]; n < k.first[e + 1]; ++n) {
      if (k.row[std::size_t(n)] != kNoRow) f(n, k.row[std::size_t(n)], std::int64_t(e));
    }
  }
}
// f(expert, its first entry, entries) for experts that have some.
template <class Body>
void each_expert(const ExpertsKept& k, const Body& f) {
  for (std::size_t e = 0; e + 1 < k.first.size(); ++e) {
    if (k.first[e + 1] > k.first[e]) f(std::int64_t(e), k.first[e], k.first[e + 1] - k.first[e]);
  }
}
void gather(const Shapes& z, ExpertsKept& k, const float* h) {
  k.x.assign(std::size_t(k.first.back() * z.step), 0.0f);
  each_entry(k, [&](std::int64_t n, std::int64_t row, std::int64_t) {
    std::copy_n(h + row * z.step, z.C, &k.x[std::size_t(n * z.step)]);
  });
}

// The gradient of the router's logits from that of the weights, row by row in place. Of a softmax over all, the weights of those
// that were not chosen count too. σ has the slope σ(1 − σ), and is a part of the weight already.
void weights_backward(const LayerShape& s, const Experts& rule, const Shapes& z, const ExpertsKept& k,
                      Floats& d) {
  const bool sigmoids = by_sigmoid(rule.routing), sums_to_one = rule.routing != Routing::sigmoid;
  for (std::int64_t n = 0; n < s.N(); ++n) {
    float* row = &d[std::size_t(n * z.router_step)];
    const float *weights = &k.weights[std::size_t(n * z.router_step)],
                *logits = &k.logits[std::size_t(n * z.router_step)];
    double mean = 0;
    for (std::int64_t e = 0; sums_to_one && e < z.E; ++e)
      mean += double(weights[e]) / rule.scale * double(row[e]);
    for (std::int64_t e = 0; e < z.E; ++e) {
      const double slope = sigmoids ? 1 - sigmoid(double(logits[e])) : 1;
      row[e] = float(double(weights[e]) * slope * (double(row[e]) - mean));
    }
  }
}

// --- The shared expert

Linear gate_shape(const LayerShape& s) { return {s.N(), s.a.width, 1, row_step(s.a.width), 1}; }
// to += what it makes of the rows, times σ of its gate.
void add_shared(const LayerShape& s, const LayerAt& p, const LayerInput& in, LayerActivations& a, float* to) {
  ExpertsKept& k = a.experts;
  const std::int64_t step = row_step(s.a.width);
  k.shared.resize(std::size_t(s.N() * step)), k.gate.assign(std::size_t(s.N()), 1.0f);
  plain_part(s, p.feed_forward.shared_part(), p.shared, {in.w, in.h}, a.shared, k.shared.data());
  if (p.shared_gate >= 0) {
    linear(gate_shape(s), in.h, in.w + p.shared_gate, nullptr, k.gate.data());
    for (float& g : k.gate) g = float(sigmoid(double(g)));
  }
  for (std::int64_t n = 0; n < s.N(); ++n) {
    for (std::int64_t c = 0; c < s.a.width; ++c)
      to[n * step + c] += k.gate[std::size_t(n)] * k.shared[std::size_t(n * step + c)];
  }
}
// at.dx receives what the rows get from it.
void add_shared_backward(const LayerShape& s, const LayerAt& p, const SublayerBackward& at,
                         LayerActivations& a) {
  const ExpertsKept& k = a.experts;
  LayerScratch& scratch = at.scratch;
  const std::int64_t step = row_step(s.a.width), size = s.N() * step;
  scratch.dshared.assign(std::size_t(size), 0.0f), scratch.dgate.resize(std::size_t(s.N()));
  for (std::int64_t n = 0; n < s.N(); ++n) {
    const float g = k.gate[std::size_t(n)];
    double dgate = 0;
    for (std::int64_t c = 0; c < s.a.width; ++c) {
      const auto i = std::size_t(n * step + c);
      scratch.dshared[i] = g * at.dy[i], dgate += double(at.dy[i]) * double(k.shared[i]);
    }
    scratch.dgate[std::size_t(n)] = float(dgate * double(g) * (1 - double(g)));
  }
  scratch.dx.resize(std::size_t(size));
  plain_part_backward(s, p.feed_forward.shared_part(), p.shared,
                      {at.w, at.x, scratch.dshared.data(), at.g, scratch.dx.data(), scratch}, a.shared);
  add(size, scratch.dx.data(), at.dx, at.dx);
  if (p.shared_gate < 0) return;
  linear_backward(gate_shape(s), at.x, at.w + p.shared_gate, scratch.dgate.data(),
                  {scratch.dx.data(), at.g + p.shared_gate, nullptr});
  add(size, scratch.dx.data(), at.dx, at.dx);
}

}  // namespace

void experts(const LayerShape& s, const LayerAt& p, const LayerInput& in, LayerActivations& a, float* to) {
  const FeedForward& f = p.feed_forward;
  const Shapes z = shapes(s, f);
  ExpertsKept& k = a.experts;
  k.logits.resize(std::size_t(s.N() * z.router_step));
  linear(z.router, in.h, in.w + p.router.weight, optional(in.w, p.router.bias), k.logits.data());
  in.taps.show_rows("router", k.logits, s.B, s.T, z.E);
  route(s, f.experts, z, optional(in.w, p.choice), k);
  gather(z, k, in.h);
  const std::int64_t entries = k.first.back();
  a.part.up.resize(entries * z.up_step), a.part.hidden.resize(entries * z.hidden_step),
      k.written.resize(entries * z.step);
  each_expert(k, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    const LinearAt up = of_expert(p.part.up, z.up(count), e);
    linear(z.up(count), &k.x[first * z.step], in.w + up.weight, optional(in.w, up.bias),
           &a.part.up[first * z.up_step]);
  });
  activate_rows(activated(f, z, k), a.part.up.data(), a.part.hidden.data());
  each_expert(k, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    const LinearAt down = of_expert(p.part.down, z.down(count), e);
    linear(z.down(count), &a.part.hidden[first * z.hidden_step], in.w + down.weight,
           optional(in.w, down.bias), &k.written[first * z.step]);
  });
  std::fill_n(to, s.N() * z.step, 0.0f);
  each_entry(k, [&](std::int64_t n, std::int64_t row, std::int64_t e) {
    const float weight = k.weights[row * z.router_step + e];
    for (std::int64_t c = 0; c < z.C; ++c) to[row * z.step + c] += weight * k.written[n * z.step + c];
  });
  if (f.experts.shared > 0) add_shared(s, p, in, a, to);
}

void experts_backward(const LayerShape& s, const LayerAt& p, const SublayerBackward& at,
                      LayerActivations& a) {
  const FeedForward& f = p.feed_forward;
  const Shapes z = shapes(s, f);
  const ExpertsKept& k = a.experts;
  LayerScratch& scratch = at.scratch;
  const std::int64_t entries = k.first.back();
  Floats &dhidden = scratch.dhidden, &dup = f.gated() ? scratch.dup : dhidden;
  scratch.drouter.assign(k.logits.size(), 0.0f), scratch.dchosen.assign(entries * z.step, 0.0f);
  each_entry(k, [&](std::int64_t n, std::int64_t row, std::int64_t e) {
    const float weight = k.weights[row * z.router_step + e];
    double dweight = 0;
    for (std::int64_t c = 0; c < z.C; ++c) {
      const float dy = at.dy[row * z.step + c];
      scratch.dchosen[n * z.step + c] = weight * dy;
      dweight += double(dy) * double(k.written[n * z.step + c]);
    }
    scratch.drouter[row * z.router_step + e] = float(dweight);
  });
  dhidden.resize(entries * z.hidden_step), dup.resize(a.part.up.size()), scratch.dx.resize(entries * z.step);
  each_expert(k, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    const LinearAt down = of_expert(p.part.down, z.down(count), e);
    linear_backward(z.down(count), &a.part.hidden[first * z.hidden_step], at.w + down.weight,
                    &scratch.dchosen[first * z.step],
                    {&dhidden[first * z.hidden_step], at.g + down.weight, optional(at.g, down.bias)});
  });
  activate_rows_backward(activated(f, z, k), a.part.up.data(), dhidden.data(), dup.data());
  each_expert(k, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    const LinearAt up = of_expert(p.part.up, z.up(count), e);
    linear_backward(z.up(count), &k.x[first * z.step], at.w + up.weight, &dup[first * z.up_step],
                    {&scratch.dx[first * z.step], at.g + up.weight, optional(at.g, up.bias)});
  });
  weights_backward(s, f.experts, z, k, scratch.drouter);
  linear_backward(z.router, at.x, at.w + p.router.weight, scratch.drouter.data(),
                  {at.dx, at.g + p.router.weight, optional(at.g, p.router.bias)});
  each_entry(k, [&](std::int64_t n, std::int64_t row, std::int64_t) {
    for (std::int64_t c = 0; c < z.C; ++c) at.dx[row * z.step + c] += scratch.dx[n * z.step + c];
  });
  if (f.experts.shared > 0) add_shared_backward(s, p, at, a);
}

}  // namespace gnomon
