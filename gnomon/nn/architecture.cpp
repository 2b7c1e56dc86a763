#include "gnomon/nn/architecture.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/spec/plan.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {
namespace {

void require(bool ok, const std::string& message) {
  if (!ok) throw Error(Fault::usage, message);
}
void within(std::string_view name, std::int64_t found, std::int64_t least, std::int64_t most) {
  require(found >= least && found <= most,
          text("model.", name, ": found ", found, ", allowed are ", least, " to ", most));
}
void finite(std::string_view name, double found, bool above_zero) {
  const bool ok = std::isfinite(found) && (above_zero ? found > 0 : found >= 0);
  require(ok, text("model.", name, ": found ", shortest(found), ", allowed are finite numbers ",
                   above_zero ? "above 0" : "of 0 or more"));
}

void check_sizes(const Architecture& a) {
  const AttentionRule& at = a.attention;
  within("layers", a.layers, 1, 1000);
  within("width", a.width, 1, 1 << 16);
  within("vocabulary", a.vocabulary, 1, std::int64_t{1} << 31);
  if (a.narrow) within("narrow.width", a.narrow->width, 1, 1 << 16);
  within("token_types", a.token_types, 0, 1 << 16);
  within("length", a.length, 2, 1 << 20);
  within("heads", at.heads, 1, 1 << 16);
  within("kv_heads", at.kv_heads, 1, at.heads);
  require(at.heads % at.kv_heads == 0,
          text("model.heads ", at.heads, " is not a multiple of model.kv_heads ", at.kv_heads));
  require(at.head_dim >= 4 && at.head_dim <= 512,
          text("model.head_dim: a head of ", at.head_dim, " channels; allowed are 4 to 512"));
  within("hidden", a.feed_forward.hidden, 1, 1 << 22);
  finite("norm.epsilon", a.norm.epsilon, true);
  finite("word_scale", a.word_scale, true);
  finite("attention.scale", at.scale, false);
  finite("attention.soft_cap", at.soft_cap, false);
  finite("attention.clip", at.clip, false);
  if (a.cross) finite("cross.scale", a.cross->scale, false);
  finite("residual_scale", a.residual_scale, true);
  finite("feed_forward.limit", a.feed_forward.limit, true);
  finite("head.scale", a.head.scale, true);
  finite("head.soft_cap", a.head.soft_cap, false);
}

void check_experts(const Experts& e) {
  within("experts.count", e.count, 0, 1 << 16);
  within("experts.shared", e.shared, 0, 1 << 22);
  finite("experts.scale", e.scale, true);
  require(e.shared > 0 || !e.shared_gate, "model.experts.shared_gate: there is no shared expert");
  if (e) return within("experts.active", e.active, 1, e.count);
  require(e.active == 0 && !e.bias && !e.choice && e.shared == 0 && e.routing == Routing::of_chosen,
          "model.experts: a router is described, but there are no experts");
}
void check_layers(std::string_view name, const std::vector<std::int64_t>& found, std::int64_t layers) {
  for (const std::int64_t layer : found) within(name, layer, 0, layers - 1);
  require(std::adjacent_find(found.begin(), found.end(), std::greater_equal<>()) == found.end(),
          text("model.", name, ": found layers out of order or twice; allowed are rising ones"));
}
void check_other_layers(const Architecture& a) {
  check_layers("feed_forward.others", a.feed_forward.others.layers, a.layers);
  if (!a.feed_forward.others.layers.empty())
    within("feed_forward.others.hidden", a.feed_forward.others.hidden, 1, 1 << 22);
  const OtherHeads& o = a.other_heads;
  check_layers("other_heads", o.layers, a.layers);
  if (o.layers.empty()) return;
  within("other_heads.head_dim", o.head_dim, 4, 512);
  within("other_heads.kv_heads", o.kv_heads, 1, a.attention.heads);
  require(a.attention.heads % o.kv_heads == 0,
          text("model.heads ", a.attention.heads, " is not a multiple of model.other_heads.kv_heads ",
               o.kv_heads));
  require(a.position.attention.empty() || o.head_dim == a.attention.head_dim,
          text("model.other_heads: '", a.position.print(),
               "' is the same in all layers; allowed are specs by layer"));
  const std::int64_t period = std::max<std::int64_t>(std::int64_t(a.position.layers.size()), 1);
  for (std::int64_t l = period; l < a.layers && !a.position.layers.empty(); ++l) {
    require(a.attention_in(l).head_dim == a.attention_in(l - period).head_dim,
            text("model.other_heads: layers ", l - period, " and ", l, " have the same place in '",
                 a.position.print(), "' but not the same heads"));
  }
}
// Who has no matrix of values, or of keys either.
void check_borrowing(const Architecture& a) {
  const std::int64_t makers = a.layers - std::int64_t(a.keys_from.size());
  require(makers >= 1,
          text("model.keys_from: found ", a.keys_from.size(), " layers, allowed are 0 to ", a.layers - 1));
  require(!a.attention.borrows, "model.attention.borrows: it follows from model.keys_from");
  for (std::int64_t l = makers; l < a.layers; ++l) {
    within("keys_from", a.keys_of(l), 0, makers - 1);
    const AttentionRule own = a.attention_in(l), theirs = a.attention_in(a.keys_of(l));
    require(own.head_dim == theirs.head_dim && own.kv_heads == theirs.kv_heads,
            text("model.keys_from: layers ", l, " and ", a.keys_of(l), " have other heads"));
  }
  if (a.keys_from.empty() && !a.attention.keys_are_values && !a.other_heads.keys_are_values) return;
  require(a.attention.clip == 0, "model.attention.clip: layers without a matrix of values cannot clip");
}
void check_layer_words(const Architecture& a) {
  within("layer_words", a.layer_words, 0, 1 << 14);
  require(a.layer_words == 0 || !a.narrow, "model.layer_words: they are made of words as wide as the stream");
}

// Cross attention has the heads and biases of attention, and neither its norms of q and k nor its limits.
void check_cross(const Architecture& a) {
  if (!a.cross) return;
  const auto none = [](bool ok, std::string_view what) {
    require(ok, text("model.cross: cross attention is not defined with ", what));
  };
  none(a.residual == Residual::in_turn, "parallel sublayers (residual)");
  none(a.norm.qk == QkNorm::none, "norms of q and k (norm.qk)");
  none(!a.norm.values, "norms of v (norm.values)");
  none(a.attention.clip == 0, "a limit of q, k and v (attention.clip)");
  none(a.has_equal_heads() && !a.attention.keys_are_values,
       "layers that make their keys and values in other ways (other_heads, keys_are_values, keys_from)");
  none(!a.attention.sinks, "sinks (attention.sinks)");
}

// Parts that say the opposite of each other.
void check_parts(const Architecture& a) {
  check_experts(a.feed_forward.experts);
  check_other_layers(a), check_borrowing(a), check_layer_words(a);
  check_cross(a);
  require(a.norm.qk != QkNorm::none || !a.norm.qk_form, "model.norm.qk_form: q and k have no norms");
  require((a.norm.qk == QkNorm::none && !a.norm.values) || a.attention.clip == 0,
          "model.attention.clip: q and k with norms cannot be clipped");
  require(a.residual == Residual::in_turn || a.norm.place == NormPlace::before,
          "model.residual: parallel sublayers need their norms before them; found another norm.place");
  require(
      a.norm.first || (a.norm.place == NormPlace::before && a.residual == Residual::in_turn),
      "model.norm.first: the first norm can be omitted only with norms before sublayers that run in turn");
  if (a.head.form == HeadForm::none) {
    require(!a.head.tied && !a.head.bias && a.head.scale == 1 && a.head.soft_cap == 0,
            "model.head: a model without a head cannot have a tied head, a head bias, a scale or a soft-cap");
  }
  require(a.head.form == HeadForm::transform || !a.head.transform_bias,
          "model.head.transform_bias: the head has no transform");
  require(a.head.form == HeadForm::transform || !a.head.activation,
          "model.head.activation: the head has no transform");
}

// Heads of its own that a step has for the rows of k; 0 or 1: it serves any number.
std::int64_t heads_of_keys(const Step& step) {
  if (!step.acts_on(Role::k)) return 0;
  if (const auto* rotate = std::get_if<Rotate>(&step.what)) return rotate->heads;
  if (const auto* widen = std::get_if<Widen>(&step.what)) return widen->heads;
  if (const auto* multiply = std::get_if<MultiplyBlocks>(&step.what)) return multiply->heads;
  if (const auto* turn = std::get_if<TurnPlane>(&step.what))
    return std::int64_t(turn->a.size()) / turn->width;
  return 0;
}

// What the encodings of a layer ask of attention, against what it has.
void check_layer(const Architecture& a, const Scheme& scheme, const std::vector<std::size_t>& active) {
  const AttentionRule& at = a.attention;
  const auto refuse = [&](const std::string& why) {
    throw Error(Fault::usage, text("model: '", a.position.print(), "' ", why));
  };
  std::vector<const Encoding*> encodings;
  std::int64_t axes = 1;
  for (const std::size_t n : active) {
    const Encoding& e = *scheme.attention[n].encoding;
    encodings.push_back(&e), axes = std::max(axes, e.axes());
    if (at.kv_heads != at.heads && (e.reads() & (kReadsRows | kReadsProjections)))
      refuse(text("reads q and k of each head: kv_heads is ", at.kv_heads, "; allowed is ", at.heads));
    if (a.norm.qk != QkNorm::none && (e.reads() & kReadsProjections))
      refuse("reads the projections of q and k: they have norms (norm.qk); allowed is none");
    if (a.attention.clip != 0 && (e.reads() & kReadsProjections))
      refuse("reads the projections of q and k: attention.clip is on; allowed is 0");
  }
  if (at.kv_heads == at.heads && !at.sinks) return;
  const Plan plan =
      outline(encodings, Placement::of(std::vector<double>(std::size_t(2 * axes), 0.0), 1, axes));
  for (const Step& step : plan.steps) {
    const std::int64_t own = heads_of_keys(step);
    if (own > 1 && own != at.kv_heads)
      refuse(text("maps k in each of ", own, " heads: kv_heads is ", at.kv_heads, "; allowed is ", own));
  }
  if (plan.terms.weights != Weighting::softmax && at.sinks)
    refuse("has no softmax, which sinks need; sinks are not allowed");
}

}  // namespace

double AttentionRule::scale_of_product() const {
  return scale != 0 ? scale : 1 / std::sqrt(double(head_dim));
}

FeedForward Architecture::feed_forward_in(std::int64_t layer) const {
  const OtherHidden& others = feed_forward.others;
  FeedForward f = feed_forward;
  f.others = {};
  if (!std::binary_search(others.layers.begin(), others.layers.end(), layer)) return f;
  f.hidden = others.hidden, f.experts = {};
  return f;
}
AttentionRule Architecture::attention_in(std::int64_t layer) const {
  const OtherHeads& o = other_heads;
  AttentionRule rule = attention;
  if (std::binary_search(o.layers.begin(), o.layers.end(), layer))
    rule.kv_heads = o.kv_heads, rule.head_dim = o.head_dim, rule.keys_are_values = o.keys_are_values;
  rule.borrows = keys_of(layer) != layer;
  return rule;
}
std::int64_t Architecture::keys_of(std::int64_t layer) const {
  const std::int64_t makers = layers - std::int64_t(keys_from.size());
  return layer < makers || layer >= layers ? layer : keys_from[std::size_t(layer - makers)];
}
Shape Architecture::shape_in(std::int64_t layer) const {
  return {width, attention.heads, attention_in(layer).head_dim, length, causal};
}
Scheme make_scheme(const Architecture& a) {
  std::vector<Shape> shapes;
  for (std::size_t l = 0; !a.other_heads.layers.empty() && l < a.position.layers.size(); ++l)
    shapes.push_back(a.shape_in(std::int64_t(l)));
  return make_scheme(a.position, a.shape(), a.embedding_width(), shapes);
}

void Architecture::check() const {
  check_sizes(*this);
  check_parts(*this);
  const Scheme made = make_scheme(*this);
  const bool makes_all = keys_from.empty() && !attention.keys_are_values && !other_heads.keys_are_values;
  for (const auto& acting : made.attention) {
    require(makes_all || !acting.encoding->reads_content(),
            text("model.keys_from: '", position.print(),
                 "' reads what a layer projects, but some layers make no keys or no values"));
  }
  require(layer_words == 0 || made.combination->word_width() == width,
          text("model.layer_words: they are made of words as wide as the stream; '", position.print(),
               "' has narrower ones"));
  require(!narrow || narrow->widened == Widened::words || !made.input ||
              made.combination->injection() == Injection::once,
          text("model.narrow: '", position.print(), "' adds positions of the stream's width in every layer"));
  const bool words = narrow && narrow->widened == Widened::words;
  require(!head.tied || words || made.combination->word_width() == head_width(),
          text("model.tied: the head has width ", head_width(), ", but the word table of '", position.print(),
               "' is narrower"));
  for (const auto& active : made.patterns) check_layer(*this, made, active);
}

}  // namespace gnomon
