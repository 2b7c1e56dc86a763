// What follows the two sublayers of a layer: its words once more, and its scale.
#include <cmath>

#include "gnomon/core/parallel.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/nn/pass.h"

namespace gnomon {
namespace {

struct Shapes {
  Linear gate, out;
  std::int64_t E, gate_size;
};
Shapes shapes(const LayerShape& s) {
  const std::int64_t N = s.N(), C = s.a.width, E = s.a.layer_words, step = row_step(C), narrow = row_step(E);
  return {{N, C, E, step, narrow}, {N, E, C, narrow, step}, E, N * narrow};
}
NormShape norm_of(const LayerShape& s) { return norm_shape(s.a.norm, s.N(), s.a.width, row_step(s.a.width)); }

// Of all layers.
struct AllShapes {
  Linear project;
  std::int64_t E, layers, step;
};
AllShapes all_shapes(const Call& c) {
  const std::int64_t C = c.m.a.width, E = c.m.a.layer_words, all = c.m.a.layers * E, step = row_step(all);
  return {{c.N(), C, all, row_step(C), step}, E, c.m.a.layers, step};
}
NormShape norm_of_words(const Call& c, const AllShapes& z) {
  return norm_shape(c.m.a.norm, c.N(), z.E, z.step);
}
const float kRootHalf = float(1 / std::sqrt(2.0));

}  // namespace

void make_layer_words(const Call& c) {
  const AllShapes z = all_shapes(c);
  const LayerWordsAt& at = c.m.at.layer_words;
  AllLayerWords& k = c.p.layer_words;
  k.projected.resize(std::size_t(c.N() * z.step)), k.rows.resize(k.projected.size());
  k.statistics.resize(std::size_t(2 * c.N() * z.layers));
  linear(z.project, c.p.input.words.data(), c.w + at.project, nullptr, k.projected.data());
  scale(c.N() * z.step, float(1 / std::sqrt(double(c.m.a.width))), k.projected.data());
  for (std::int64_t l = 0; l < z.layers; ++l) {
    normalise(norm_of_words(c, z), &k.projected[std::size_t(l * z.E)], optional(c.w, at.norm.gain),
              optional(c.w, at.norm.bias), &k.rows[std::size_t(l * z.E)],
              &k.statistics[std::size_t(2 * l * c.N())]);
  }
  const std::int64_t all = z.layers * z.E;
  const float root = float(std::sqrt(double(z.E)));
  parallel_ranges(c.N(), 64, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      const float* word = c.w + at.table + c.tokens.inputs[std::size_t(n)] * all;
      float* row = &k.rows[std::size_t(n * z.step)];
      for (std::int64_t i = 0; i < all; ++i) row[i] = kRootHalf * (row[i] + root * word[i]);
    }
  });
}
void make_layer_words_backward(const Call& c, float* g) {
  const AllShapes z = all_shapes(c);
  const LayerWordsAt& at = c.m.at.layer_words;
  AllLayerWords& k = c.p.layer_words;
  const std::int64_t all = z.layers * z.E, size = c.N() * z.step;
  const float root = float(std::sqrt(double(z.E)));
  scale(size, kRootHalf, k.d.data());
  for (std::int64_t n = 0; n < c.N(); ++n) {  // in order: two tokens may share a word
    float* word = g + at.table + c.tokens.inputs[std::size_t(n)] * all;
    for (std::int64_t i = 0; i < all; ++i) word[i] += root * k.d[std::size_t(n * z.step + i)];
  }
  k.dprojected.assign(std::size_t(size), 0.0f);
  for (std::int64_t l = 0; l < z.layers; ++l) {
    normalise_backward(
        norm_of_words(c, z), &k.projected[std::size_t(l * z.E)], optional(c.w, at.norm.gain),
        &k.statistics[std::size_t(2 * l * c.N())], &k.d[std::size_t(l * z.E)],
        {&k.dprojected[std::size_t(l * z.E)], optional(g, at.norm.gain), optional(g, at.norm.bias)});
  }
  scale(size, float(1 / std::sqrt(double(c.m.a.width))), k.dprojected.data());
  k.dwords.resize(std::size_t(c.size()));
  linear_backward(z.project, c.p.input.words.data(), c.w + at.project, k.dprojected.data(),
                  {k.dwords.data(), g + at.project, nullptr});
  add(c.size(), k.dwords.data(), c.p.dwords.data(), c.p.dwords.data());
}

void add_layer_words(const LayerShape& s, const LayerAt& p, const float* w, LayerActivations& a) {
  const Shapes z = shapes(s);
  LayerWordsKept& k = a.words;
  Floats& h = a.feed_forward.out;
  k.h = h;
  k.gate.resize(std::size_t(z.gate_size)), k.hidden.resize(k.gate.size()), k.found.resize(h.size());
  k.statistics.resize(std::size_t(2 * s.N()));
  linear(z.gate, k.h.data(), w + p.words_gate.weight, nullptr, k.gate.data());
  activate(s.a.feed_forward.activation, z.gate_size, k.gate.data(), k.hidden.data());
  for (std::int64_t n = 0; n < s.N(); ++n) {
    for (std::int64_t i = 0; i < z.E; ++i)
      k.hidden[std::size_t(n * z.gate.y_step + i)] *= s.words.rows[n * s.words.step + i];
  }
  linear(z.out, k.hidden.data(), w + p.words_out.weight, nullptr, k.found.data());
  normalise(norm_of(s), k.found.data(), optional(w, p.words_norm.gain), optional(w, p.words_norm.bias),
            h.data(), k.statistics.data());
  add(std::int64_t(h.size()), k.h.data(), h.data(), h.data());
}
void add_layer_words_backward(const LayerShape& s, const LayerAt& p, const LayerBackward& at,
                              const LayerActivations& a) {
  const Shapes z = shapes(s);
  const LayerWordsKept& k = a.words;
  LayerScratch& scratch = at.scratch;
  const std::int64_t size = s.N() * row_step(s.a.width);
  scratch.dfound.assign(std::size_t(size), 0.0f);
  normalise_backward(
      norm_of(s), k.found.data(), optional(at.w, p.words_norm.gain), k.statistics.data(), at.dh,
      {scratch.dfound.data(), optional(at.g, p.words_norm.gain), optional(at.g, p.words_norm.bias)});
  Floats &dhidden = scratch.dhidden, &active = scratch.dwords;
  dhidden.resize(std::size_t(z.gate_size)), active.resize(std::size_t(z.gate_size));
  linear_backward(z.out, k.hidden.data(), at.w + p.words_out.weight, scratch.dfound.data(),
                  {dhidden.data(), at.g + p.words_out.weight, nullptr});
  activate(s.a.feed_forward.activation, z.gate_size, k.gate.data(), active.data());
  for (std::int64_t n = 0; n < s.N(); ++n) {
    for (std::int64_t i = 0; i < z.E; ++i) {
      const auto here = std::size_t(n * z.gate.y_step + i);
      s.words.d[n * s.words.step + i] += dhidden[here] * active[here];
      dhidden[here] *= s.words.rows[n * s.words.step + i];
    }
  }
  activate_backward(s.a.feed_forward.activation, z.gate_size, k.gate.data(), dhidden.data(), dhidden.data());
  linear_backward(z.gate, k.h.data(), at.w + p.words_gate.weight, dhidden.data(),
                  {scratch.dfound.data(), at.g + p.words_gate.weight, nullptr});
  add(size, scratch.dfound.data(), at.dh, at.dh);
}

void scale_layer(const LayerShape& s, const LayerAt& p, const float* w, LayerActivations& a) {
  a.unscaled = a.feed_forward.out;
  scale(s.N() * row_step(s.a.width), w[p.scale], a.feed_forward.out.data());
}
void scale_layer_backward(const LayerShape& s, const LayerAt& p, const LayerBackward& at,
                          const LayerActivations& a) {
  const std::int64_t C = s.a.width, step = row_step(C);
  double sum = 0;
  for (std::int64_t n = 0; n < s.N(); ++n) {
    for (std::int64_t c = 0; c < C; ++c)
      sum += double(at.dh[n * step + c]) * double(a.unscaled[std::size_t(n * step + c)]);
  }
  at.g[p.scale] += float(sum);
  scale(s.N() * step, at.w[p.scale], at.dh);
}

}  // namespace gnomon
