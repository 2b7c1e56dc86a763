#include "gnomon/nn/attention.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/nn/attention_saved.h"

namespace gnomon {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(Fault::usage, "attention: " + why); }

AttentionConfig checked(AttentionConfig c) {
  check_extents("attention", {{"heads", c.heads, 1, kMostHeads},
                              {"kv_heads", c.kv_heads, 0, c.heads},
                              {"head_dim", c.head_dim, 1, kMostWidth},
                              {"value_dim", c.value_dim, 0, kMostWidth},
                              {"width", c.width, 0, kMostWidth},
                              {"length", c.length, 1, kMostTokens}});
  if (c.kv_heads == 0) c.kv_heads = c.heads;
  if (c.value_dim == 0) c.value_dim = c.head_dim;
  if (c.width == 0) c.width = c.heads * c.head_dim;
  if (c.heads % c.kv_heads)
    refuse(text("heads is ", c.heads, "; allowed are multiples of kv_heads, ", c.kv_heads));
  if (!std::isfinite(c.scale)) refuse(text("scale is ", c.scale, "; allowed is a finite number"));
  if (!(c.soft_cap >= 0 && std::isfinite(c.soft_cap)))
    refuse(text("soft_cap is ", c.soft_cap, "; allowed are 0 (none) and positive numbers"));
  if (c.scale == 0) c.scale = 1 / std::sqrt(double(c.head_dim));
  return c;
}
Spec acting_inside(std::string_view spec) {
  Spec parsed = Spec::parse(spec);
  if (parsed.input || parsed.combination.name != combinations().front()->name || !parsed.layers.empty() ||
      !parsed.samplers.empty())
    refuse(text("'", spec,
                "' has parts that do not act inside attention: input encodings, [layers] or samplers"));
  return parsed;
}

}  // namespace

Attention::Inside::Inside(std::string_view given_spec, const AttentionConfig& given)
    : config(checked(given)), spec(acting_inside(given_spec)) {
  scheme = make_scheme(spec, {config.width, config.heads, config.head_dim, config.length, config.causal});
  for (std::size_t n = 0; n < scheme.attention.size(); ++n) {
    offsets.push_back(count);
    for (ParamSpec p : scheme.attention[n].encoding->params()) {
      p.name = text(n, ".", p.name);
      count += p.size();
      params.push_back(std::move(p));
    }
  }
}

std::vector<const Encoding*> Attention::Inside::encodings() const {
  std::vector<const Encoding*> all;
  for (const auto& at : scheme.attention) all.push_back(at.encoding.get());
  return all;
}

std::vector<Acting> Attention::Inside::acting(std::span<const float> w, std::span<float> dw) const {
  check_size("attention", "w", w.size(), count);
  std::vector<Acting> all;
  for (std::size_t n = 0; n < offsets.size(); ++n) {
    all.push_back({scheme.attention[n].encoding.get(), w.data() + offsets[n],
                   dw.empty() ? nullptr : dw.data() + offsets[n]});
  }
  return all;
}

AttendShape Attention::Inside::shape_of(const AttentionInput& in) const {
  return {.B = in.q.sequences(),
          .H = config.heads,
          .queries = in.q.tokens(),
          .keys = in.k.tokens(),
          .K = config.head_dim,
          .D = config.value_dim,
          .scale = float(config.scale),
          .causal = config.causal,
          .kv_heads = config.kv_heads,
          .first = in.first,
          .firsts = in.firsts,
          .left = in.left,
          .right = in.right};
}

void Attention::Inside::check(const AttentionInput& in) const {
  const AttentionConfig& c = config;
  const std::int64_t B = in.q.sequences(), queries = in.q.tokens(), keys = in.k.tokens();
  check_view("q", in.q, {B, c.heads, queries, c.head_dim}, false);
  check_view("k", in.k, {B, c.kv_heads, keys, c.head_dim}, false);
  check_view("v", in.v, {B, c.kv_heads, keys, c.value_dim}, false);
  const auto places = in.places;
  if (places && (places->T() != keys || (places->rows != 1 && places->rows != B)))
    refuse(text("places has rows=", places->rows, " and tokens=", places->T(), "; allowed are rows=1 or ", B,
                " and tokens=", keys));
  for (const auto& at : scheme.attention) {
    const Encoding& e = *at.encoding;
    if (e.reads_content() && (queries != keys || in.first.value_or(0) != 0))
      refuse(text("'", spec.print(), "' reads every token: found queries=", queries, " and keys=", keys,
                  "; allowed is one query for each key"));
    if (in.firsts && (at.acts & kQk))
      refuse(text("'", spec.print(), "' maps queries by their places: firsts is given; allowed is first"));
    if ((e.reads() & kReadsRows) && c.kv_heads != c.heads)
      refuse(text("'", spec.print(), "' reads q and k of each head: kv_heads is ", c.kv_heads,
                  "; allowed is ", c.heads));
    if (e.reads() & kReadsInput) check_view("x", in.x, {B, 1, keys, c.width}, false);
    if ((e.reads() & kReadsProjections) && !in.projections)
      refuse(text("'", spec.print(), "' reads the projections of q and k, but none are given"));
    if ((at.acts & kValue) && c.value_dim != c.head_dim)
      refuse(text("'", spec.print(), "' acts on values of the head's size: value_dim is ", c.value_dim,
                  "; allowed is ", c.head_dim));
  }
}

Plan Attention::Inside::plan(const Placement& places, std::span<const float> w) const {
  return compile(acting(w, {}), places, config.causal);
}

Attention::Attention(std::string_view spec, const AttentionConfig& config)
    : inside_(std::make_unique<const Inside>(spec, config)) {}
Attention::Attention(Attention&& other) noexcept = default;
Attention::~Attention() = default;

const AttentionConfig& Attention::config() const { return inside_->config; }
std::string Attention::spec() const { return inside_->spec.print(); }
const std::vector<ParamSpec>& Attention::params() const { return inside_->params; }
std::int64_t Attention::param_count() const { return inside_->count; }
Floats Attention::initial(std::uint64_t seed) const { return initial_numbers(inside_->params, seed); }

// --- What a call keeps

Heads<float> rows_of(const Floats& dense, const std::array<std::int64_t, 4>& e) {
  return {const_cast<float*>(dense.data()), e[1] * e[2] * e[3], e[3], e[2] * e[3]};
}
Heads<float> rows_of(const ConstView& view, Floats& own) {
  if (view.plain()) {
    return {const_cast<float*>(static_cast<const float*>(view.data)), view.steps[0], view.steps[2],
            view.steps[1]};
  }
  widen(view, own);
  return rows_of(own, view.extents);
}

namespace {

Occupied flat(std::string_view name, const void* data, std::int64_t numbers, std::int64_t bytes) {
  return {name, data, bytes, {1, 1, 1, numbers}, {0, 0, 0, 1}};
}

}  // namespace

void check_apart_from(const AttentionInput& in, const Occupied& written) {
  const std::int64_t B = in.q.sequences(), H = in.q.heads(), queries = in.q.tokens(), keys = in.k.tokens();
  const auto pairs = [&](std::string_view name, const auto& rows) {
    return Occupied{
        name, rows.data, sizeof *rows.data, {B, H, queries, keys}, {rows.batch, rows.head, rows.query, 1}};
  };
  for (const Occupied& read :
       {occupied("q", in.q), occupied("k", in.k), occupied("v", in.v), occupied("x", in.x),
        flat("w", in.w.data(), std::int64_t(in.w.size()), 4), flat("padding", in.padding, B * keys, 1),
        flat("sinks", in.sinks, H, 4), pairs("bias", in.bias), pairs("mask", in.mask)})
    check_apart(written, read);
}

std::vector<std::uint8_t> padding_of(const AttentionInput& in, const Placement& places) {
  std::vector<std::uint8_t> all;
  if (!in.padding && places.padding.empty()) return all;
  const std::int64_t keys = in.k.tokens();
  for (std::int64_t n = 0; n < in.k.sequences() * keys; ++n) {
    const bool hidden = !places.padding.empty() && places.padding[places.rows > 1 ? n : n % keys];
    all.push_back(hidden || (in.padding && in.padding[n]));
  }
  return all;
}

Attention::Saved::Saved(const Inside& owner, const AttentionInput& input)
    : in(input), shape(owner.shape_of(input)) {
  const auto all = owner.acting(in.w, {});
  const std::int64_t keys = shape.keys;
  // Where nothing asks for places there need be no keys.
  places = in.places ? *in.places : Placement::consecutive(0, std::max<std::int64_t>(keys, 1));
  padding = padding_of(in, places);
  if (!padding.empty()) shape.padding = padding.data();
  extras = {owner.config.soft_cap, in.bias, in.mask, in.sinks};
  if (keys > 0) plan = compile(all, places, shape.causal);
  reads_content = keys > 0 && gnomon::reads_content(all);
  q = rows_of(in.q, own_q), k = rows_of(in.k, own_k), v = rows_of(in.v, own_v);
  if (!reads_content) return;
  // Content has one layout for q and k.
  if (own_q.empty()) widen(in.q, own_q), q = rows_of(own_q, in.q.extents);
  if (own_k.empty()) widen(in.k, own_k), k = rows_of(own_k, in.k.extents);
  if (in.x.data) widen(in.x, x);
  complete(all, places, content(), plan);
}

Content Attention::Saved::content() const {
  static const Projections<const float> kNone{};
  const auto [B, H, T, D] = in.q.extents;
  return {B,
          T,
          {x.data(), in.x.channels()},
          {B, T, H, H * T * D, D, T * D},
          own_q.data(),
          own_k.data(),
          in.projections ? *in.projections : kNone};
}

void Attention::Saved::check_gradients(const ConstView& dout, const AttentionGradients& to) const {
  const std::array written{occupied("dq", read_only(to.dq)), occupied("dk", read_only(to.dk)),
                           occupied("dv", read_only(to.dv)), occupied("dx", read_only(to.dx)),
                           flat("dw", to.dw.data(), std::int64_t(to.dw.size()), 4)};
  for (std::size_t n = 0; n < written.size(); ++n) {
    check_apart_from(in, written[n]);
    check_apart(written[n], occupied("out", returned));
    check_apart(written[n], occupied("dout", dout));
    for (std::size_t m = 0; m < n; ++m) check_apart(written[n], written[m]);
  }
}

std::shared_ptr<Attention::Saved> Attention::saved(const AttentionInput& in, const View& out) const {
  inside_->check(in);
  check_view("out", read_only(out),
             {in.q.sequences(), inside_->config.heads, in.q.tokens(), inside_->config.value_dim}, true);
  check_apart_from(in, occupied("out", read_only(out)));
  const auto saved = std::make_shared<Saved>(*inside_, in);
  saved->returned = read_only(out);
  if (out.plain()) {
    saved->out = {static_cast<float*>(out.data), out.steps[0], out.steps[2], out.steps[1]};
  } else {
    saved->own_out.resize(std::size_t(out.extents[0] * out.extents[1] * out.extents[2] * out.extents[3]));
    saved->out = rows_of(saved->own_out, out.extents);
  }
  return saved;
}

std::shared_ptr<const Attention::Saved> Attention::forward(const AttentionInput& in, const View& out) const {
  const auto result = saved(in, out);
  execute(result->execution(), result->rows(), result->kept);
  if (!out.plain()) narrow(result->own_out, out);
  return result;
}

Attention::Numbers Attention::numbers(const Saved& saved) { return {saved.kept.lse, saved.kept.attended}; }

std::shared_ptr<const Attention::Saved> Attention::resume(const AttentionInput& in, const View& out,
                                                          const Numbers& numbers) const {
  const auto result = saved(in, out);
  if (!out.plain()) widen(read_only(out), result->own_out);
  execute_again(result->execution(), result->rows(), result->kept);
  const bool turned_back = result->plan.acts_on(Role::out);
  check_size("attention", "lse", numbers.lse.size(),
             inside_->config.heads * in.q.sequences() * in.q.tokens());
  check_size("attention", "attended", numbers.attended.size(),
             turned_back ? std::int64_t(numbers.lse.size()) * inside_->config.value_dim : 0);
  result->kept.lse.assign(numbers.lse.begin(), numbers.lse.end());
  result->kept.attended.assign(numbers.attended.begin(), numbers.attended.end());
  return result;
}

void Attention::backward(const Saved& saved, const ConstView& dout, const AttentionGradients& to) const {
  const AttentionInput& in = saved.in;
  const AttentionConfig& c = inside_->config;
  check_view("dout", dout, {in.q.sequences(), c.heads, in.q.tokens(), c.value_dim}, false);
  check_view("dq", read_only(to.dq), in.q.extents, true);
  check_view("dk", read_only(to.dk), in.k.extents, true);
  check_view("dv", read_only(to.dv), in.v.extents, true);
  if (!to.dw.empty()) check_size("attention", "dw", to.dw.size(), inside_->count);
  saved.check_gradients(dout, to);
  Floats dw(to.dw.empty() ? std::size_t(inside_->count) : 0), own_dout;
  const auto all = inside_->acting(in.w, to.dw.empty() ? std::span<float>(dw) : to.dw);
  widen(dout, own_dout);  // it is overwritten
  Floats dq, dk, dv;
  const auto rows = [&](const View& view, Floats& own, bool here) -> Heads<float> {
    if (here) return {static_cast<float*>(view.data), view.steps[0], view.steps[2], view.steps[1]};
    own.assign(std::size_t(view.extents[0] * view.extents[1] * view.extents[2] * view.extents[3]), 0.0f);
    return rows_of(own, view.extents);
  };
  const bool content = saved.reads_content;
  const bool q_here = to.dq.plain() && !content, k_here = to.dk.plain() && !content, v_here = to.dv.plain();
  const AttentionRows<float> d{rows(to.dq, dq, q_here), rows(to.dk, dk, k_here), rows(to.dv, dv, v_here),
                               rows_of(own_dout, dout.extents)};
  Plan dplan = saved.plan.zeros();
  execute_backward(saved.execution(), saved.rows(), saved.kept, d, dplan, to.extras);
  if (saved.shape.keys > 0) compile_backward(all, saved.places, saved.plan, dplan);
  if (content) {
    Floats dx(saved.x.size()), none(to.projections ? 0 : 2 * c.heads * c.head_dim * (c.width + 1));
    const std::int64_t weight = c.heads * c.head_dim * c.width, bias = weight / c.width;
    Projections<float> discarded{none.data(), none.data() + weight, none.data() + 2 * weight,
                                 none.data() + 2 * weight + bias};
    ContentGrad grad{
        {dx.data(), in.x.channels()}, dq.data(), dk.data(), to.projections ? *to.projections : discarded};
    complete_backward(all, {saved.places, saved.content()}, saved.plan, dplan, grad);
    if (to.dx.data) {
      check_view("dx", read_only(to.dx), in.x.extents, true);
      narrow(dx, to.dx);
    }
  }
  if (!q_here) narrow(dq, to.dq);
  if (!k_here) narrow(dk, to.dk);
  if (!v_here) narrow(dv, to.dv);
}

}  // namespace gnomon
