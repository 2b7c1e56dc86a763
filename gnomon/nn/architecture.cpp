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
  require(at.head_dim >= 4 && at.head_dim <= 256,
          text("model.head_dim: a head of ", at.head_dim, " channels; allowed are 4 to 256"));
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
  require(e.active == 0 && !e.bias && !e.choice && e.shared == 0 && e.dense.empty() &&
              e.routing == Routing::of_chosen,
          "model.experts: a router is described, but there are no experts");
}
void check_dense(const Experts& e, std::int64_t layers) {
  if (e.dense.empty()) return;
  within("experts.dense_hidden", e.dense_hidden, 1, 1 << 22);
  for (const std::int64_t layer : e.dense) within("experts.dense", layer, 0, layers - 1);
  require(std::adjacent_find(e.dense.begin(), e.dense.end(), std::greater_equal<>()) == e.dense.end(),
          "model.experts.dense: found layers out of order or twice; allowed are rising ones");
}

// Cross attention has the heads and biases of attention, and neither its norms of q and k nor its limits.
void check_cross(const Architecture& a) {
  if (!a.cross) return;
  const auto none = [](bool ok, std::string_view what) {
    require(ok, text("model.cross: cross attention is not defined with ", what));
  };
  none(a.residual == Residual::in_turn, "parallel sublayers (residual)");
  none(a.norm.qk == QkNorm::none, "norms of q and k (norm.qk)");
  none(a.attention.clip == 0, "a limit of q, k and v (attention.clip)");
  none(!a.attention.sinks, "sinks (attention.sinks)");
}

// Parts that say the opposite of each other.
void check_parts(const Architecture& a) {
  check_experts(a.feed_forward.experts);
  check_dense(a.feed_forward.experts, a.layers);
  check_cross(a);
  require(a.norm.qk != QkNorm::none || !a.norm.qk_form, "model.norm.qk_form: q and k have no norms");
  require(a.norm.qk == QkNorm::none || a.attention.clip == 0,
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
  const auto& dense = feed_forward.experts.dense;
  FeedForward f = feed_forward;
  if (!std::binary_search(dense.begin(), dense.end(), layer)) return f;
  f.hidden = f.experts.dense_hidden, f.experts = {};
  return f;
}

void Architecture::check() const {
  check_sizes(*this);
  check_parts(*this);
  const Scheme made = make_scheme(position, shape(), embedding_width());
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
