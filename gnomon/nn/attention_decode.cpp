// Decoding: new tokens against a cache of keys.
#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/attend_cached.h"
#include "gnomon/kernels/attend_check.h"
#include "gnomon/kernels/terms.h"
#include "gnomon/nn/attention_saved.h"
#include "gnomon/nn/decode.h"

namespace gnomon {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(Fault::usage, "attention: " + why); }

// Where the new tokens stand: as the caller says, or after the last ones.
Placement new_places(const AttentionInput& in, const KeyCache& cache) {
  if (in.places) return *in.places;
  const std::int64_t B = in.k.sequences(), n = in.k.tokens();
  std::vector<double> all;
  for (std::int64_t b = 0; b < B; ++b) {
    const double last = cache.length(b) ? cache.position(b, cache.length(b) - 1) : -1;
    for (std::int64_t t = 0; t < n; ++t) all.push_back(last + 1 + double(t));
  }
  return Placement::of(std::move(all), B);
}
// Tokens of the context of each sequence with the new ones, as the plan of these sees it; of one that gets none, as before.
std::vector<double> contexts_with(const NewKeys& tokens, const Placement& places, const KeyCache& cache) {
  std::vector<double> contexts;
  for (std::int64_t b = 0; b < cache.shape().B; ++b) {
    const std::uint8_t* padding = tokens.padding ? tokens.padding + b * tokens.n : nullptr;
    const bool none = padding && std::count(padding, padding + tokens.n, 0) == 0;
    const Positions row = Positions(places).row(b);
    contexts.push_back(none ? cache.context(b) : *std::max_element(row.values.begin(), row.values.end()) + 1);
  }
  return contexts;
}

// Maps that follow the context: cached keys turn on to the new one.
void turn_on(std::span<const Acting> acting, std::span<const double> contexts, KeyCache& cache) {
  struct Change {
    Turns from, to;
    bool turns;
  };
  for (const Acting& a : acting) {
    const auto* map = part<TurnPart>(*a.encoding);
    if (!map) continue;
    std::vector<Change> of_sequence;
    for (std::int64_t b = 0; b < cache.shape().B; ++b) {
      Change c{map->turns_at(cache.context(b)), map->turns_at(contexts[b]), false};
      c.turns = cache.length(b) > 0 && !c.from.keep_keys(c.to);
      of_sequence.push_back(std::move(c));
    }
    if (std::none_of(of_sequence.begin(), of_sequence.end(), [](const Change& c) { return c.turns; }))
      continue;
    cache.rewrite_keys([&](const CachedKeys& keys) {
      const Change& c = of_sequence[std::size_t(keys.b)];
      if (c.turns) rerotate(c.from, c.to, {keys.positions, 1, 1}, keys.rows, keys.keys);
    });
  }
}

// Rows of new tokens after the steps.
struct Mapped {
  Floats rows;
  std::int64_t width;
};
Mapped mapped(const Plan& plan, Role role, const ConstView& view) {
  const auto [B, H, n, channels] = view.extents;
  const std::int64_t more = role == Role::q || role == Role::k ? plan.added.joined + plan.added.far : 0;
  Floats dense;
  widen(view, dense);
  Mapped m{Floats(std::size_t(B * H * n * (channels + more))), channels + more};
  for (std::int64_t row = 0; row < B * H * n; ++row)
    std::copy_n(&dense[row * channels], channels, &m.rows[row * m.width]);
  const RowLayout layout{B, n, H, H * n * m.width, m.width, n * m.width};
  for (const Step& step : plan.steps) {
    if (step.acts_on(role)) apply(step, role, layout, m.rows.data());
  }
  return m;
}
Heads<const float> heads_of(const Mapped& m, const ConstView& view) {
  const auto [B, H, n, channels] = view.extents;
  return {m.rows.data(), H * n * m.width, m.width, n * m.width};
}

// The places of the stored keys of sequence b.
std::vector<double> stored_places(const KeyCache& cache, std::int64_t b) {
  std::vector<double> all;
  for (std::int64_t j = 0; j < cache.length(b); ++j) all.push_back(cache.position(b, j));
  return all;
}

// Where what each new token sees begins, (B,queries), by key from the oldest stored one; empty: nothing hides a key. What masks by
// position show is one run of keys that ends with the token, so a search among the stored places finds its first.
std::vector<std::int64_t> first_seen(std::span<const Acting> acting, const KeyCache& cache) {
  std::vector<const MaskPart*> masks;
  for (const Acting& a : acting) {
    if (const auto* mask = part<MaskPart>(*a.encoding)) masks.push_back(mask);
  }
  std::vector<std::int64_t> first;
  for (std::int64_t n = 0; !masks.empty() && n < cache.shape().B * cache.appended(); ++n) {
    const std::int64_t b = n / cache.appended(), newest = cache.key_of(b, n % cache.appended());
    const auto hidden = [&](std::int64_t key) {
      const double places[] = {cache.position(b, key), cache.position(b, newest)};
      const Scene pair{places, {}, {}, {}};
      return std::any_of(masks.begin(), masks.end(), [&](auto* mask) { return !mask->sees(pair, 1, 0); });
    };
    // The first key that is seen is one of from, from + 1 … end; the newest sees itself.
    std::int64_t from = 0, end = std::max<std::int64_t>(newest, 0);
    while (from < end) {
      const std::int64_t middle = from + (end - from) / 2;
      hidden(middle) ? from = middle + 1 : end = middle;
    }
    first.push_back(from);
  }
  return first;
}
// What the kernel of cached keys does not know: such terms are of whole rows of keys.
bool of_rows(const Terms& terms) {
  return any_term(terms, [](const TermKind& kind) { return !kind.cached; });
}
// Attention of the last n tokens of each sequence, whose keys become rows again: O(keys) copied.
struct Unpacked {
  std::span<const Acting> acting;
  const KeyCache& cache;
  const Extras& extras;
};
void attend_unpacked(const Unpacked& u, AttendShape shape, const Widths& added, const Heads<const float>& q,
                     const Heads<float>& out) {
  Floats k, v, lse(std::size_t(shape.H * shape.queries));
  const std::int64_t sequences = shape.B, W = u.cache.shape().K;
  shape.B = 1, shape.K += added.joined, shape.beside = added.far;
  for (std::int64_t b = 0; b < sequences; ++b) {
    shape.keys = u.cache.length(b);
    u.cache.copy_rows(b, k, v);
    Extras extras = u.extras;
    if (extras.bias.data) extras.bias.data += b * extras.bias.batch;
    if (extras.mask.data) extras.mask.data += b * extras.mask.batch;
    const Terms terms = compile_terms(u.acting, Placement::of(stored_places(u.cache, b)), shape.causal);
    attend(shape, {q.row(b, 0, 0), 0, q.token, q.head}, {k.data(), 0, W, shape.keys * W},
           {v.data(), 0, shape.D, shape.keys * shape.D}, terms, {out.row(b, 0, 0), 0, out.token, out.head},
           lse.data(), extras);
  }
}
// The distances between new tokens and the keys that they see are below this.
std::int64_t reach_of(const KeyCache& cache, std::span<const std::int64_t> first_key) {
  double reach = 1;
  for (std::int64_t n = 0; n < cache.shape().B * cache.appended(); ++n) {
    const std::int64_t b = n / cache.appended(), key = cache.key_of(b, n % cache.appended());
    if (key < 0) continue;
    const double oldest = cache.position(b, first_key.empty() ? 0 : first_key[n]);
    reach = std::max(reach, cache.position(b, key) - oldest + 1);
  }
  return std::int64_t(std::ceil(reach));
}

// All that can be refused, before the cache is touched: a call that throws leaves it as it was.
struct Coming {
  const Extras& extras;
  const NewKeys& tokens;
};
void check_decode(const Decoding& d, const Plan& plan, const KeyCache& cache, const Coming& c) {
  AttendShape shape = d.shape;
  shape.K += plan.added.joined + plan.added.far;
  if (cache.shape().K != shape.K)
    refuse(text("the cache holds keys of ", cache.shape().K, " channels; allowed are ", shape.K));
  cache.check(c.tokens);
  shape.keys = cache.keys_with(c.tokens.n, c.tokens.padding);
  check_extras(shape, plan.terms, c.extras);
  if (of_rows(plan.terms) && c.tokens.padding)
    refuse("encodings that read whole rows of keys decode only without padding");
}

}  // namespace

std::string keys_of(std::string_view spec, std::span<const Encoding* const> encodings) {
  if (encodings.empty()) return text("'", spec, "'");
  return text("'", spec, "' in windows of ", encodings.front()->shape().length, " tokens");
}

KeyCache make_cache(const CacheSize& size, std::span<const Encoding* const> encodings,
                    std::string_view spec) {
  std::int64_t K = size.K;
  for (const Encoding* e : encodings) {
    if (!e->keeps_keys()) refuse(text("'", spec, "' has no key cache: its keys change as the context grows"));
    K += widths(*e).joined + widths(*e).far;
  }
  return KeyCache({size.B, size.kv_heads, K, size.D, size.capacity, size.window}, keys_of(spec, encodings));
}

KeyCache Attention::cache(std::int64_t B, std::int64_t capacity, std::int64_t window) const {
  const AttentionConfig& c = inside_->config;
  if (!c.causal) refuse("a key cache needs causal attention");
  return make_cache({B, c.kv_heads, c.head_dim, c.value_dim, capacity, window}, inside_->encodings(), spec());
}

void Attention::decode(const AttentionInput& in, KeyCache& cache, const View& out) const {
  const AttentionConfig& c = inside_->config;
  const std::int64_t B = in.q.sequences(), n = in.q.tokens();
  if (cache.shape().B != B || cache.shape().heads != c.kv_heads || cache.shape().D != c.value_dim)
    refuse(text("the cache has B=", cache.shape().B, " and kv_heads=", cache.shape().heads,
                "; allowed are B=", B, " and kv_heads=", c.kv_heads));
  if (const std::string own = keys_of(spec(), inside_->encodings()); cache.made_for() != own)
    refuse(text("the cache was made for ", cache.made_for(), "; allowed is a cache for ", own));
  inside_->check(in);
  if (in.places && !in.places->document.empty())
    refuse("new tokens have documents; allowed are none, because a cache holds one document per sequence");
  if (in.k.tokens() != n || in.first || in.firsts || in.left >= 0 || in.right >= 0)
    refuse(
        "decode takes as many new queries as keys, after the cached ones; first, firsts, left and right are "
        "not allowed");
  check_view("out", read_only(out), {B, c.heads, n, c.value_dim}, true);
  check_apart_from(in, occupied("out", read_only(out)));
  if (B * n == 0) return;
  const auto all = inside_->acting(in.w, {});
  const AttendShape shape = inside_->shape_of(in);
  Floats x;
  if (in.x.data && reads_content(all)) widen(in.x, x);
  gnomon::decode({shape, all, c.soft_cap, {B, n, {x.data(), in.x.channels()}, {}, nullptr, nullptr, {}}}, in,
                 cache, out);
}

void decode(const Decoding& d, const AttentionInput& in, KeyCache& cache, const View& out) {
  const std::int64_t B = d.shape.B, H = d.shape.H, n = d.shape.queries, D = d.shape.D;
  const Placement places = new_places(in, cache);
  Plan plan = compile(d.acting, places, true);
  complete(d.acting, places, d.content, plan);
  const Mapped q = mapped(plan, Role::q, in.q), k = mapped(plan, Role::k, in.k),
               v = mapped(plan, Role::v, in.v);
  const std::vector<std::uint8_t> padding = padding_of(in, places);
  NewKeys tokens{n, heads_of(k, in.k), heads_of(v, in.v), places.values,
                 padding.empty() ? nullptr : padding.data()};
  const std::vector<double> contexts = contexts_with(tokens, places, cache);
  tokens.contexts = contexts;
  Extras extras{d.soft_cap, in.bias, in.mask, in.sinks};
  check_decode(d, plan, cache, {extras, tokens});
  turn_on(d.acting, contexts, cache);
  cache.append(tokens);

  AttendShape shape = d.shape;
  Floats returned(std::size_t(B * H * n * D)), lse(std::size_t(B * H * n));
  const Heads<float> to = rows_of(returned, out.extents);
  const auto give = [&] {
    const RowLayout layout{B, n, H, to.batch, to.token, to.head};
    for (const Step& step : plan.steps) {
      if (step.acts_on(Role::out)) apply(step, Role::out, layout, returned.data());
    }
    narrow(returned, out);
  };
  if (of_rows(plan.terms)) {
    attend_unpacked({d.acting, cache, extras}, shape, plan.added, heads_of(q, in.q), to);
    return give();
  }
  shape.keys = cache.keys(), shape.K += plan.added.joined;
  const std::vector<std::int64_t> first_key = first_seen(d.acting, cache);
  Terms terms;
  if (plan.terms.over_distances()) {
    terms = compile_terms(d.acting, Placement::consecutive(0, reach_of(cache, first_key)), true);
    terms.first_key.clear(), terms.end_key.clear();
  }
  terms.content_scale = plan.terms.content_scale;
  attend_cached(shape, {heads_of(q, in.q), first_key}, cache, terms, extras, to, lse.data());
  give();
}

}  // namespace gnomon
