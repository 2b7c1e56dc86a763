// The sizes of the arrays in layer.h, pass.h and the attention kernels, added up: a change there is a change here.
// test_trust.py compares the sum with what trainings under encodings of each kind really took.
#include "gnomon/nn/memory.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/spec/plan.h"

namespace gnomon {
namespace {

constexpr std::int64_t kLanes = 16;  // of the widest vectors, to which kernels round up

// What the encodings of one layer ask for.
struct Asked {
  std::int64_t width;       // of the rows of q and k
  std::int64_t before = 0;  // copies of rows of q or k, for the gradients of steps
  bool maps = false, content = false, values = false, mixes = false;
  std::int64_t by_distance = 0, cross = 0, value = 0, by_token = 0;  // arrays of terms
};
// What an encoding compiles to for one token; nothing for those that read content, which mix no heads and only widen rows.
Plan plan_of_one(const Encoding& encoding) {
  if (encoding.reads_content()) return {};
  const Floats w(std::size_t(encoding.param_count()));
  const Acting acting[] = {{&encoding, w.data()}};
  const Placement one = encoding.axes() == 1
                            ? Placement::consecutive(0, 1)
                            : Placement::of(std::vector<double>(encoding.axes()), 1, encoding.axes());
  return compile(acting, one, true);
}
// Rows of q and of k that the steps of a plan ask to be kept.
std::int64_t copies(const Plan& plan) {
  std::int64_t count = 0;
  for (const Step& step : plan.steps) {
    if (step.needs_input()) count += step.acts_on(Role::q) + step.acts_on(Role::k);
  }
  return count;
}

Asked asked_in(const Scheme& scheme, std::int64_t layer, const Architecture& c) {
  Asked a{c.attention.head_dim};
  for (const std::size_t n : scheme.in_layer(layer)) {
    const auto& [encoding, acts] = scheme.attention[n];
    const Widths added = widths(*encoding);
    a.width += added.joined + added.far;
    const Plan plan = plan_of_one(*encoding);
    a.before += copies(plan);
    a.maps = a.maps || (acts & kQk);
    a.content = a.content || encoding->reads_content();
    a.mixes = a.mixes || plan.terms.mixes();
    a.values = a.values || ((acts & kValue) && (acts & kQk));
    a.by_distance = std::max<std::int64_t>(a.by_distance, (acts & kLogits) && !encoding->reads_content());
    if (((acts & (kLogits | kRows)) && encoding->reads_content()) || (encoding->reads() & kReadsInput)) {
      // A number of the query and one of the key, or the channels of gates or of profiles, each with a matrix.
      a.by_token =
          std::max({a.by_token, std::int64_t{2}, encoding->param_count() / (c.attention.heads * c.width)});
    }
    a.cross = std::max<std::int64_t>(a.cross, acts & kCross ? 2 : 0);
    a.value = std::max<std::int64_t>(a.value, (acts & kValue) && !(acts & kQk));
  }
  return a;
}

struct Count {
  const Architecture& c;
  std::int64_t H = c.attention.heads, KV = c.attention.kv_heads, D = c.attention.head_dim,
               step = row_step(c.width), q_step = row_step(c.attention.q_width()),
               qkv_step = row_step(c.attention.qkv_width()), up_step = row_step(c.feed_forward.up_width()),
               hidden_step = row_step(c.feed_forward.hidden);

  // Rows of the feed-forward part for a token: of experts those that it goes through, and a quarter that fills up products.
  std::int64_t entries() const {
    const Experts& e = c.feed_forward.experts;
    return e ? (5 * e.active + 3) / 4 : 1;
  }
  bool qk_norms() const { return c.norm.qk != QkNorm::none; }
  bool parallel() const { return c.residual != Residual::in_turn; }
  bool norms_after() const { return c.norm.place != NormPlace::before; }
  bool in_place(const Asked& a) const { return a.width == D && a.before == 0 && !(a.content && a.maps); }
  std::int64_t distances(const PassSize& p) const { return c.causal ? p.tokens : 2 * p.tokens - 1; }
  std::int64_t terms(const Asked& a, const PassSize& p) const {
    return H * distances(p) * (a.by_distance + a.cross * a.width + a.value * D) +
           a.by_token * p.windows * H * p.tokens;
  }
  // Numbers that a layer keeps of its forward pass: of a token, its norms, projections, attention and feed-forward part.
  std::int64_t kept(const Asked& a, const PassSize& p) const {
    const std::int64_t N = p.windows * p.tokens,
                       norms = (step + 2) * (c.norm.before_sublayers() + norms_after());
    std::int64_t row = 2 * (step + norms) + qkv_step + q_step + H + entries() * (up_step + hidden_step);
    if (c.feed_forward.experts) row += 2 * entries() * step + 2 * row_step(c.feed_forward.experts.count);
    if (c.residual == Residual::parallel_one_norm) row -= norms;
    if (qk_norms()) row += 2 * (H + KV);
    if (qk_norms() || c.attention.clip != 0) row += qkv_step;
    if (!in_place(a)) row += (2 + a.before) * H * a.width;
    if (a.values) row += q_step;
    return N * row + terms(a, p);
  }
  // Numbers that the backward pass of one layer needs, shared by the layers.
  std::int64_t shared(const Asked& a, const PassSize& p) const {
    const std::int64_t N = p.windows * p.tokens;
    std::int64_t row = entries() * hidden_step + std::max(step, q_step) + qkv_step;
    row += step * (parallel() + norms_after() + (c.residual_scale != 1)) + (qk_norms() ? qkv_step : 0);
    if (qk_norms() || c.attention.clip != 0) row += step;
    if (c.feed_forward.gated()) row += entries() * up_step;
    if (c.feed_forward.experts) row += 2 * entries() * step + row_step(c.feed_forward.experts.count);
    if (!in_place(a)) row += 2 * H * a.width;
    if (a.content) row += step;
    return N * row + terms(a, p) * (2 + p.windows);
  }
  // Numbers at the ends of a pass, before the layers and after them: of a token of the forward pass, and of the backward.
  std::int64_t ends(std::int64_t words) const {
    std::int64_t row = words + step + row_step(c.vocabulary) + 1;
    if (c.norm.last) row += step + 2;
    if (c.norm.embedding) row += step + 2;
    if (c.head.form == HeadForm::transform) row += 3 * step + 2;
    if (c.head.soft_cap != 0) row += row_step(c.vocabulary);
    return row;
  }
  std::int64_t ends_backward(std::int64_t words) const {
    return words + (2 + c.norm.embedding + (c.head.form == HeadForm::transform)) * step;
  }
  // Scratch of the attention kernel: a head at a time on each thread, or all heads of a sequence where a network mixes them.
  std::int64_t kernel(const Asked& a, const PassSize& p, bool backward, int threads) const {
    const std::int64_t T = p.tokens, W = round_up(a.width, kLanes), Dp = round_up(D, kLanes);
    const std::int64_t arrays = T * (W + Dp) + (a.cross * W + a.value * Dp) * 2 * (2 * T);
    return threads * (a.mixes ? H : 1) * (backward ? 3 * arrays : arrays);
  }
};

// Gradients at once: a sum of each level of the tree over the shards, or with several ranks a shard's, the slices that the
// others send and the sum.
std::int64_t gradients(std::int64_t shards) {
  return shards == 1 ? 1 : std::max<std::int64_t>(3, 1 + std::bit_width(std::uint64_t(shards - 1)));
}

}  // namespace

std::int64_t trainer_bytes(const Architecture& c, const PassSize& training, const PassSize& evaluation,
                           int threads, std::int64_t shards) {
  const Count s{c};
  const Scheme scheme = make_scheme(c);
  const std::int64_t trained = training.windows * training.tokens,
                     rows = std::max(trained, evaluation.windows * evaluation.tokens);
  std::int64_t shared = 0, kernel = 0;
  std::vector<std::int64_t> kept;  // of each layer; an evaluation takes turns with the first two
  for (std::int64_t l = 0; l < c.layers; ++l) {
    const Asked a = asked_in(scheme, l, c);
    kept.push_back(s.kept(a, training));
    kept[std::size_t(l % 2)] = std::max(kept[std::size_t(l % 2)], s.kept(a, evaluation));
    shared = std::max(shared, s.shared(a, training));
    kernel =
        std::max({kernel, s.kernel(a, training, true, threads), s.kernel(a, evaluation, false, threads)});
  }
  const std::int64_t words = row_step(scheme.combination->word_width()),
                     ends = rows * s.ends(words) + trained * s.ends_backward(words);
  return std::int64_t(sizeof(float)) * ((3 + gradients(shards)) * Model(c).param_count() +
                                        std::accumulate(kept.begin(), kept.end(), shared + kernel + ends));
}

}  // namespace gnomon
