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
Shapes shapes(const LayerShape& s) {
  const FeedForward& f = s.a.feed_forward;
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
Activated activated(const LayerShape& s, const Shapes& z, const ExpertsKept& k) {
  return {s.a.feed_forward, k.first.back(), z.up_step, z.hidden_step};
}
// Where the parameters of expert e begin.
LinearAt of_expert(const LinearAt& all, const Linear& shape, std::int64_t e) {
  return {all.weight + e * shape.out * shape.in, all.bias < 0 ? -1 : all.bias + e * shape.out};
}

// The experts with the largest logits, in the order of their numbers. NaN chooses the first.
std::vector<std::int64_t> chosen(const float* logits, std::int64_t E, std::int64_t active) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(E));
  std::iota(all.begin(), all.end(), 0);
  if (std::none_of(logits, logits + E, [](float x) { return std::isnan(x); })) {
    std::partial_sort(all.begin(), all.begin() + active, all.end(), [&](std::int64_t a, std::int64_t b) {
      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    });
  }
  all.resize(static_cast<std::size_t>(active));
  std::sort(all.begin(), all.end());
  return all;
}
// The softmax of `of` experts' logits.
void softmax(const float* logits, std::span<const std::int64_t> of, float* weights) {
  double most = -INFINITY, sum = 0;
  for (const std::int64_t e : of) most = std::max(most, double(logits[e]));
  for (const std::int64_t e : of) sum += std::exp(double(logits[e]) - most);
  for (const std::int64_t e : of) weights[e] = float(std::exp(double(logits[e]) - most) / sum);
}

// k.weights, k.first and k.row from k.logits.
void route(const LayerShape& s, const Shapes& z, ExpertsKept& k) {
  const Experts& rule = s.a.feed_forward.experts;
  std::vector<std::int64_t> everyone(static_cast<std::size_t>(z.E));
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(z.E));
  k.weights.assign(k.logits.size(), 0.0f);
  for (std::int64_t n = 0; n < s.N(); ++n) {
    const auto taken = chosen(&k.logits[n * z.router_step], z.E, rule.active);
    softmax(&k.logits[n * z.router_step], rule.routing == Routing::of_all ? everyone : taken,
            &k.weights[n * z.router_step]);
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
// that were not chosen count too.
void weights_backward(const LayerShape& s, const Shapes& z, const ExpertsKept& k, Floats& d) {
  for (std::int64_t n = 0; n < s.N(); ++n) {
    float* row = &d[std::size_t(n * z.router_step)];
    const float* weights = &k.weights[std::size_t(n * z.router_step)];
    double mean = 0;
    for (std::int64_t e = 0; e < z.E; ++e) mean += double(weights[e]) * double(row[e]);
    for (std::int64_t e = 0; e < z.E; ++e) row[e] = float(double(weights[e]) * (double(row[e]) - mean));
  }
}

}  // namespace

void experts(const LayerShape& s, const LayerAt& p, const LayerInput& in, LayerActivations& a, float* to) {
  const Shapes z = shapes(s);
  ExpertsKept& k = a.experts;
  k.logits.resize(std::size_t(s.N() * z.router_step));
  linear(z.router, in.h, in.w + p.router.weight, optional(in.w, p.router.bias), k.logits.data());
  in.taps.show_rows("router", k.logits, s.B, s.T, z.E);
  route(s, z, k);
  gather(z, k, in.h);
  const std::int64_t entries = k.first.back();
  a.up.resize(entries * z.up_step), a.hidden.resize(entries * z.hidden_step),
      k.written.resize(entries * z.step);
  each_expert(k, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    const LinearAt up = of_expert(p.up, z.up(count), e);
    linear(z.up(count), &k.x[first * z.step], in.w + up.weight, optional(in.w, up.bias),
           &a.up[first * z.up_step]);
  });
  activate_rows(activated(s, z, k), a.up.data(), a.hidden.data());
  each_expert(k, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    const LinearAt down = of_expert(p.down, z.down(count), e);
    linear(z.down(count), &a.hidden[first * z.hidden_step], in.w + down.weight, optional(in.w, down.bias),
           &k.written[first * z.step]);
  });
  std::fill_n(to, s.N() * z.step, 0.0f);
  each_entry(k, [&](std::int64_t n, std::int64_t row, std::int64_t e) {
    const float weight = k.weights[row * z.router_step + e];
    for (std::int64_t c = 0; c < z.C; ++c) to[row * z.step + c] += weight * k.written[n * z.step + c];
  });
}

void experts_backward(const LayerShape& s, const LayerAt& p, const SublayerBackward& at,
                      LayerActivations& a) {
  const Shapes z = shapes(s);
  const ExpertsKept& k = a.experts;
  LayerScratch& scratch = at.scratch;
  const std::int64_t entries = k.first.back();
  Floats &dhidden = scratch.dhidden, &dup = s.a.feed_forward.gated() ? scratch.dup : dhidden;
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
  dhidden.resize(entries * z.hidden_step), dup.resize(a.up.size()), scratch.dx.resize(entries * z.step);
  each_expert(k, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    const LinearAt down = of_expert(p.down, z.down(count), e);
    linear_backward(z.down(count), &a.hidden[first * z.hidden_step], at.w + down.weight,
                    &scratch.dchosen[first * z.step],
                    {&dhidden[first * z.hidden_step], at.g + down.weight, optional(at.g, down.bias)});
  });
  activate_rows_backward(activated(s, z, k), a.up.data(), dhidden.data(), dup.data());
  each_expert(k, [&](std::int64_t e, std::int64_t first, std::int64_t count) {
    const LinearAt up = of_expert(p.up, z.up(count), e);
    linear_backward(z.up(count), &k.x[first * z.step], at.w + up.weight, &dup[first * z.up_step],
                    {&scratch.dx[first * z.step], at.g + up.weight, optional(at.g, up.bias)});
  });
  weights_backward(s, z, k, scratch.drouter);
  linear_backward(z.router, at.x, at.w + p.router.weight, scratch.drouter.data(),
                  {at.dx, at.g + p.router.weight, optional(at.g, p.router.bias)});
  each_entry(k, [&](std::int64_t n, std::int64_t row, std::int64_t) {
    for (std::int64_t c = 0; c < z.C; ++c) at.dx[row * z.step + c] += scratch.dx[n * z.step + c];
  });
}

}  // namespace gnomon
