#include "gnomon/nn/session.h"

#include <algorithm>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/nn/decode.h"
#include "gnomon/nn/pass.h"

namespace gnomon {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(Fault::usage, "model: " + why); }

// Rows `step` apart, as dense ones.
void copy_dense(std::int64_t N, std::int64_t width, const float* rows, std::span<float> out) {
  for (std::int64_t n = 0; n < N; ++n) std::copy_n(rows + n * row_step(width), width, &out[n * width]);
}
double count_scored(const Tokens& tokens) {
  if (tokens.scored > 0) return double(tokens.scored);
  const auto n = std::count_if(tokens.targets.begin(), tokens.targets.end(),
                               [](std::int32_t t) { return t != kUnscored; });
  return double(std::max<std::ptrdiff_t>(n, 1));
}

}  // namespace

struct Session::Work {
  std::shared_ptr<const ModelParts> parts;
  Pass pass;
  std::vector<LayerCache> caches;  // of each layer, while it generates
  std::int64_t length = 0, capacity = 0;

  const ModelParts& m() const { return *parts; }
  Call call(const Tokens& tokens, std::span<const float> w) { return {m(), tokens, w.data(), pass}; }
  LayerShape shape(const Tokens& t, std::size_t l);
  // goes_on: the rows of an encoder are kept from the tokens before.
  void check(const Tokens& tokens, std::span<const float> w, bool goes_on = false) const;
  void check_scored(const Tokens& tokens, std::span<const float> losses) const;
  void check_gradient(const Tokens& tokens, std::span<const float> gradient) const;
  void check_dencoder(const Tokens& tokens, std::span<float> gradient, std::span<float> dencoder) const;
  void check_head() const;
  void check_encoder(const Tokens& tokens, bool goes_on) const;
  void take_encoder(const Tokens& tokens);
  void check_new(const Tokens& tokens) const;
  void place(const Tokens& tokens, bool training);
  void make_groups(const Tokens& tokens, std::span<const float> w);
  void compile_groups(const Tokens& tokens);
  // The rows that the last layer left; those that the head reads. Places and groups are there. Without a way back, two layers'
  // worth of memory serves all: one reads what the other left.
  const float* layers(const Call& c, bool training);
  const float* forward(const Call& c, bool training);
  const float* left() const { return pass.layers.back().feed_forward.out.data(); }
  // From p.dlast.
  void backward(const Call& c, std::span<float> g, std::span<float> dencoder = {});
  double scored(const Call& c, float dscale, std::span<float> losses);
};

LayerShape Session::Work::shape(const Tokens& t, std::size_t l) {
  const auto layer = std::int64_t(l);
  LayerShape s{m().in_layer(layer), t.B, t.T, pass.padding.empty() ? t.padding : pass.padding.data(),
               pass.encoder_at};
  s.precision = t.precision;
  if (m().shares(layer)) s.shared = &pass.shared[std::size_t(m().keys[l])];
  if (const std::int64_t E = m().a.layer_words; E > 0) {
    AllLayerWords& all = pass.layer_words;
    s.words = {&all.rows[l * std::size_t(E)], all.d.empty() ? nullptr : &all.d[l * std::size_t(E)],
               row_step(m().a.layers * E)};
  }
  return s;
}
// What every pass reads; tokens are looked at once each, because they are rows of the word table.
void Session::Work::check(const Tokens& t, std::span<const float> w, bool goes_on) const {
  const Architecture& a = m().a;
  check_extents("model", {{"B", t.B, 1, kMostTokens}, {"T", t.T, 1, kMostTokens}});
  check_size("model", "inputs", t.inputs.size(), t.B * t.T);
  check_size("model", "w", w.size(), m().at.total);
  const auto within = [](std::string_view what, std::span<const std::int32_t> all, std::int64_t end) {
    const auto none = std::find_if(all.begin(), all.end(), [&](std::int32_t x) { return x < 0 || x >= end; });
    if (none == all.end()) return;
    refuse(text(what, " ", none - all.begin(), " is ", *none, "; allowed are 0 to ", end - 1));
  };
  within("input", t.inputs, a.vocabulary);
  check_encoder(t, goes_on);
  if (t.taps) check_taps(*t.taps, a, m().scheme);
  if (t.types.empty()) return;
  if (a.token_types == 0) refuse("types are given, but the architecture has no token types");
  check_size("model", "types", t.types.size(), t.B * t.T);
  within("type", t.types, a.token_types);
}
// What a loss reads and writes beside; the targets themselves are cross_entropy's to look at.
void Session::Work::check_scored(const Tokens& t, std::span<const float> losses) const {
  check_head();
  check_size("model", "targets", t.targets.size(), t.B * t.T);
  check_size("model", "losses", losses.size(), t.B * t.T);
}
void Session::Work::check_gradient(const Tokens& t, std::span<const float> gradient) const {
  check_size("model", "gradient", gradient.size(), m().at.total);
  if (t.taps) refuse("taps are given with a gradient; allowed are passes without a gradient");
}
void Session::Work::check_dencoder(const Tokens& t, std::span<float> gradient,
                                   std::span<float> dencoder) const {
  if (gradient.empty()) refuse("dencoder is given without a gradient; allowed is none");
  check_size("model", "dencoder", dencoder.size(), std::int64_t(t.encoder.rows.size()));
}
void Session::Work::check_head() const {
  if (m().a.head.form == HeadForm::none)
    refuse("the architecture has no head, so it has no logits and no losses");
}

void Session::Work::check_encoder(const Tokens& t, bool goes_on) const {
  const EncoderRows& e = t.encoder;
  const bool given = e.T != 0 || !e.rows.empty();
  if (given && !m().a.cross) refuse("encoder rows are given, but the architecture has no cross attention");
  if (given && goes_on) refuse("encoder rows are given again; allowed are none after the first tokens");
  if (!m().a.cross || goes_on) return;
  if (!given)
    refuse(
        "the architecture has cross attention: found no encoder rows; allowed are those of one token or "
        "more");
  check_extents("model", {{"encoder.T", e.T, 1, kMostTokens}});
  check_size("model", "encoder.rows", e.rows.size(), t.B * e.T * m().a.width);
}
// The rows as far apart as all others.
void Session::Work::take_encoder(const Tokens& t) {
  const EncoderRows& e = t.encoder;
  if (e.T == 0) return;
  const std::int64_t C = m().a.width, step = row_step(C);
  pass.encoder.resize(std::size_t(t.B * e.T * step));
  for (std::int64_t n = 0; n < t.B * e.T; ++n) std::copy_n(&e.rows[n * C], C, &pass.encoder[n * step]);
  pass.encoder_padding.clear();
  if (e.padding) pass.encoder_padding.assign(e.padding, e.padding + t.B * e.T);
  pass.encoder_at = {e.T, pass.encoder.data(), e.padding ? pass.encoder_padding.data() : nullptr};
}

// Where the tokens stand, and which of them are padding.
void Session::Work::place(const Tokens& t, bool training) {
  Pass& p = pass;
  if (t.placement) {
    p.placement = *t.placement;
    p.placement.check();
    if ((p.placement.rows != 1 && p.placement.rows != t.B) || p.placement.T() != t.T) {
      throw Error(Fault::usage, text("placement has rows=", p.placement.rows, " and T=", p.placement.T(),
                                     "; allowed are rows=1 or ", t.B, " and T=", t.T));
    }
  } else {
    p.placement = Placement::consecutive(0, t.T);
  }
  const auto& samplers = m().scheme.samplers;
  const bool reads = m().scheme.input && m().scheme.input->reads_content();
  // Each sequence has positions of its own.
  if ((!samplers.empty() || reads) && p.placement.rows == 1) p.placement = p.placement.repeated(t.B);
  const Random random(t.seed, "positions");
  for (const auto& sampler : samplers) {
    for (std::int64_t b = 0; b < t.B; ++b) {
      part<PlacePart>(*sampler)->place(
          random, t.draw * std::uint64_t(t.B) + std::uint64_t(b), training,
          std::span(p.placement.values).subspan(std::size_t(b * t.T), std::size_t(t.T)));
    }
  }
  p.padding.clear();
  if (p.placement.padding.empty()) return;
  for (std::int64_t n = 0; n < t.B * t.T; ++n) {
    const bool hidden = t.padding && t.padding[n];
    p.padding.push_back(hidden || p.placement.padding[p.placement.rows > 1 ? n : n % t.T]);
  }
}

// Layers that share pattern and parameters share terms; a layer with parameters of its own has its own.
void Session::Work::make_groups(const Tokens& tokens, std::span<const float> w) {
  Pass& p = pass;
  const Scheme& scheme = m().scheme;
  const bool stay = p.compiled_for == p.placement && p.compiled_dropped == tokens.drop_positions;
  std::vector<LayerScheme> before = std::move(p.groups);
  p.groups.clear(), p.group_of.clear();
  std::vector<std::size_t> group_of_pattern(scheme.patterns.size(), SIZE_MAX);
  const bool injects = scheme.input && scheme.combination->injection() == Injection::queries_and_keys;
  for (std::int64_t l = 0; l < m().a.layers; ++l) {
    const std::size_t pattern = std::size_t(l) % scheme.patterns.size();
    const auto& active = scheme.patterns[pattern];
    const bool own = std::any_of(active.begin(), active.end(),
                                 [&](std::size_t n) { return scheme.attention[n].encoding->per_layer(); });
    if (!own && group_of_pattern[pattern] != SIZE_MAX) {
      p.group_of.push_back(group_of_pattern[pattern]);
      continue;
    }
    p.group_of.push_back(group_of_pattern[pattern] = p.groups.size());
    LayerScheme& group = p.groups.emplace_back();
    group.places = &p.placement;
    for (std::size_t n = 0; n < active.size() && !tokens.drop_positions; ++n) {
      group.acting.push_back(
          {scheme.attention[active[n]].encoding.get(), w.data() + m().at.encoding(active[n], l)});
    }
    group.reads_content = reads_content(group.acting);
    const bool learns = std::any_of(group.acting.begin(), group.acting.end(),
                                    [](const Acting& one) { return one.encoding->param_count() > 0; });
    const std::size_t g = p.groups.size() - 1;
    if (stay && !learns && g < before.size() && before[g].compiled)
      group.plan = std::move(before[g].plan), group.compiled = true;
    if (injects && !tokens.drop_positions) group.e = p.input.e.data(), group.e_rows = p.placement.rows;
  }
}
// A plan that no parameter changes stays while the tokens stand where they stood.
void Session::Work::compile_groups(const Tokens& tokens) {
  for (LayerScheme& group : pass.groups) {
    if (!group.compiled) group.plan = compile(group.acting, pass.placement, m().a.causal);
    group.compiled = true;
  }
  pass.compiled_for = pass.placement, pass.compiled_dropped = tokens.drop_positions;
}

const float* Session::Work::layers(const Call& c, bool training) {
  Pass& p = pass;
  const auto& at = m().at.layers;
  p.layers.resize(at.size()), p.shared.resize(m().keys.size());
  Floats* h = &p.input.h;
  for (std::size_t l = 0; l < at.size(); ++l) {
    if (c.tokens.stop && (*c.tokens.stop)()) throw Stopped{};
    const TapsAt taps = c.tokens.taps ? c.taps().under(text("layers.", l, ".")) : TapsAt();
    const auto show = [&](std::string_view name, Floats& rows) {
      taps.show_rows(name, rows, c.tokens.B, c.tokens.T, m().a.width);
    };
    LayerActivations& a = p.layers[training ? l : l % 2];
    Floats& out = a.feed_forward.out;
    show("resid_pre", *h);
    layer_forward(shape(c.tokens, l), at[l], {c.w, h->data(), caches.empty() ? nullptr : &caches[l], taps},
                  p.groups[p.group_of[l]], a);
    show("resid_post", out);
    for (std::int64_t n = 0; c.again() && l + 1 < at.size() && n < c.N(); ++n) {
      const float* e = &p.input.e[c.place(n) * m().a.width];
      for (std::int64_t i = 0; i < m().a.width; ++i) out[n * c.step() + i] += e[i];
    }
    h = &out;
  }
  return h->data();
}

const float* Session::Work::forward(const Call& c, bool training) {
  caches.clear(), length = 0;
  place(c.tokens, training), take_encoder(c.tokens);
  embed(c);
  make_groups(c.tokens, {c.w, std::size_t(m().at.total)});
  compile_groups(c.tokens);
  return last_rows(c, layers(c, training));
}

void Session::Work::backward(const Call& c, std::span<float> g, std::span<float> dencoder) {
  Pass& p = pass;
  p.dencoder.assign(dencoder.empty() ? 0 : p.encoder.size(), 0.0f);
  p.encoder_at.d = dencoder.empty() ? nullptr : p.dencoder.data();
  const Scheme& scheme = m().scheme;
  const std::int64_t C = m().a.width;
  const std::size_t L = p.layers.size();
  last_rows_backward(c, left(), g.data());
  for (SharedKeys& keys : p.shared) keys.d.assign(keys.rows.size(), 0.0F);
  p.layer_words.d.assign(p.layer_words.rows.size(), 0.0F);
  p.later.assign(p.input.e.size(), 0.0f);
  for (LayerScheme& group : p.groups) {
    group.dplan = group.plan.zeros();
    if (group.e) group.de = p.later.data();
  }
  for (std::size_t l = L; l-- > 0;) {
    if (c.tokens.stop && (*c.tokens.stop)()) throw Stopped{};
    const float* h = l ? p.layers[l - 1].feed_forward.out.data() : p.input.h.data();
    LayerScheme& group = p.groups[p.group_of[l]];
    const auto& active = scheme.in_layer(std::int64_t(l));
    for (std::size_t n = 0; n < group.acting.size(); ++n)
      group.acting[n].dw = g.data() + m().at.encoding(active[n], std::int64_t(l));
    layer_backward(shape(c.tokens, l), m().at.layers[l], {c.w, h, g.data(), p.dh.data(), p.scratch}, group,
                   p.layers[l]);
    for (std::int64_t n = 0; l > 0 && c.again() && n < c.N(); ++n) {
      float* to = &p.later[c.place(n) * C];
      for (std::int64_t i = 0; i < C; ++i) to[i] += p.dh[n * c.step() + i];
    }
  }
  for (LayerScheme& group : p.groups) compile_backward(group.acting, p.placement, group.plan, group.dplan);
  embed_backward(c, g.data());
  for (std::int64_t n = 0; n < std::int64_t(dencoder.size()); ++n)
    dencoder[n] += p.dencoder[n / C * c.step() + n % C];
}

// The mean loss from the logits, which become their gradient with dscale.
double Session::Work::scored(const Call& c, float dscale, std::span<float> losses) {
  const std::int64_t V = m().a.vocabulary;
  cross_entropy({c.N(), V, dscale, row_step(V)}, pass.head.logits.data(), c.tokens.targets.data(),
                losses.data());
  double sum = 0;
  for (const float x : losses) sum += x;
  return sum / count_scored(c.tokens);
}

Session::Session(const Model& model) : work_(std::make_unique<Work>()) { work_->parts = model.parts_; }
const Architecture& Session::architecture() const { return work_->m().a; }
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

double Session::loss(const Tokens& tokens, std::span<const float> w, std::span<float> losses,
                     std::span<float> gradient, std::span<float> dencoder) {
  work_->check(tokens, w), work_->check_scored(tokens, losses);
  if (!dencoder.empty()) work_->check_dencoder(tokens, gradient, dencoder);
  if (!gradient.empty()) work_->check_gradient(tokens, gradient);
  const Call c = work_->call(tokens, w);
  const float* last = work_->forward(c, !gradient.empty());
  make_logits(c, last);
  const float dscale = gradient.empty() ? 0.0f : 1.0f / float(count_scored(tokens));
  const double mean = work_->scored(c, dscale, losses);
  if (gradient.empty()) return mean;
  make_logits_backward(c, last, gradient.data());
  work_->backward(c, gradient, dencoder);
  return mean;
}

void Session::logits(const Tokens& tokens, std::span<const float> w, std::span<float> out) {
  const std::int64_t V = work_->m().a.vocabulary;
  work_->check(tokens, w), work_->check_head();
  check_size("model", "logits", out.size(), tokens.B * tokens.T * V);
  const Call c = work_->call(tokens, w);
  make_logits(c, work_->forward(c, false));
  copy_dense(c.N(), V, work_->pass.head.logits.data(), out);
}

void Session::hidden(const Tokens& tokens, std::span<const float> w, std::span<float> rows) {
  work_->check(tokens, w);
  check_size("model", "rows", rows.size(), tokens.B * tokens.T * work_->m().a.width);
  const Call c = work_->call(tokens, w);
  copy_dense(c.N(), work_->m().a.width, work_->forward(c, false), rows);
}

void Session::hidden_backward(const Tokens& tokens, std::span<const float> w, std::span<const float> drows,
                              std::span<float> gradient) {
  const std::int64_t C = work_->m().a.width;
  work_->check(tokens, w);
  check_size("model", "drows", drows.size(), tokens.B * tokens.T * C);
  work_->check_gradient(tokens, gradient);
  const Call c = work_->call(tokens, w);
  work_->forward(c, true);
  work_->pass.dlast.assign(c.size(), 0.0f);
  for (std::int64_t n = 0; n < c.N(); ++n) std::copy_n(&drows[n * C], C, &work_->pass.dlast[n * c.step()]);
  work_->backward(c, gradient);
}

// --- Generation

void Session::begin(std::int64_t B, std::int64_t capacity) {
  const ModelParts& m = work_->m();
  if (!m.a.causal) refuse("generation needs a causal model: causal is false; allowed is true");
  if (!m.scheme.samplers.empty())
    refuse(text("'", m.a.position.print(),
                "' draws new positions for every window; it cannot generate with a cache"));
  if (m.scheme.input && m.scheme.input->reads_content())
    refuse(
        text("'", m.a.position.print(),
             "' reads the words before each token, which a cache of keys does not hold; it cannot generate"));
  work_->check_head();
  std::vector<LayerCache> caches;
  for (std::int64_t l = 0; l < m.a.layers; ++l) {
    std::vector<const Encoding*> encodings;
    for (const std::size_t n : m.scheme.in_layer(l))
      encodings.push_back(m.scheme.attention[n].encoding.get());
    const AttentionRule& at = m.in_layer(l).attention;
    const CacheSize size{B, at.kv_heads, at.head_dim, at.head_dim, capacity};
    caches.push_back({make_cache(size, encodings, m.a.position.print()), {}});
  }
  work_->caches = std::move(caches), work_->length = 0, work_->capacity = capacity;
}

void Session::Work::check_new(const Tokens& t) const {
  if (caches.empty()) refuse("extend() without begin()");
  if (const std::int64_t B = caches.front().keys.shape().B; t.B != B)
    refuse(text("B is ", t.B, "; allowed is ", B, ", as in begin()"));
  if (t.padding || t.placement)
    refuse("padding or placement is given; allowed are none: each new token follows the last");
  for (std::int64_t l = 0; t.taps && l < m().a.layers; ++l) {
    for (const char* name : {"q_mapped", "k_mapped", "v_mapped", "logits", "weights"}) {
      const std::string of_layer = text("layers.", l, ".attention.", name);
      if (t.taps->count(of_layer)) refuse(text("tap '", of_layer, "' does not exist with a key cache"));
    }
  }
  if (length + t.T > capacity)
    refuse(text("found ", t.T, " new tokens after ", length, "; allowed are ", capacity, " together"));
}

void Session::extend(const Tokens& tokens, std::span<const float> w, std::span<float> logits) {
  const std::int64_t V = work_->m().a.vocabulary;
  work_->check(tokens, w, work_->length > 0), work_->check_new(tokens);
  check_size("model", "logits", logits.size(), tokens.B * V);
  const Call c = work_->call(tokens, w);
  work_->pass.placement = Placement::consecutive(double(work_->length), tokens.T);
  work_->pass.padding.clear();
  work_->take_encoder(tokens);
  try {
    embed(c);
    work_->make_groups(tokens, w);
    make_logits(c, last_rows(c, work_->layers(c, false)));
  } catch (...) {  // some layers have appended these tokens, others have not
    work_->caches.clear(), work_->length = 0;
    throw;
  }
  work_->length += tokens.T;
  for (std::int64_t b = 0; b < tokens.B; ++b) {
    std::copy_n(&work_->pass.head.logits[((b + 1) * tokens.T - 1) * row_step(V)], V, &logits[b * V]);
  }
}

std::int64_t Session::length() const { return work_->length; }

}  // namespace gnomon
