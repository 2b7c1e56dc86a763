// Queries, keys and values: one matrix of all their rows, a bias for each where it has one, and then norms of q and k, or a limit.
#include <algorithm>
#include <array>

#include "gnomon/core/parallel.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/pointwise.h"
#include "gnomon/nn/layer.h"

namespace gnomon {
namespace {

// Columns of qkv that are projected at once: neighbours whose biases follow each other, or are absent.
struct Run {
  std::int64_t first, count, bias;
};
// Of q, k and v (0, 1, 2) from part `from` to before part `end`.
std::vector<Run> runs(const LayerShape& s, const AttentionAt& p, int from, int end) {
  const AttentionRule& rule = s.a.attention;
  const std::int64_t Q = rule.q_width(), KV = rule.kv_width();
  const std::array<Run, 3> parts{{{0, Q, p.q_bias}, {Q, KV, p.k_bias}, {Q + KV, KV, p.v_bias}}};
  std::vector<Run> all;
  for (int n = from; n < end; ++n) {
    const Run& next = parts[std::size_t(n)];
    const bool joins = !all.empty() && (next.bias < 0 ? all.back().bias < 0
                                                      : next.bias == all.back().bias + all.back().count &&
                                                            all.back().bias >= 0);
    joins ? void(all.back().count += next.count) : all.push_back(next);
  }
  return all;
}

// Rows of numbers and their step: qkv, or q and k before their norms.
struct Columns {
  float* data;
  std::int64_t step;
};
void project_parts(const LayerShape& s, const AttentionAt& p, const LayerInput& in, const Columns& to,
                   const std::vector<Run>& parts) {
  const std::int64_t C = s.a.width;
  for (const Run& run : parts) {
    linear({s.N(), C, run.count, row_step(C), to.step, s.precision}, in.h, in.w + p.qkv + run.first * C,
           optional(in.w, run.bias), to.data + run.first);
  }
}
// dx is overwritten with what these columns give.
void project_parts_backward(const LayerShape& s, const AttentionAt& p, const ProjectionsBackward& at,
                            const Columns& d, const std::vector<Run>& parts) {
  const std::int64_t C = s.a.width, first = parts.front().first,
                     count = parts.back().first + parts.back().count - first;
  linear_backward({s.N(), C, count, row_step(C), d.step, s.precision}, at.x, at.w + p.qkv + first * C,
                  d.data + first, {at.dx, at.g + p.qkv + first * C, nullptr});
  for (const Run& run : parts) {
    if (run.bias >= 0) add_column_sums({s.N(), run.count, d.step}, d.data + run.first, at.g + run.bias);
  }
}

// Columns of q, k or v that are normalised together.
struct Normed {
  NormAt at;
  Norms rule;
  std::int64_t number, first, width;
};
// f(columns) for each head of q and of the keys that are made here, or for all of q and all of k.
template <class Body>
void each_normed_qk(const LayerShape& s, const AttentionAt& p, const Body& f) {
  const AttentionRule& rule = s.a.attention;
  const Norms norms = s.a.norm.of_qk();
  const std::int64_t D = rule.head_dim, Q = rule.q_width();
  if (norms.qk == QkNorm::whole) {
    f(Normed{p.q_norm, norms, 0, 0, Q});
    if (!rule.borrows) f(Normed{p.k_norm, norms, 1, Q, rule.kv_width()});
    return;
  }
  for (std::int64_t h = 0; h < rule.heads + (rule.borrows ? 0 : rule.kv_heads); ++h) {
    NormAt at = h < rule.heads ? p.q_norm : p.k_norm;
    const std::int64_t own = norms.qk == QkNorm::own ? (h < rule.heads ? h : h - rule.heads) * D : 0;
    if (at.gain >= 0) at.gain += own;
    if (at.bias >= 0) at.bias += own;
    f(Normed{at, norms, h, h * D, D});
  }
}
template <class Body>
void each_normed(const LayerShape& s, const AttentionAt& p, const Body& f) {
  const AttentionRule& rule = s.a.attention;
  if (p.q_norm) each_normed_qk(s, p, f);
  Norms plain = s.a.norm;
  plain.form = NormForm::rms;
  for (std::int64_t h = rule.heads + rule.kv_heads;
       plain.values && !rule.borrows && h < rule.heads + 2 * rule.kv_heads; ++h)
    f(Normed{NormAt(), plain, h, h * rule.head_dim, rule.head_dim});
}
// Rows before and after their norms are as far apart: those of qkv.
NormShape shape_of(const LayerShape& s, const Normed& n) {
  return norm_shape(n.rule, s.N(), n.width, row_step(s.a.attention.qkv_width()));
}
void normalise_qkv(const LayerShape& s, const AttentionAt& p, const float* w, ProjectionsKept& k) {
  each_normed(s, p, [&](const Normed& n) {
    normalise(shape_of(s, n), k.unnormed.data() + n.first, optional(w, n.at.gain), optional(w, n.at.bias),
              k.qkv.data() + n.first, k.statistics.data() + 2 * n.number * s.N());
  });
}
void normalise_qkv_backward(const LayerShape& s, const AttentionAt& p, const ProjectionsBackward& at,
                            const ProjectionsKept& k) {
  each_normed(s, p, [&](const Normed& n) {
    normalise_backward(
        shape_of(s, n), k.unnormed.data() + n.first, optional(at.w, n.at.gain),
        k.statistics.data() + 2 * n.number * s.N(), at.scratch.dqkv.data() + n.first,
        {at.scratch.dunnormed.data() + n.first, optional(at.g, n.at.gain), optional(at.g, n.at.bias)});
  });
}

// What is cut has no gradient. NaN stays.
void clip_qkv(const LayerShape& s, ProjectionsKept& k) {
  const float limit = float(s.a.attention.clip);
  parallel_ranges(std::int64_t(k.qkv.size()), 1 << 14, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n)
      k.qkv[std::size_t(n)] = std::clamp(k.unnormed[std::size_t(n)], -limit, limit);
  });
}
void clip_qkv_backward(const LayerShape& s, const ProjectionsKept& k, Floats& dqkv) {
  const float limit = float(s.a.attention.clip);
  for (std::size_t n = 0; n < dqkv.size(); ++n) {
    if (std::abs(k.unnormed[n]) > limit) dqkv[n] = 0;
  }
}

// Columns of keys and of values, which lie after those of q.
struct Pair {
  std::int64_t step, keys, values, width;
};
Pair pair_of(const LayerShape& s) {
  const AttentionRule& rule = s.a.attention;
  return {row_step(rule.qkv_width()), rule.q_width(), rule.q_width() + rule.kv_width(), rule.kv_width()};
}
void copy_keys_to_values(const LayerShape& s, const float* from, float* to) {
  const Pair p = pair_of(s);
  for (std::int64_t n = 0; n < s.N(); ++n)
    std::copy_n(from + n * p.step + p.keys, p.width, to + n * p.step + p.values);
}
void add_values_to_keys(const LayerShape& s, const float* from, float* to) {
  const Pair p = pair_of(s);
  for (std::int64_t n = 0; n < s.N(); ++n) {
    for (std::int64_t c = 0; c < p.width; ++c) to[n * p.step + p.keys + c] += from[n * p.step + p.values + c];
  }
}

// x + e, row by row.
void add_positions(const LayerShape& s, const LayerScheme& scheme, const float* x, float* to) {
  const std::int64_t C = s.a.width, step = row_step(C);
  parallel_ranges(s.N(), 64, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      const float* e = scheme.e + (scheme.e_rows > 1 ? n : n % s.T) * C;
      for (std::int64_t c = 0; c < C; ++c) to[n * step + c] = x[n * step + c] + e[c];
    }
  });
}
void add_positions_backward(const LayerShape& s, const LayerScheme& scheme, const float* dx) {
  const std::int64_t C = s.a.width, step = row_step(C);
  for (std::int64_t n = 0; n < s.N(); ++n) {
    float* de = scheme.de + (scheme.e_rows > 1 ? n : n % s.T) * C;
    for (std::int64_t c = 0; c < C; ++c) de[c] += dx[n * step + c];
  }
}

// What q and k are projected from.
const float* asked(const ProjectionsKept& k, const float* x) { return k.asked.empty() ? x : k.asked.data(); }

}  // namespace

void project(const LayerShape& s, const AttentionAt& p, const LayerInput& in, const LayerScheme& scheme,
             ProjectionsKept& k) {
  const std::int64_t N = s.N(), step = row_step(s.a.attention.qkv_width());
  k.qkv.resize(N * step);
  k.asked.clear();
  const AttentionRule& rule = s.a.attention;
  const bool clips = rule.clip != 0, norms = p.q_norm || s.a.norm.values;
  if (!scheme.e && !norms && !clips && !rule.keys_are_values)
    return project_parts(s, p, in, {k.qkv.data(), step}, runs(s, p, 0, rule.borrows ? 1 : 3));
  if (scheme.e) {
    k.asked.resize(N * row_step(s.a.width));
    add_positions(s, scheme, in.h, k.asked.data());
  }
  if (norms || clips) k.unnormed.resize(N * step);
  if (norms) k.statistics.resize(2 * N * (rule.heads + 2 * rule.kv_heads));
  Floats &qk = p.q_norm || clips ? k.unnormed : k.qkv, &v = s.a.norm.values || clips ? k.unnormed : k.qkv;
  project_parts(s, p, {in.w, asked(k, in.h)}, {qk.data(), step}, runs(s, p, 0, rule.borrows ? 1 : 2));
  if (rule.keys_are_values && !rule.borrows) copy_keys_to_values(s, qk.data(), v.data());
  if (!rule.keys_are_values && !rule.borrows) project_parts(s, p, in, {v.data(), step}, runs(s, p, 2, 3));
  if (norms) normalise_qkv(s, p, in.w, k);
  if (clips) clip_qkv(s, k);
}

void project_backward(const LayerShape& s, const AttentionAt& p, const ProjectionsBackward& at,
                      LayerScheme& scheme, const ProjectionsKept& k) {
  const std::int64_t size = s.N() * row_step(s.a.width), step = row_step(s.a.attention.qkv_width());
  LayerScratch& scratch = at.scratch;
  const Columns dqkv{scratch.dqkv.data(), step};
  if (s.a.attention.clip != 0) clip_qkv_backward(s, k, scratch.dqkv);
  const auto add_content = [&](float* to) {
    if (scheme.reads_content) add(size, scratch.dcontent.data(), to, to);
  };
  const AttentionRule& rule = s.a.attention;
  const bool norms = p.q_norm || s.a.norm.values;
  if (!scheme.e && !norms && !rule.keys_are_values) {
    project_parts_backward(s, p, at, dqkv, runs(s, p, 0, rule.borrows ? 1 : 3));
    return add_content(at.dx);
  }
  Columns dqk = dqkv, dv = dqkv;
  if (norms) {
    scratch.dunnormed.assign(scratch.dqkv.size(), 0.0f);
    normalise_qkv_backward(s, p, at, k);
    if (p.q_norm) dqk.data = scratch.dunnormed.data();
    if (s.a.norm.values) dv.data = scratch.dunnormed.data();
  }
  if (rule.keys_are_values && !rule.borrows) add_values_to_keys(s, dv.data, dqk.data);
  scratch.dasked.resize(size);
  float* dasked = scratch.dasked.data();
  project_parts_backward(s, p, {at.w, asked(k, at.x), at.g, dasked, scratch}, dqk,
                         runs(s, p, 0, rule.borrows ? 1 : 2));
  if (rule.keys_are_values || rule.borrows) {
    std::fill_n(at.dx, size, 0.0F);
  } else {
    project_parts_backward(s, p, at, dv, runs(s, p, 2, 3));
  }
  add_content(dasked);
  if (scheme.e) add_positions_backward(s, scheme, dasked);
  add(size, dasked, at.dx, at.dx);
}

void share_keys(const LayerShape& s, ProjectionsKept& k) {
  const Pair p = pair_of(s);
  Floats& all = s.shared->rows;
  const bool borrows = s.a.attention.borrows;
  if (!borrows) all.resize(std::size_t(s.N() * 2 * p.width));
  for (std::int64_t n = 0; n < s.N(); ++n) {
    float *here = &k.qkv[std::size_t(n * p.step + p.keys)], *there = &all[std::size_t(n * 2 * p.width)];
    borrows ? std::copy_n(there, 2 * p.width, here) : std::copy_n(here, 2 * p.width, there);
  }
}
void share_keys_backward(const LayerShape& s, Floats& dqkv) {
  const Pair p = pair_of(s);
  const bool borrows = s.a.attention.borrows;
  for (std::int64_t n = 0; n < s.N(); ++n) {
    float *here = &dqkv[std::size_t(n * p.step + p.keys)],
          *there = &s.shared->d[std::size_t(n * 2 * p.width)];
    borrows ? add(2 * p.width, here, there, there) : add(2 * p.width, there, here, here);
  }
}

Content content_of(const LayerShape& s, const AttentionAt& p, const LayerInput& in,
                   const ProjectionsKept& k) {
  const AttentionRule& rule = s.a.attention;
  const std::int64_t step = row_step(rule.qkv_width()), Q = rule.q_width();
  return {s.B,
          s.T,
          {asked(k, in.h), row_step(s.a.width)},
          {s.B, s.T, rule.heads, s.T * step, step, rule.head_dim},
          k.qkv.data(),
          k.qkv.data() + Q,
          {in.w + p.qkv, in.w + p.qkv + Q * s.a.width, optional(in.w, p.q_bias), optional(in.w, p.k_bias)}};
}
ContentGrad content_grad_of(const LayerShape& s, const AttentionAt& p, float* g, LayerScratch& scratch) {
  const std::int64_t Q = s.a.attention.q_width();
  return {{scratch.dcontent.data(), row_step(s.a.width)},
          scratch.dqkv.data(),
          scratch.dqkv.data() + Q,
          {g + p.qkv, g + p.qkv + Q * s.a.width, optional(g, p.q_bias), optional(g, p.k_bias)}};
}

}  // namespace gnomon
