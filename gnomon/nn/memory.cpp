// The sizes of the arrays in layer.h, model.cpp and the attention kernels, added up: a change there is a change here.
// test_trust.py compares the sum with what trainings under encodings of each kind really took.
#include "gnomon/nn/memory.h"

#include <algorithm>

#include "gnomon/combine/plan.h"
#include "gnomon/core/array.h"

namespace gnomon {
namespace {

constexpr std::int64_t kLanes = 16;  // of the widest vectors, to which kernels round up

// What the encodings of one layer ask for.
struct Asked {
  std::int64_t width;       // of the rows of q and k
  std::int64_t before = 0;  // copies of rows of q or k, for the gradients of steps
  bool maps = false, content = false, values = false, rules = false;
  std::int64_t by_distance = 0, cross = 0, value = 0, by_token = 0;  // arrays of terms
};
// Rows of q and of k that the steps of an encoding ask to be kept.
std::int64_t copies(const Encoding& encoding) {
  if (encoding.reads_content()) return 0;  // these only widen rows
  const Floats w(std::size_t(encoding.param_count()));
  const Acting acting[] = {{&encoding, w.data()}};
  const Placement one = encoding.axes() == 1
                            ? Placement::consecutive(0, 1)
                            : Placement::of(std::vector<double>(encoding.axes()), 1, encoding.axes());
  std::int64_t count = 0;
  for (const Step& step : compile(acting, one, true).steps) {
    if (step.needs_input()) count += step.acts_on(Role::q) + step.acts_on(Role::k);
  }
  return count;
}

Asked asked_in(const Position& position, std::int64_t layer, const ModelConfig& c) {
  Asked a{c.head_size()};
  for (const std::size_t n : position.in_layer(layer)) {
    const auto& [encoding, acts] = position.attention[n];
    const Widths added = widths(*encoding);
    a.width += added.joined + added.far;
    a.before += copies(*encoding);
    a.maps = a.maps || (acts & kQk);
    a.content = a.content || encoding->reads_content();
    a.rules = a.rules || (acts & kRows);
    a.values = a.values || ((acts & kValue) && (acts & kQk));
    a.by_distance = std::max<std::int64_t>(a.by_distance, (acts & kLogits) && !encoding->reads_content());
    if ((acts & (kLogits | kRows)) && encoding->reads_content()) {
      // A number of the query and one of the key, or the channels of gates, each with a matrix.
      a.by_token = std::max({a.by_token, std::int64_t{2}, encoding->param_count() / (c.heads * c.width)});
    }
    a.cross = std::max<std::int64_t>(a.cross, acts & kCross ? 2 : 0);
    a.value = std::max<std::int64_t>(a.value, (acts & kValue) && !(acts & kQk));
  }
  return a;
}

struct Sizes {
  const ModelConfig& c;
  std::int64_t C = c.width, H = c.heads, D = c.head_size(), hidden = c.feed_forward * c.width;

  std::int64_t rows_step() const { return row_step(C); }
  bool in_place(const Asked& a) const { return a.width == D && a.before == 0 && !(a.content && a.maps); }
  std::int64_t distances(const PassSize& p) const { return c.causal ? p.tokens : 2 * p.tokens - 1; }
  std::int64_t terms(const Asked& a, const PassSize& p) const {
    return H * distances(p) * (a.by_distance + a.cross * a.width + a.value * D) +
           a.by_token * p.windows * H * p.tokens;
  }
  // Numbers that a layer keeps of its forward pass.
  std::int64_t kept(const Asked& a, const PassSize& p) const {
    const std::int64_t N = p.windows * p.tokens;
    std::int64_t row = 5 * rows_step() + row_step(3 * C) + 2 * row_step(hidden) + 4 + H;
    if (!in_place(a)) row += (2 + a.before) * H * a.width;
    if (a.values) row += rows_step();
    return N * row + terms(a, p);
  }
  // Numbers that the backward pass of one layer needs, shared by the layers.
  std::int64_t shared(const Asked& a, const PassSize& p) const {
    const std::int64_t N = p.windows * p.tokens;
    std::int64_t row = row_step(hidden) + rows_step() + row_step(3 * C);
    if (!in_place(a)) row += 2 * H * a.width;
    if (a.content) row += rows_step();
    return N * row + terms(a, p) * (2 + p.windows);
  }
  // Scratch of the attention kernel: a head at a time on each thread, or all heads of a sequence where a network may mix them.
  std::int64_t kernel(const Asked& a, const PassSize& p, bool backward, int threads) const {
    const std::int64_t T = p.tokens, W = round_up(a.width, kLanes), Dp = round_up(D, kLanes);
    const std::int64_t arrays = T * (W + Dp) + (a.cross * W + a.value * Dp) * 2 * (2 * T);
    return threads * (a.rules ? H : 1) * (backward ? 3 * arrays : arrays);
  }
};

}  // namespace

std::int64_t trainer_bytes(const ModelConfig& c, const PassSize& training, const PassSize& evaluation,
                           int threads) {
  const Sizes s{c};
  const Position position = make_position(c.position, {c.width, c.heads, c.head_size(), c.length, c.causal});
  const std::int64_t trained = training.windows * training.tokens,
                     rows = std::max(trained, evaluation.windows * evaluation.tokens), step = s.rows_step();
  std::int64_t kept = 0, shared = 0, kernel = 0;
  for (std::int64_t l = 0; l < c.layers; ++l) {
    const Asked a = asked_in(position, l, c);
    kept += std::max(s.kept(a, training), s.kept(a, evaluation));
    shared = std::max(shared, s.shared(a, training));
    kernel =
        std::max({kernel, s.kernel(a, training, true, threads), s.kernel(a, evaluation, false, threads)});
  }
  const std::int64_t words = row_step(position.combination->word_width());
  const std::int64_t ends =
      rows * (words + 2 * step + row_step(kVocabulary) + 2 + 1) + trained * (2 * step + words);
  return std::int64_t(sizeof(float)) * (4 * Model(c).param_count() + kept + shared + kernel + ends);
}

}  // namespace gnomon
