// Words, positions and types of tokens become the rows that enter the first layer.
#include <cstring>

#include "gnomon/core/parallel.h"
#include "gnomon/kernels/matmul.h"
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

// Of a word table whose rows are widened before they are joined.
bool widens_words(const Call& c) { return c.m.a.narrow && c.m.a.narrow->widened == Widened::words; }
bool widens_joined(const Call& c) { return c.m.a.narrow && c.m.a.narrow->widened == Widened::embedding; }
std::int64_t word_width(const Call& c) { return c.m.scheme.combination->word_width(); }
std::int64_t table_width(const Call& c) { return widens_words(c) ? c.m.a.narrow->width : word_width(c); }
// From rows of narrow words to those of the combination, or from what was joined to the stream's.
Linear widen_shape(const Call& c) {
  const std::int64_t E = c.m.a.narrow->width, to = widens_words(c) ? word_width(c) : c.m.a.width;
  return {c.N(), E, to, row_step(E), row_step(to)};
}

void look_up_words(const Call& c) {
  const std::int64_t width = table_width(c), step = row_step(width);
  InputKept& k = c.p.input;
  Floats& rows = widens_words(c) ? k.looked_up : k.words;
  rows.resize(c.N() * step);
  parallel_ranges(c.N(), 256, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n) {
      std::memcpy(&rows[n * step], c.w + c.m.at.word + c.tokens.inputs[n] * width,
                  std::size_t(width) * sizeof(float));
    }
  });
  if (c.m.a.word_scale != 1) scale(c.N() * step, float(c.m.a.word_scale), rows.data());
  if (widens_words(c)) {
    k.words.resize(c.N() * row_step(word_width(c)));
    linear(widen_shape(c), rows.data(), c.w + c.m.at.widen.weight, optional(c.w, c.m.at.widen.bias),
           k.words.data());
  }
  c.taps().show_rows("words", k.words, c.tokens.B, c.tokens.T, word_width(c));
}
void look_up_words_backward(const Call& c, float* g) {
  const std::int64_t width = table_width(c), step = row_step(width);
  const LinearAt& widen = c.m.at.widen;
  Floats& d = widens_words(c) ? c.p.dlooked_up : c.p.dwords;
  if (widens_words(c)) {
    d.resize(c.N() * step);
    linear_backward(widen_shape(c), c.p.input.looked_up.data(), c.w + widen.weight, c.p.dwords.data(),
                    {d.data(), g + widen.weight, optional(g, widen.bias)});
  }
  if (c.m.a.word_scale != 1) scale(c.N() * step, float(c.m.a.word_scale), d.data());
  for (std::int64_t n = 0; n < c.N(); ++n) {  // in order: two tokens may share a word
    float* row = g + c.m.at.word + c.tokens.inputs[n] * width;
    for (std::int64_t i = 0; i < width; ++i) row[i] += d[n * step + i];
  }
}

const std::uint8_t* padding_of(const Call& c) {
  return c.p.padding.empty() ? c.tokens.padding : c.p.padding.data();
}
// The words for an input encoding that reads them; dense rows of 0 for padding.
Content words_read(const Call& c) {
  const std::int64_t step = row_step(word_width(c));
  InputKept& k = c.p.input;
  k.read = k.words;
  const std::uint8_t* padding = padding_of(c);
  for (std::int64_t n = 0; padding && n < c.N(); ++n) {
    if (padding[n]) std::fill_n(&k.read[n * step], step, 0.0f);
  }
  return {c.tokens.B, c.tokens.T, {k.read.data(), step}, {}, nullptr, nullptr, {}};
}
void make_positions(const Call& c) {
  if (!c.m.scheme.input) return;
  const InputPart& input = c.m.scheme.at_input();
  InputKept& k = c.p.input;
  if (!(k.tables_of == c.p.placement)) k.tables = input.tables(c.p.placement), k.tables_of = c.p.placement;
  const std::int64_t T = c.tokens.T, C = c.m.scheme.input->shape().C;
  k.e.assign(c.p.placement.rows * T * C, 0.0f);
  if (!c.tokens.drop_positions) {
    const bool reads = c.m.scheme.input->reads_content();
    const Content words = reads ? words_read(c) : Content{};
    input.input({c.p.placement, k.tables, c.w + c.m.at.input, reads ? &words : nullptr}, k.e.data());
  }
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
  const InputPart& input = c.m.scheme.at_input();
  Batch batch{c.p.placement, c.p.input.tables, c.w + c.m.at.input};
  if (!c.m.scheme.input->reads_content()) return input.input_backward(batch, de.data(), {g + c.m.at.input});
  const Content words = words_read(c);
  const std::int64_t step = row_step(word_width(c));
  c.p.dread_words.assign(std::size_t(c.N() * step), 0.0f);
  ContentGrad dwords{{c.p.dread_words.data(), step}, nullptr, nullptr, {}};
  batch.content = &words;
  input.input_backward(batch, de.data(), {g + c.m.at.input, &dwords});
  const std::uint8_t* padding = padding_of(c);
  for (std::int64_t n = 0; n < c.N() * step; ++n) {
    if (!padding || !padding[n / step]) c.p.dwords[n] += c.p.dread_words[n];
  }
}

std::int64_t type_of(const Call& c, std::int64_t n) { return c.tokens.types.empty() ? 0 : c.tokens.types[n]; }
std::int64_t joined_step(const Call& c) { return row_step(c.m.a.embedding_width()); }
void add_types(const Call& c, Floats& h) {
  const std::int64_t C = c.m.a.embedding_width(), step = joined_step(c);
  for (std::int64_t n = 0; n < c.N(); ++n) {
    const float* type = c.w + c.m.at.type + type_of(c, n) * C;
    for (std::int64_t i = 0; i < C; ++i) h[n * step + i] += type[i];
  }
}
void add_types_backward(const Call& c, const Floats& dh, float* g) {
  const std::int64_t C = c.m.a.embedding_width(), step = joined_step(c);
  for (std::int64_t n = 0; n < c.N(); ++n) {  // in order: tokens share types
    float* row = g + c.m.at.type + type_of(c, n) * C;
    for (std::int64_t i = 0; i < C; ++i) row[i] += dh[n * step + i];
  }
}
NormShape norm_of(const Call& c) {
  return norm_shape(c.m.a.norm, c.N(), c.m.a.embedding_width(), joined_step(c));
}

}  // namespace

void embed(const Call& c) {
  const NormAt& norm = c.m.at.embedding_norm;
  const std::int64_t joined_width = c.m.a.embedding_width();
  InputKept& k = c.p.input;
  look_up_words(c);
  if (c.m.a.layer_words > 0) make_layer_words(c);
  make_positions(c);
  k.h.resize(c.size());
  Floats& left = widens_joined(c) ? k.narrow : k.h;
  Floats& rows = norm ? k.joined : left;
  left.resize(c.N() * joined_step(c)), rows.resize(c.N() * joined_step(c));
  c.m.scheme.combination->forward(joined(c), {rows.data(), joined_step(c)});
  if (c.m.at.type >= 0) add_types(c, rows);
  c.taps().show_rows("embedded", rows, c.tokens.B, c.tokens.T, joined_width);
  if (norm) {
    k.statistics.resize(2 * c.N());
    normalise(norm_of(c), k.joined.data(), optional(c.w, norm.gain), optional(c.w, norm.bias), left.data(),
              k.statistics.data());
  }
  if (widens_joined(c))
    linear(widen_shape(c), left.data(), c.w + c.m.at.widen.weight, optional(c.w, c.m.at.widen.bias),
           k.h.data());
}

void embed_backward(const Call& c, float* g) {
  const NormAt& norm = c.m.at.embedding_norm;
  const LinearAt& widen = c.m.at.widen;
  Pass& p = c.p;
  if (widens_joined(c)) {
    p.dnarrow.resize(c.N() * joined_step(c));
    linear_backward(widen_shape(c), p.input.narrow.data(), c.w + widen.weight, p.dh.data(),
                    {p.dnarrow.data(), g + widen.weight, optional(g, widen.bias)});
  }
  const Floats& left = widens_joined(c) ? p.dnarrow : p.dh;
  if (norm) {
    p.djoined.assign(c.N() * joined_step(c), 0.0f);
    normalise_backward(norm_of(c), p.input.joined.data(), optional(c.w, norm.gain), p.input.statistics.data(),
                       left.data(), {p.djoined.data(), optional(g, norm.gain), optional(g, norm.bias)});
  }
  const Floats& dh = norm ? p.djoined : left;
  if (c.m.at.type >= 0) add_types_backward(c, dh, g);
  const std::int64_t word_step = row_step(word_width(c));
  p.dwords.resize(c.N() * word_step), p.de.resize(p.input.e.size());
  c.m.scheme.combination->backward(
      joined(c), {dh.data(), joined_step(c)},
      {{p.dwords.data(), word_step}, c.m.scheme.input ? p.de.data() : nullptr, g + c.m.at.combination});
  make_positions_backward(c, g);
  if (c.m.a.layer_words > 0) make_layer_words_backward(c, g);
  look_up_words_backward(c, g);
}

}  // namespace gnomon
