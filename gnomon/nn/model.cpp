#include "gnomon/nn/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/kernels/matmul.h"
#include "gnomon/kernels/pointwise.h"
#include "gnomon/nn/layer.h"

namespace gnomon {

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
  std::vector<std::int64_t> attention;  // offsets of the parameters of position.attention

  explicit Impl(const ModelConfig& c) : config(c) {
    c.check();
    position = make_position(c.position, {c.width, c.heads, c.head_size(), c.length, c.causal});
    const double d = double(c.width), deep = 1 / std::sqrt(2.0 * double(c.layers));
    const std::int64_t word_width = position.combination->word_width();
    word = declare("embed.word", {kVocabulary, word_width}, 0, 1 / std::sqrt(double(word_width)), false);
    combination = declare_all("embed.combination.", position.combination->params());
    input = position.input ? declare_all("position.input.", position.input->params()) : 0;
    for (std::size_t n = 0; n < position.attention.size(); ++n) {
      attention.push_back(declare_all(text("position.attention.", n, "."), position.attention[n]->params()));
    }
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
    total += params.back().spec.size();
    return params.back().offset;
  }
  std::int64_t declare_all(const std::string& prefix, const std::vector<ParamSpec>& specs) {
    const std::int64_t first = total;
    for (const auto& s : specs) declare(prefix + s.name, s.shape, s.mean, s.deviation, s.decay);
    return first;
  }
  void declare_norm(const std::string& prefix, std::int64_t& gain, std::int64_t& bias) {
    gain = declare(prefix + "gain", {config.width}, 1, 0, false);
    bias = config.norm == Norm::rms ? -1 : declare(prefix + "bias", {config.width}, 0, 0, false);
  }

  LayerShape layer_shape(const Tokens& t) const {
    return {t.B,           t.T,         config.width, config.heads, config.feed_forward * config.width,
            config.causal, config.norm, t.padding};
  }

  // What one pass keeps for the backward pass. Its memory is reused by the next pass: as large as the largest
  // batch.
  struct Pass {
    std::vector<double> positions;
    Floats input_tables, e;
    std::vector<Floats> attention_tables;
    LayerPositions in_attention;
    Floats words, h, final, statistics, logits;
    Floats dfinal, dh, dwords, de;
    LayerScratch scratch;
    std::vector<LayerActivations> layers;
  } pass;
  void run(const Tokens& tokens, std::span<const float> w);
  void run_backward(const Tokens& tokens, std::span<const float> w, std::span<float> g);
};

namespace {

std::int64_t count_scored(std::span<const std::int32_t> targets) {
  return std::count_if(targets.begin(), targets.end(), [](std::int32_t t) { return t != kUnscored; });
}

}  // namespace

void Model::Impl::run(const Tokens& tokens, std::span<const float> w) {
  Pass& p = pass;
  const std::int64_t N = tokens.B * tokens.T, C = config.width, step = row_step(C);
  const std::int64_t dw = position.combination->word_width(), word_step = row_step(dw);
  p.positions = positions_from(0, tokens.T);
  p.words.resize(N * word_step);
  parallel_ranges(N, 256, [&](auto begin, auto end) {
    for (auto n = begin; n < end; ++n)
      std::memcpy(&p.words[n * word_step], &w[word + tokens.inputs[n] * dw], std::size_t(dw) * sizeof(float));
  });
  if (position.input) {
    p.input_tables = position.input->tables(p.positions);
    p.e.resize(tokens.T * position.input->shape().C);
    position.input->input({p.positions, p.input_tables, w.data() + input}, p.e.data());
  }
  p.h.resize(N * step);
  position.combination->forward({tokens.B,
                                 tokens.T,
                                 {p.words.data(), word_step},
                                 position.input ? p.e.data() : nullptr,
                                 w.data() + combination},
                                {p.h.data(), step});

  p.in_attention.terms = terms_for(p.positions, config.causal);
  p.attention_tables.resize(attention.size());
  p.in_attention.encodings.clear();
  for (std::size_t n = 0; n < attention.size(); ++n) {
    p.attention_tables[n] = position.attention[n]->tables(p.positions);
    const Batch batch{p.positions, p.attention_tables[n], w.data() + attention[n]};
    position.attention[n]->lower(batch, p.in_attention.terms);
    p.in_attention.encodings.push_back({position.attention[n].get(), batch, nullptr});
  }
  p.layers.resize(layers.size());
  const float* h = p.h.data();
  for (std::size_t l = 0; l < layers.size(); ++l) {
    layer_forward(layer_shape(tokens), layers[l], w.data(), p.in_attention, h, p.layers[l]);
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
  p.in_attention.dterms = p.in_attention.terms.zeros();
  for (std::size_t n = 0; n < attention.size(); ++n) p.in_attention.encodings[n].dw = g.data() + attention[n];
  for (std::size_t l = layers.size(); l-- > 0;) {
    const float* x = l ? p.layers[l - 1].out.data() : p.h.data();
    layer_backward(layer_shape(tokens), layers[l], {w.data(), x, g.data(), dh.data(), p.scratch},
                   p.in_attention, p.layers[l]);
  }
  for (const auto& at : p.in_attention.encodings)
    at.encoding->lower_backward(at.batch, p.in_attention.dterms, at.dw);

  const std::int64_t dw = position.combination->word_width(), word_step = row_step(dw);
  dwords.resize(N * word_step), de.resize(p.e.size());
  position.combination->backward(
      {tokens.B,
       tokens.T,
       {p.words.data(), word_step},
       position.input ? p.e.data() : nullptr,
       w.data() + combination},
      {dh.data(), step},
      {{dwords.data(), word_step}, position.input ? de.data() : nullptr, g.data() + combination});
  if (position.input)
    position.input->input_backward({p.positions, p.input_tables, w.data() + input}, de.data(),
                                   g.data() + input);
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
        w[p.offset + i] =
            float(p.spec.mean + (p.spec.deviation ? p.spec.deviation * random.normal(std::uint64_t(i)) : 0));
    });
  }
  return w;
}

double Model::loss(const Tokens& tokens, std::span<const float> w, std::span<float> losses,
                   std::span<float> gradient) {
  impl_->run(tokens, w);
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

void Model::logits(const Tokens& tokens, std::span<const float> w, std::span<float> out) {
  impl_->run(tokens, w);
  auto& pass = impl_->pass;
  for (std::int64_t n = 0; n < tokens.B * tokens.T; ++n)
    std::copy_n(&pass.logits[n * row_step(kVocabulary)], kVocabulary, &out[n * kVocabulary]);
}

double Model::training_flops_per_token(std::int64_t T) const {
  const auto& c = config();
  const double d = double(c.width), pairs = c.causal ? (double(T) + 1) / 2 : double(T);
  double matrices = double(c.layers) * d * d * (4 + 2 * double(c.feed_forward)) + double(kVocabulary) * d;
  for (const auto& p : params()) {
    if (p.spec.name == "embed.combination.weight") matrices += double(p.spec.size());
  }
  return 6 * matrices + 12 * pairs * d * double(c.layers);
}

}  // namespace gnomon
