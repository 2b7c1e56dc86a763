// Words, positions and types of tokens become the rows that enter the first layer.
#include <cstring>

#include "gnomon/core/parallel.h"
#include "gnomon/nn/pass.h"

namespace gnomon {
namespace {

Words joined(const Call& c) {
  const Scheme& scheme = c.m.scheme;
  return {c.tokens.B,
          c.tokens.T,
          {c.p.input.words.data(), row_step(scheme.combination->word_width())},
          scheme.input ? c.p.input.e.data() : nullptr,
          c.w + c.m.at.combination,
          c.p.placement.rows};
}

void look_up_words(const Call& c) {
  const std::int64_t width = c.m.scheme.combination->word_width(), step = row_step(width);
  Floats& words = c.p.input.words;
  words.resize(c.N() * step);
  parallel_ranges(c.N(), 256, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      std::memcpy(&words[n * step], c.w + c.m.at.word + c.tokens.inputs[n] * width,
                  std::size_t(width) * sizeof(float));
    }
  });
  if (c.m.a.word_scale != 1) scale(c.N() * step, float(c.m.a.word_scale), words.data());
  c.taps().show_rows("words", words, c.tokens.B, c.tokens.T, width);
}
void look_up_words_backward(const Call& c, float* g) {
  const std::int64_t width = c.m.scheme.combination->word_width(), step = row_step(width);
  if (c.m.a.word_scale != 1) scale(c.N() * step, float(c.m.a.word_scale), c.p.dwords.data());
  for (std::int64_t n = 0; n < c.N(); ++n) {  // in order: two tokens may share a word
    float* row = g + c.m.at.word + c.tokens.inputs[n] * width;
    for (std::int64_t i = 0; i < width; ++i) row[i] += c.p.dwords[n * step + i];
  }
}

void make_positions(const Call& c) {
  if (!c.m.scheme.input) return;
  const InputPart& input = c.m.scheme.at_input();
  InputKept& k = c.p.input;
  if (!(k.tables_of == c.p.placement)) k.tables = input.tables(c.p.placement), k.tables_of = c.p.placement;
  const std::int64_t T = c.tokens.T, C = c.m.scheme.input->shape().C;
  k.e.assign(c.p.placement.rows * T * C, 0.0f);
  if (!c.tokens.drop_positions) input.input({c.p.placement, k.tables, c.w + c.m.at.input}, k.e.data());
  c.taps().show("positions", k.e.data(), {c.p.placement.rows, T, C}, {T * C, C, 1});
}
void make_positions_backward(const Call& c, float* g) {
  if (!c.m.scheme.input || c.tokens.drop_positions) return;
  const Injection injection = c.m.scheme.combination->injection();
  Floats& de = c.p.de;
  if (injection != Injection::once) {
    for (std::size_t n = 0; n < de.size(); ++n)
      de[n] = c.p.later[n] + (injection == Injection::every_layer ? de[n] : 0.0f);
  }
  c.m.scheme.at_input().input_backward({c.p.placement, c.p.input.tables, c.w + c.m.at.input}, de.data(),
                                       g + c.m.at.input);
}

std::int64_t type_of(const Call& c, std::int64_t n) { return c.tokens.types.empty() ? 0 : c.tokens.types[n]; }
void add_types(const Call& c, Floats& h) {
  const std::int64_t C = c.m.a.width;
  for (std::int64_t n = 0; n < c.N(); ++n) {
    const float* type = c.w + c.m.at.type + type_of(c, n) * C;
    for (std::int64_t i = 0; i < C; ++i) h[n * c.step() + i] += type[i];
  }
}
void add_types_backward(const Call& c, const Floats& dh, float* g) {
  const std::int64_t C = c.m.a.width;
  for (std::int64_t n = 0; n < c.N(); ++n) {  // in order: tokens share types
    float* row = g + c.m.at.type + type_of(c, n) * C;
    for (std::int64_t i = 0; i < C; ++i) row[i] += dh[n * c.step() + i];
  }
}

}  // namespace

void embed(const Call& c) {
  const NormAt& norm = c.m.at.embedding_norm;
  InputKept& k = c.p.input;
  look_up_words(c);
  make_positions(c);
  k.h.resize(c.size());
  Floats& rows = norm ? k.joined : k.h;
  rows.resize(c.size());
  c.m.scheme.combination->forward(joined(c), {rows.data(), c.step()});
  if (c.m.at.type >= 0) add_types(c, rows);
  c.taps().show_rows("embedded", rows, c.tokens.B, c.tokens.T, c.m.a.width);
  if (!norm) return;
  k.statistics.resize(2 * c.N());
  normalise(norm_shape(c.m.a.norm, c.N(), c.m.a.width, c.step()), k.joined.data(), optional(c.w, norm.gain),
            optional(c.w, norm.bias), k.h.data(), k.statistics.data());
}

void embed_backward(const Call& c, float* g) {
  const NormAt& norm = c.m.at.embedding_norm;
  Pass& p = c.p;
  if (norm) {
    p.djoined.assign(c.size(), 0.0f);
    normalise_backward(norm_shape(c.m.a.norm, c.N(), c.m.a.width, c.step()), p.input.joined.data(),
                       optional(c.w, norm.gain), p.input.statistics.data(), p.dh.data(),
                       {p.djoined.data(), optional(g, norm.gain), optional(g, norm.bias)});
  }
  const Floats& dh = norm ? p.djoined : p.dh;
  if (c.m.at.type >= 0) add_types_backward(c, dh, g);
  const std::int64_t word_step = row_step(c.m.scheme.combination->word_width());
  p.dwords.resize(c.N() * word_step), p.de.resize(p.input.e.size());
  c.m.scheme.combination->backward(
      joined(c), {dh.data(), c.step()},
      {{p.dwords.data(), word_step}, c.m.scheme.input ? p.de.data() : nullptr, g + c.m.at.combination});
  make_positions_backward(c, g);
  look_up_words_backward(c, g);
}

}  // namespace gnomon
