#include "gnomon/nn/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/pointwise.h"
#include "gnomon/nn/layer.h"

namespace gnomon {
namespace {
constexpr std::int64_t kMostParameters = std::int64_t{1} << 40;
}

void ModelConfig::check() const {
  const auto require = [](bool ok, const std::string& message) {
    if (!ok) throw Error(Fault::usage, message);
  };
  require(layers >= 1 && layers <= 1000, text("model.layers: found ", layers, ", allowed are 1 to 1000"));
  require(heads >= 1, text("model.heads: found ", heads, ", allowed are 1 or more"));
  require(width >= 1 && width <= 1 << 16, text("model.width: found ", width, ", allowed are 1 to 65536"));
  require(width % heads == 0, text("model.width ", width, " is not divisible by model.heads ", heads));
  require(head_size() >= 4 && head_size() <= 256,
          text("model.width / model.heads: a head of ", head_size(), " channels; allowed are 4 to 256"));
  require(feed_forward >= 1 && feed_forward <= 64,
          text("model.feed_forward: found ", feed_forward, ", allowed are 1 to 64"));
  require(length >= 2 && length <= 1 << 20,
          text("model.length: found ", length, ", allowed are 2 to 1048576 tokens"));
  require(
      !tied ||
          make_position(position, {width, heads, head_size(), length, causal}).combination->word_width() ==
              width,
      text("model.tied: the head has width ", width, ", the word table of '", position.print(),
           "' is narrower"));
}

struct Model::Impl {
  ModelConfig config;
  Position position;
  std::vector<Param> params;
  std::vector<LayerParams> layers;
  std::int64_t total = 0;
  std::int64_t word, combination, input, head, final_gain, final_bias;
  // Offsets of the parameters of position.attention[n] in layer l, n·layers + l: one for all layers, or each
  // its own.
  std::vector<std::int64_t> attention;

  explicit Impl(const ModelConfig& c) : config(c) {
    c.check();
    position = make_position(c.position, {c.width, c.heads, c.head_size(), c.length, c.causal});
    const double d = double(c.width), deep = 1 / std::sqrt(2.0 * double(c.layers));
    const std::int64_t word_width = position.combination->word_width();
    word = declare("embed.word", {kVocabulary, word_width}, 0, 1 / std::sqrt(double(word_width)), false);
    combination = declare_all("embed.combination.", position.combination->params());
    input = position.input ? declare_all("position.input.", position.input->params()) : 0;
    for (std::size_t n = 0; n < position.attention.size(); ++n) declare_attention(n);
    const std::int64_t hidden = c.feed_forward * c.width;
    for (std::int64_t l = 0; l < c.layers; ++l) {
      const std::string at = text("layers.", l, ".");
      const auto norm = [&](const char* name, std::int64_t& gain, std::int64_t& bias) {
        declare_norm(at + name, gain, bias);
      };
      LayerParams p{};
      norm("attention.norm.", p.norm1_gain, p.norm1_bias);
      p.qkv = declare(at + "attention.qkv.weight", {3 * c.width, c.width}, 0, 1 / std::sqrt(d), true);
      p.qkv_bias = declare(at + "attention.qkv.bias", {3 * c.width}, 0, 0, false);
      p.out = declare(at + "attention.out.weight", {c.width, c.width}, 0, deep / std::sqrt(d), true);
      p.out_bias = declare(at + "attention.out.bias", {c.width}, 0, 0, false);
      norm("feed_forward.norm.", p.norm2_gain, p.norm2_bias);
      p.up = declare(at + "feed_forward.up.weight", {hidden, c.width}, 0, 1 / std::sqrt(d), true);
      p.up_bias = declare(at + "feed_forward.up.bias", {hidden}, 0, 0, false);
      p.down = declare(at + "feed_forward.down.weight", {c.width, hidden}, 0,
                       deep / std::sqrt(double(hidden)), true);
      p.down_bias = declare(at + "feed_forward.down.bias", {c.width}, 0, 0, false);
      layers.push_back(p);
    }
    declare_norm("head.norm.", final_gain, final_bias);
    head = c.tied ? word : declare("head.weight", {kVocabulary, c.width}, 0, 0.02, true);
  }

  std::int64_t declare(std::string name, std::vector<std::int64_t> shape, double mean, double deviation,
                       bool decay) {
    params.push_back({{std::move(name), std::move(shape), mean, deviation, decay}, total});
    total += count_numbers(params.back().spec.name, params.back().spec.shape);
    check_extents("model", {{"the number of parameters", total, 0, kMostParameters}});
    return params.back().offset;
  }
  std::int64_t declare_all(const std::string& prefix, const std::vector<ParamSpec>& specs) {
    const std::int64_t first = total;
    for (const auto& s : specs) {
      declare(prefix + s.name, s.shape, s.mean, s.deviation, s.decay);
      params.back().spec.start = s.start;
    }
    return first;
  }
  void declare_attention(std::size_t n) {
    const Encoding& encoding = *position.attention[n].encoding;
    const std::string at = text("position.attention.", n, ".");
    const std::int64_t shared = encoding.per_layer() ? 0 : declare_all(at, encoding.params());
    for (std::int64_t l = 0; l < config.layers; ++l) {
      const auto& active = position.in_layer(l);
      const bool here = std::find(active.begin(), active.end(), n) != active.end();
      const bool own = here && encoding.per_layer();
      attention.push_back(own ? declare_all(text(at, l, "."), encoding.params()) : shared);
    }
  }
  void declare_norm(const std::string& prefix, std::int64_t& gain, std::int64_t& bias) {
    gain = declare(prefix + "gain", {config.width}, 1, 0, false);
    bias = config.norm == Norm::rms ? -1 : declare(prefix + "bias", {config.width}, 0, 0, false);
  }

  // What one pass keeps for the backward pass. Its memory is reused by the next pass: as large as the largest
  // batch.
  struct Pass {
    Placement placement;
    std::vector<std::uint8_t> padding;
    Floats input_tables, e;
    std::vector<LayerPositions> groups;  // layers whose encodings and parameters are the same share one
    std::vector<std::size_t> group_of;
    Floats words, h, final, statistics, logits;
    Floats dfinal, dh, dwords, de;
    LayerScratch scratch;
    std::vector<LayerActivations> layers;
  } pass;
  void place(const Tokens& tokens, bool training);
  void make_groups(const Tokens& tokens, std::span<const float> w);
  void add_input(const Tokens& tokens, Floats& h);
  bool again() const { return position.input && position.combination->injection() == Injection::every_layer; }
  Words joined(const Tokens& t, std::span<const float> w) const {
    return {t.B,
            t.T,
            {pass.words.data(), row_step(position.combination->word_width())},
            position.input ? pass.e.data() : nullptr,
            w.data() + combination,
            pass.placement.rows};
  }
  // Where the gradients of the encodings of layer l go.
  void set_gradients(std::size_t l, LayerPositions& group, std::span<float> g) const {
    const auto& active = position.in_layer(std::int64_t(l));
    for (std::size_t n = 0; n < group.acting.size(); ++n)
      group.acting[n].dw = g.data() + attention[active[n] * std::size_t(config.layers) + l];
  }
  LayerShape layer_shape(const Tokens& t) const {
    return {t.B,
            t.T,
            config.width,
            config.heads,
            config.feed_forward * config.width,
            config.causal,
            config.norm,
            pass.padding.empty() ? t.padding : pass.padding.data()};
  }
  void check(const Tokens& tokens, std::span<const float> w) const;
  void check_scored(const Tokens& tokens, std::span<const float> losses) const;
  void run(const Tokens& tokens, std::span<const float> w, bool training, const LayerHook& hook = {});
  void run_backward(const Tokens& tokens, std::span<const float> w, std::span<float> g);
};

namespace {

std::int64_t count_scored(std::span<const std::int32_t> targets) {
  return std::count_if(targets.begin(), targets.end(), [](std::int32_t t) { return t != kUnscored; });
}

}  // namespace

// What every pass reads; bytes are looked at once each, because they are rows of the word table.
void Model::Impl::check(const Tokens& t, std::span<const float> w) const {
  check_extents("model", {{"B", t.B, 1, kMostTokens}, {"T", t.T, 1, kMostTokens}});
  check_size("model", "inputs", t.inputs.size(), t.B * t.T);
  check_size("model", "w", w.size(), total);
  const auto none = std::find_if(t.inputs.begin(), t.inputs.end(),
                                 [](std::int32_t byte) { return byte < 0 || byte >= kVocabulary; });
  if (none == t.inputs.end()) return;
  throw Error(Fault::usage, text("model: input ", none - t.inputs.begin(), " is ", *none,
                                 "; allowed are 0 to ", kVocabulary - 1));
}
// What a loss reads and writes beside; the targets themselves are cross_entropy's to look at.
void Model::Impl::check_scored(const Tokens& t, std::span<const float> losses) const {
  check_size("model", "targets", t.targets.size(), t.B * t.T);
  check_size("model", "losses", losses.size(), t.B * t.T);
}

// Where the tokens stand, and which of them are padding.
void Model::Impl::place(const Tokens& t, bool training) {
  Pass& p = pass;
  if (t.placement) {
    p.placement = *t.placement;
    p.placement.check();
    if ((p.placement.rows != 1 && p.placement.rows != t.B) || p.placement.T() != t.T) {
      throw Error(Fault::usage, text("positions of ", p.placement.rows, " sequences of ", p.placement.T(),
                                     " tokens for a batch of ", t.B, " sequences of ", t.T));
    }
  } else {
    p.placement = Placement::consecutive(0, t.T);
  }
  if (!position.samplers.empty() && p.placement.rows == 1) {
    const auto one = p.placement.values;
    for (std::int64_t b = 1; b < t.B; ++b)
      p.placement.values.insert(p.placement.values.end(), one.begin(), one.end());
    p.placement.rows = t.B;
  }
  const Random random(t.seed, "positions");
  for (const auto& sampler : position.samplers) {
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
void Model::Impl::make_groups(const Tokens& tokens, std::span<const float> w) {
  Pass& p = pass;
  p.groups.clear(), p.group_of.clear();
  std::vector<std::size_t> group_of_pattern(position.patterns.size(), SIZE_MAX);
  const bool injects = position.input && position.combination->injection() == Injection::queries_and_keys;
  for (std::int64_t l = 0; l < config.layers; ++l) {
    const std::size_t pattern = std::size_t(l) % position.patterns.size();
    const auto& active = position.patterns[pattern];
    const bool own = std::any_of(active.begin(), active.end(),
                                 [&](std::size_t n) { return position.attention[n].encoding->per_layer(); });
    if (!own && group_of_pattern[pattern] != SIZE_MAX) {
      p.group_of.push_back(group_of_pattern[pattern]);
      continue;
    }
    p.group_of.push_back(group_of_pattern[pattern] = p.groups.size());
    LayerPositions& group = p.groups.emplace_back();
    group.places = &p.placement;
    for (std::size_t n = 0; n < active.size() && !tokens.drop_positions; ++n) {
      group.acting.push_back({position.attention[active[n]].encoding.get(),
                              w.data() + attention[active[n] * std::size_t(config.layers) + std::size_t(l)]});
    }
    group.plan = compile(group.acting, p.placement, config.causal);
    group.reads_content = reads_content(group.acting);
    if (injects && !tokens.drop_positions) group.e = p.e.data(), group.e_rows = p.placement.rows;
  }
}

void Model::Impl::run(const Tokens& tokens, std::span<const float> w, bool training, const LayerHook& hook) {
  Pass& p = pass;
  const std::int64_t N = tokens.B * tokens.T, C = config.width, step = row_step(C);
  const std::int64_t dw = position.combination->word_width(), word_step = row_step(dw);
  place(tokens, training);
  p.words.resize(N * word_step);
  parallel_ranges(N, 256, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n)
      std::memcpy(&p.words[n * word_step], &w[word + tokens.inputs[n] * dw], std::size_t(dw) * sizeof(float));
  });
  if (position.input) {
    p.input_tables = position.at_input().tables(p.placement);
    p.e.assign(p.placement.rows * tokens.T * position.input->shape().C, 0.0f);
    if (!tokens.drop_positions)
      position.at_input().input({p.placement, p.input_tables, w.data() + input}, p.e.data());
  }
  p.h.resize(N * step);
  position.combination->forward(joined(tokens, w), {p.h.data(), step});
  make_groups(tokens, w);
  p.layers.resize(layers.size());
  const float* h = p.h.data();
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (tokens.stop && (*tokens.stop)()) throw Stopped{};
    layer_forward(layer_shape(tokens), layers[l], w.data(), p.groups[p.group_of[l]], h, p.layers[l]);
    if (hook) hook({std::int64_t(l), h, p.layers[l].middle.data(), p.layers[l].out.data()});
    if (again() && l + 1 < layers.size()) add_input(tokens, p.layers[l].out);
    h = p.layers[l].out.data();
  }
  p.final.resize(N * step);
  p.statistics.resize(2 * N);
  normalise({config.norm, N, C, step}, h, &w[final_gain], final_bias < 0 ? nullptr : &w[final_bias],
            p.final.data(), p.statistics.data());
  p.logits.resize(N * row_step(kVocabulary));
  linear({N, C, kVocabulary, step, row_step(kVocabulary)}, p.final.data(), &w[head], nullptr,
         p.logits.data());
}

// Position vectors once more, before a later layer.
void Model::Impl::add_input(const Tokens& tokens, Floats& h) {
  const std::int64_t C = config.width, step = row_step(C);
  for (std::int64_t n = 0; n < tokens.B * tokens.T; ++n) {
    const float* e = &pass.e[(pass.placement.rows > 1 ? n : n % tokens.T) * C];
    for (std::int64_t c = 0; c < C; ++c) h[n * step + c] += e[c];
  }
}

// pass.logits holds the gradient of the logits.
void Model::Impl::run_backward(const Tokens& tokens, std::span<const float> w, std::span<float> g) {
  Pass& p = pass;
  const std::int64_t N = tokens.B * tokens.T, C = config.width, step = row_step(C);
  auto &dfinal = p.dfinal, &dh = p.dh, &dwords = p.dwords, &de = p.de;
  dfinal.resize(N * step);
  dh.assign(N * step, 0.0f);
  linear_backward({N, C, kVocabulary, step, row_step(kVocabulary)}, p.final.data(), &w[head], p.logits.data(),
                  {dfinal.data(), &g[head], nullptr});
  normalise_backward({config.norm, N, C, step}, p.layers.back().out.data(), &w[final_gain],
                     p.statistics.data(), dfinal.data(),
                     {dh.data(), &g[final_gain], final_bias < 0 ? nullptr : &g[final_bias]});
  Floats later(p.e.size());  // what e receives after the first layer's input
  for (LayerPositions& group : p.groups) {
    group.dplan = group.plan.zeros();
    if (group.e) group.de = later.data();
  }
  for (std::size_t l = layers.size(); l-- > 0;) {
    if (tokens.stop && (*tokens.stop)()) throw Stopped{};
    const float* x = l ? p.layers[l - 1].out.data() : p.h.data();
    LayerPositions& group = p.groups[p.group_of[l]];
    set_gradients(l, group, g);
    layer_backward(layer_shape(tokens), layers[l], {w.data(), x, g.data(), dh.data(), p.scratch}, group,
                   p.layers[l]);
    for (std::int64_t n = 0; l > 0 && again() && n < N; ++n) {
      float* to = &later[(p.placement.rows > 1 ? n : n % tokens.T) * C];
      for (std::int64_t c = 0; c < C; ++c) to[c] += dh[n * step + c];
    }
  }
  for (LayerPositions& group : p.groups) compile_backward(group.acting, p.placement, group.plan, group.dplan);

  const std::int64_t dw = position.combination->word_width(), word_step = row_step(dw);
  dwords.resize(N * word_step), de.resize(p.e.size());
  position.combination->backward(
      joined(tokens, w), {dh.data(), step},
      {{dwords.data(), word_step}, position.input ? de.data() : nullptr, g.data() + combination});
  if (position.input && !tokens.drop_positions) {
    if (position.combination->injection() != Injection::once) {
      for (std::size_t n = 0; n < de.size(); ++n)
        de[n] = later[n] + (position.combination->injection() == Injection::every_layer ? de[n] : 0.0f);
    }
    position.at_input().input_backward({p.placement, p.input_tables, w.data() + input}, de.data(),
                                       g.data() + input);
  }
  for (std::int64_t n = 0; n < N; ++n) {  // in order: two tokens may share a word
    float* row = &g[word + tokens.inputs[n] * dw];
    for (std::int64_t c = 0; c < dw; ++c) row[c] += dwords[n * word_step + c];
  }
}

Model::Model(const ModelConfig& config) : impl_(std::make_unique<Impl>(config)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;

const ModelConfig& Model::config() const { return impl_->config; }
std::span<const Param> Model::params() const { return impl_->params; }
std::int64_t Model::param_count() const { return impl_->total; }
std::optional<std::int64_t> Model::positions_end() const { return impl_->position.positions_end(); }

const Param& Model::param(std::string_view name) const {
  for (const auto& p : impl_->params) {
    if (p.spec.name == name) return p;
  }
  throw Error(Fault::bug, text("the model has no parameter '", name, "'"));
}

Floats Model::initial(std::uint64_t seed) const {
  Floats w(param_count());
  for (const auto& p : params()) {
    const Random random(seed, p.spec.name);
    parallel_ranges(p.spec.size(), 1 << 12, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i)
        w[p.offset + i] = float(p.spec.initial(i, p.spec.deviation ? random.normal(std::uint64_t(i)) : 0));
    });
  }
  return w;
}

double Model::loss(const Tokens& tokens, std::span<const float> w, std::span<float> losses,
                   std::span<float> gradient) {
  impl_->check(tokens, w), impl_->check_scored(tokens, losses);
  if (!gradient.empty()) check_size("model", "gradient", gradient.size(), param_count());
  impl_->run(tokens, w, !gradient.empty());
  auto& pass = impl_->pass;
  const std::int64_t scored = std::max<std::int64_t>(count_scored(tokens.targets), 1);
  const float dscale = gradient.empty() ? 0.0f : 1.0f / float(scored);
  cross_entropy({tokens.B * tokens.T, kVocabulary, dscale, row_step(kVocabulary)}, pass.logits.data(),
                tokens.targets.data(), losses.data());
  if (!gradient.empty()) impl_->run_backward(tokens, w, gradient);
  double sum = 0;
  for (const float x : losses) sum += x;
  return sum / double(scored);
}

double Model::observe(const Tokens& tokens, std::span<const float> w, std::span<float> losses,
                      const LayerHook& hook) {
  impl_->check(tokens, w), impl_->check_scored(tokens, losses);
  impl_->run(tokens, w, false, hook);
  cross_entropy({tokens.B * tokens.T, kVocabulary, 0, row_step(kVocabulary)}, impl_->pass.logits.data(),
                tokens.targets.data(), losses.data());
  double sum = 0;
  for (const float x : losses) sum += x;
  return sum / double(std::max<std::int64_t>(count_scored(tokens.targets), 1));
}

void Model::logits(const Tokens& tokens, std::span<const float> w, std::span<float> out) {
  impl_->check(tokens, w);
  check_size("model", "logits", out.size(), tokens.B * tokens.T * kVocabulary);
  impl_->run(tokens, w, false);
  auto& pass = impl_->pass;
  for (std::int64_t n = 0; n < tokens.B * tokens.T; ++n)
    std::copy_n(&pass.logits[n * row_step(kVocabulary)], kVocabulary, &out[n * kVocabulary]);
}

double Model::training_flops_per_token(std::int64_t T) const {
  const auto& c = config();
  const double d = double(c.width), pairs = c.causal ? (double(T) + 1) / 2 : double(T);
  double matrices = double(c.layers) * d * d * (4 + 2 * double(c.feed_forward)) + double(kVocabulary) * d;
  for (const auto& p : params()) {  // matrices that join word and position, once a token
    if (p.spec.decay && p.spec.name.rfind("embed.combination.", 0) == 0) matrices += double(p.spec.size());
  }
  return 6 * matrices + 12 * pairs * d * double(c.layers);
}

}  // namespace gnomon
