#pragma once
// What a session keeps of one pass, and the ends of the pass: words to rows, rows to logits. The layers between are
// layer.h's. Internal to nn.
#include <algorithm>
#include <vector>

#include "gnomon/nn/layer.h"
#include "gnomon/nn/session.h"

namespace gnomon {

struct ModelParts {
  Architecture a;
  Scheme scheme;
  Layout at;
  std::vector<Architecture> own;   // of each layer where they differ; empty: all are `a`
  std::vector<std::int64_t> keys;  // Architecture::keys_of each layer; empty: none borrows
  const Architecture& in_layer(std::int64_t l) const { return own.empty() ? a : own[std::size_t(l)]; }
  // Whether the keys and values of layer l are those of another, or another's are its.
  bool shares(std::int64_t l) const {
    return std::count(keys.begin(), keys.end(), keys.empty() ? l : keys[std::size_t(l)]) > 1;
  }
};

struct InputKept {
  Floats looked_up;  // rows of a narrow word table
  Floats words, tables,
      e;        // what is joined: rows of the word table; what the input encoding keeps and its vectors
  Floats read;  // the words as an input encoding reads them: 0 where a token is padding
  Placement tables_of;        // the places of the tables
  Floats joined, statistics;  // before the norm of the embedding, if there is one
  Floats narrow;              // before the matrix that widens what was joined, if there is one
  Floats h;                   // what enters the first layer
};
// Of the words that each layer reads once more: layer_words.cpp. Rows of all layers side by side; d is the gradient of `rows`.
struct AllLayerWords {
  Floats projected, statistics, rows;
  Floats d, dprojected, dwords;
};
struct HeadKept {
  Floats last, statistics;  // after the last norm, if there is one
  Floats dense, activated, transformed, transform_statistics;
  Floats narrow;          // what the head's matrix reads of narrow words
  Floats logits, capped;  // capped: a copy, which the gradient of a soft-cap needs
};
struct Pass {
  Placement placement;
  std::vector<std::uint8_t> padding;
  Floats encoder;  // the encoder's rows, row_step(width) apart
  std::vector<std::uint8_t> encoder_padding;
  EncoderAt encoder_at;
  InputKept input;
  AllLayerWords layer_words;
  std::vector<SharedKeys> shared;   // by the layer that makes them
  std::vector<LayerScheme> groups;  // layers whose encodings and parameters are the same share one
  Placement compiled_for;           // the places of their plans
  bool compiled_dropped = false;    // their plans are without encodings
  std::vector<std::size_t> group_of;
  std::vector<LayerActivations> layers;
  HeadKept head;
  // Of the backward pass.
  LayerScratch scratch;
  Floats dlast, dhead, dh, djoined, dwords, de, dencoder, dlooked_up, dnarrow, dread, dread_words;
  Floats later;  // what the position vectors receive after the first layer's input
};
// One call of a session.
struct Call {
  const ModelParts& m;
  const Tokens& tokens;
  const float* w;
  Pass& p;
  TapsAt taps() const { return {tokens.taps, ""}; }
  std::int64_t N() const { return tokens.B * tokens.T; }
  std::int64_t step() const { return row_step(m.a.width); }
  std::int64_t size() const { return N() * step(); }
  bool again() const {  // position vectors enter before every layer
    return m.scheme.input && m.scheme.combination->injection() == Injection::every_layer;
  }
  // The row of e of token n.
  std::int64_t place(std::int64_t n) const { return p.placement.rows > 1 ? n : n % tokens.T; }
};

// p.input.h from words, types and position vectors: embedding.cpp. Backward from p.dh, with p.later.
void embed(const Call& c);
void embed_backward(const Call& c, float* g);

// p.layer_words from p.input.words. Backward from its gradient, which it adds to p.dwords.
void make_layer_words(const Call& c);
void make_layer_words_backward(const Call& c, float* g);

// What the head reads, from the rows h that the last layer left; and p.head.logits: head.cpp. Backward: p.dlast from
// p.head.logits, which holds the gradient of the logits; p.dh from p.dlast.
const float* last_rows(const Call& c, const float* h);
void last_rows_backward(const Call& c, const float* h, float* g);
void make_logits(const Call& c, const float* last);
void make_logits_backward(const Call& c, const float* last, float* g);

}  // namespace gnomon
