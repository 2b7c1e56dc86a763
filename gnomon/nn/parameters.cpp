#include "gnomon/nn/parameters.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"

namespace gnomon {
namespace {

constexpr std::int64_t kMostParameters = std::int64_t{1} << 40;

// What writes into the residual stream starts smaller by 1/√sublayers: Radford et al. 2019 (GPT-2), section 2.3.
double deep(const Architecture& a) { return 1 / std::sqrt((a.cross ? 3.0 : 2.0) * double(a.layers)); }
double root(std::int64_t n) { return std::sqrt(double(n)); }

}  // namespace

Layout::Layout(const Architecture& a, const Scheme& scheme) {
  const bool words = a.narrow && a.narrow->widened == Widened::words;
  const std::int64_t word_width = words ? a.narrow->width : scheme.combination->word_width(),
                     joined = a.embedding_width(), read = a.head_width();
  word = declare("embed.word", {{a.vocabulary, word_width}, 0, 1 / root(word_width), false});
  if (a.token_types) type = declare("embed.type", {{a.token_types, joined}, 0, 1 / root(joined), false});
  combination = declare_all("embed.combination.", scheme.combination->params());
  if (a.norm.embedding) embedding_norm = declare_norm("embed.norm.", a.norm, joined);
  if (a.narrow) {
    const std::int64_t to = words ? scheme.combination->word_width() : a.width;
    widen.weight = declare("embed.widen.weight", {{to, read}, 0, 1 / root(read), true});
    if (a.narrow->bias) widen.bias = declare("embed.widen.bias", {{to}, 0, 0, false});
  }
  if (a.layer_words > 0) declare_layer_words(a);
  input = scheme.input ? declare_all("position.input.", scheme.input->params()) : 0;
  for (std::size_t n = 0; n < scheme.attention.size(); ++n) declare_encoding(a, scheme, n);
  for (std::int64_t l = 0; l < a.layers; ++l) layers.push_back(declare_layer(a, l));
  if (a.norm.last) last_norm = declare_norm("head.norm.", a.norm, a.width);
  if (a.head.form == HeadForm::none) return;
  if (a.head.form == HeadForm::transform) {
    transform.weight = declare("head.transform.weight", {{read, a.width}, 0, 1 / root(a.width), true});
    if (a.head.transform_bias) transform.bias = declare("head.transform.bias", {{read}, 0, 0, false});
    transform_norm = declare_norm("head.transform.norm.", a.norm, read);
  } else if (a.narrow) {
    narrow.weight = declare("head.narrow.weight", {{read, a.width}, 0, 1 / root(a.width), true});
  }
  head.weight = a.head.tied ? word : declare("head.weight", {{a.vocabulary, read}, 0, 0.02, true});
  if (a.head.bias) head.bias = declare("head.bias", {{a.vocabulary}, 0, 0, false});
}

LayerAt Layout::declare_layer(const Architecture& a, std::int64_t l) {
  const std::string at = text("layers.", l, ".");
  const bool before = a.norm.before_sublayers(), after = a.norm.place != NormPlace::before;
  const auto norm = [&](bool here, const char* name) {
    return here ? declare_norm(at + name, a.norm, a.width) : NormAt();
  };
  LayerAt p;
  p.feed_forward = a.feed_forward_in(l);
  p.attention_norms.before = norm(before && (l > 0 || a.norm.first), "attention.norm.");
  p.attention = declare_attention(a, a.attention_in(l), at + "attention.");
  p.attention_norms.after = norm(after, "attention.norm_after.");
  if (a.cross) {
    p.cross_norms.before = norm(before, "cross.norm.");
    p.cross = declare_attention(a, a.attention, at + "cross.");
    p.cross_norms.after = norm(after, "cross.norm_after.");
  }
  p.feed_forward_norms.before =
      norm(before && a.residual != Residual::parallel_one_norm, "feed_forward.norm.");
  declare_feed_forward(a, at + "feed_forward.", p);
  p.feed_forward_norms.after = norm(after, "feed_forward.norm_after.");
  if (const std::int64_t E = a.layer_words; E > 0) {
    p.words_gate.weight = declare(at + "words.gate.weight", {{E, a.width}, 0, 1 / root(a.width), true});
    p.words_out.weight = declare(at + "words.out.weight", {{a.width, E}, 0, deep(a) / root(E), true});
    p.words_norm = declare_norm(at + "words.norm.", a.norm, a.width);
  }
  if (a.layer_scale) p.scale = declare(at + "scale", {{1}, 1, 0, false});
  return p;
}

void Layout::declare_layer_words(const Architecture& a) {
  const std::int64_t E = a.layer_words, all = a.layers * E;
  layer_words.table = declare("embed.layers.word", {{a.vocabulary, all}, 0, 1 / root(E), false});
  layer_words.project = declare("embed.layers.project.weight", {{all, a.width}, 0, 1 / root(a.width), true});
  layer_words.norm = declare_norm("embed.layers.norm.", a.norm, E);
}

PartAt Layout::declare_part(const Architecture& a, const FeedForward& f, const std::string& at) {
  const std::int64_t C = a.width, up = f.parts() * f.up_width(), down = f.parts() * C;
  PartAt p;
  p.up.weight = declare(at + "up.weight", {{up, C}, 0, 1 / root(C), true});
  if (a.biases.up) p.up.bias = declare(at + "up.bias", {{up}, 0, 0, false});
  p.down.weight = declare(at + "down.weight", {{down, f.hidden}, 0, deep(a) / root(f.hidden), true});
  if (a.biases.down) p.down.bias = declare(at + "down.bias", {{down}, 0, 0, false});
  return p;
}
void Layout::declare_feed_forward(const Architecture& a, const std::string& at, LayerAt& p) {
  const FeedForward& f = p.feed_forward;
  const Experts& e = f.experts;
  const std::int64_t C = a.width;
  if (e) {
    p.router.weight = declare(at + "router.weight", {{e.count, C}, 0, 1 / root(C), true});
    if (e.bias) p.router.bias = declare(at + "router.bias", {{e.count}, 0, 0, false});
    if (e.choice) p.choice = declare(at + "choice", {{e.count}, 0, 0, false});
  }
  p.part = declare_part(a, f, at);
  if (e.shared == 0) return;
  p.shared = declare_part(a, f.shared_part(), at + "shared.");
  if (e.shared_gate) p.shared_gate = declare(at + "shared.gate", {{1, C}, 0, 1 / root(C), true});
}

AttentionAt Layout::declare_attention(const Architecture& a, const AttentionRule& rule,
                                      const std::string& at) {
  const std::int64_t q = rule.q_width(), kv = rule.kv_width();
  const Biases& b = a.biases;
  AttentionAt p;
  p.qkv = declare(at + "qkv.weight", {{rule.projected_width(), a.width}, 0, 1 / root(a.width), true});
  const bool keys = !rule.borrows, values = keys && !rule.keys_are_values;
  if (b.q && b.k && b.v && values) {
    p.q_bias = declare(at + "qkv.bias", {{rule.qkv_width()}, 0, 0, false});
    p.k_bias = p.q_bias + q, p.v_bias = p.k_bias + kv;
  } else {
    if (b.q) p.q_bias = declare(at + "q.bias", {{q}, 0, 0, false});
    if (b.k && keys) p.k_bias = declare(at + "k.bias", {{kv}, 0, 0, false});
    if (b.v && values) p.v_bias = declare(at + "v.bias", {{kv}, 0, 0, false});
  }
  if (a.norm.qk != QkNorm::none) {
    const bool one = a.norm.qk == QkNorm::shared;
    p.q_norm = declare_norm(at + "q.norm.", a.norm.of_qk(), one ? rule.head_dim : q);
    if (keys) p.k_norm = declare_norm(at + "k.norm.", a.norm.of_qk(), one ? rule.head_dim : kv);
  }
  if (rule.sinks) p.sinks = declare(at + "sinks", {{rule.heads}, 0, 0, false});
  p.out.weight = declare(at + "out.weight", {{a.width, q}, 0, deep(a) / root(q), true});
  if (b.out) p.out.bias = declare(at + "out.bias", {{a.width}, 0, 0, false});
  return p;
}

std::int64_t Layout::declare(std::string name, Array array) {
  params.push_back(
      {{std::move(name), std::move(array.shape), array.mean, array.deviation, array.decay}, total});
  total += count_numbers(params.back().spec.name, params.back().spec.shape);
  check_extents("model", {{"the number of parameters", total, 0, kMostParameters}});
  return params.back().offset;
}
std::int64_t Layout::declare_all(const std::string& prefix, const std::vector<ParamSpec>& specs) {
  const std::int64_t first = total;
  for (const auto& s : specs) {
    declare(prefix + s.name, {s.shape, s.mean, s.deviation, s.decay});
    params.back().spec.start = s.start;
  }
  return first;
}
NormAt Layout::declare_norm(const std::string& prefix, const Norms& norms, std::int64_t width) {
  NormAt at{.there = true};
  if (norms.form == NormForm::layer_plain) return at;
  at.gain = declare(prefix + "gain", {{width}, norms.form == NormForm::rms_one_plus ? 0.0 : 1.0, 0, false});
  if (norms.form == NormForm::layer) at.bias = declare(prefix + "bias", {{width}, 0, 0, false});
  return at;
}
void Layout::declare_encoding(const Architecture& a, const Scheme& scheme, std::size_t n) {
  const Encoding& encoding = *scheme.attention[n].encoding;
  const std::string at = text("position.attention.", n, ".");
  const std::int64_t shared = encoding.per_layer() ? 0 : declare_all(at, encoding.params());
  for (std::int64_t l = 0; l < a.layers; ++l) {
    const auto& active = scheme.in_layer(l);
    const bool here = std::find(active.begin(), active.end(), n) != active.end();
    const bool own = here && encoding.per_layer();
    encodings_.push_back(own ? declare_all(at + text(l, "."), encoding.params()) : shared);
  }
}

}  // namespace gnomon
