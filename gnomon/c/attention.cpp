// Attention: what it is, forward and backward.
#include "gnomon/c/handles.h"
#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/nn/attention_inside.h"
#include "gnomon/spec/scheme.h"

using namespace gnomon;
using c::call;
using c::known;
using c::need;

namespace {

AttentionConfig config_of(const gnomon_attention_config& g) {
  check_extents("config", {{"causal", g.causal, 0, 1}});
  AttentionConfig config{.heads = g.heads, .head_dim = g.head_dim};
  config.kv_heads = g.kv_heads;
  config.value_dim = g.value_dim;
  config.width = g.width;
  config.length = g.length;
  config.causal = g.causal != 0;
  config.scale = g.scale;
  config.soft_cap = g.soft_cap;
  return config;
}

std::unique_ptr<gnomon_attention> attention_of(const char* spec, const AttentionConfig& config) {
  auto made = std::make_unique<gnomon_attention>();
  made->attention = std::make_shared<const Attention>(spec, config);
  made->spec = made->attention->spec();
  for (const Named& named : Spec::parse(made->spec).attention) made->names.push_back(named.name);
  std::int64_t offset = 0;
  for (const ParamSpec& p : made->attention->params()) {
    made->offsets.push_back(offset);
    offset += p.size();
  }
  return made;
}

const Encoding& encoding_at(const Attention& a, std::int64_t index) {
  const auto& all = a.inside().scheme.attention;
  check_extents("encodings", {{"index", index, 0, std::int64_t(all.size()) - 1}});
  return *all[std::size_t(index)].encoding;
}

}  // namespace

gnomon_status gnomon_attention_create(const char* spec, const gnomon_attention_config* config,
                                      gnomon_attention** attention) {
  return call([&] {
    need("attention", attention);
    *attention = attention_of(&need("spec", spec), config_of(known("config", config))).release();
  });
}
void gnomon_attention_free(gnomon_attention* attention) { delete attention; }

gnomon_status gnomon_attention_spec(const gnomon_attention* attention, const char** spec) {
  return call([&] { need("spec", spec) = need("attention", attention).spec.c_str(); });
}

gnomon_status gnomon_attention_encodings(const gnomon_attention* attention, int64_t* count) {
  return call([&] { need("count", count) = std::int64_t(need("attention", attention).names.size()); });
}
gnomon_status gnomon_attention_encoding(const gnomon_attention* attention, int64_t index, const char** name) {
  return call([&] {
    encoding_at(*need("attention", attention).attention, index);
    need("name", name) = attention->names[std::size_t(index)].c_str();
  });
}

gnomon_status gnomon_attention_frequencies(const gnomon_attention* attention, int64_t index,
                                           double* frequencies, int64_t capacity, int64_t* count) {
  return call([&] {
    const std::vector<double> all = encoding_at(*need("attention", attention).attention, index).frequencies();
    const auto size = std::int64_t(all.size());
    need("count", count);
    if (frequencies) {
      check_extents("frequencies", {{"capacity", capacity, size, kMostNumbers}});
      std::copy(all.begin(), all.end(), frequencies);
    }
    *count = size;
  });
}

gnomon_status gnomon_attention_parameters(const gnomon_attention* attention, int64_t* arrays,
                                          int64_t* numbers) {
  return call([&] {
    const Attention& a = *need("attention", attention).attention;
    need("arrays", arrays), need("numbers", numbers);
    *arrays = std::int64_t(a.params().size());
    *numbers = a.param_count();
  });
}

gnomon_status gnomon_attention_parameter(const gnomon_attention* attention, int64_t index,
                                         gnomon_parameter* parameter) {
  return call([&] {
    const std::vector<ParamSpec>& all = need("attention", attention).attention->params();
    known("parameter", parameter);
    check_extents("parameters", {{"index", index, 0, std::int64_t(all.size()) - 1}});
    const ParamSpec& p = all[std::size_t(index)];
    *parameter = {sizeof(gnomon_parameter),
                  p.name.c_str(),
                  p.shape.data(),
                  std::int64_t(p.shape.size()),
                  attention->offsets[std::size_t(index)],
                  p.size()};
  });
}

gnomon_status gnomon_attention_initial(const gnomon_attention* attention, uint64_t seed, float* parameters,
                                       int64_t count) {
  return call([&] {
    const Attention& a = *need("attention", attention).attention;
    check_extents("parameters", {{"count", count, a.param_count(), a.param_count()}});
    check_pointers("initial", count, {{"parameters", parameters}});
    const Floats start = a.initial(seed);
    std::copy(start.begin(), start.end(), parameters);
  });
}

gnomon_view gnomon_heads_first(const void* data, gnomon_number number, const int64_t extents[4]) {
  gnomon_view view = GNOMON_VIEW_NONE;
  view.data = const_cast<void*>(data), view.number = number;
  std::copy_n(extents, 4, view.extents);
  const std::int64_t T = extents[2], D = extents[3];
  const std::int64_t steps[] = {extents[1] * T * D, T * D, D, 1};
  std::copy_n(steps, 4, view.steps);
  return view;
}
gnomon_view gnomon_tokens_first(const void* data, gnomon_number number, const int64_t extents[4]) {
  gnomon_view view = gnomon_heads_first(data, number, extents);
  view.steps[1] = extents[3];
  view.steps[2] = extents[1] * extents[3];
  return view;
}

gnomon_status gnomon_forward(const gnomon_attention* attention, const gnomon_attention_input* in,
                             const gnomon_view* out, gnomon_saved** saved) {
  return call([&] {
    const auto& shared = need("attention", attention).attention;
    c::Input input(in);
    auto kept = std::make_unique<gnomon_saved>();
    kept->attention = shared;
    kept->projections = input.projections;
    if (input.in.projections) input.in.projections = &kept->projections;
    kept->saved = shared->forward(input.in, c::view_of("out", need("out", out)));
    if (saved) *saved = kept.release();
  });
}
void gnomon_saved_free(gnomon_saved* saved) { delete saved; }

gnomon_status gnomon_backward(const gnomon_saved* saved, const gnomon_view* dout,
                              const gnomon_attention_gradients* gradients) {
  return call([&] {
    const gnomon_saved& s = need("saved", saved);
    const gnomon_attention_gradients g = known("gradients", gradients);
    Projections<float> projections{g.dprojections.q, g.dprojections.k, g.dprojections.q_bias,
                                   g.dprojections.k_bias};
    const bool of_projections = projections.q || projections.k || projections.q_bias || projections.k_bias;
    if (of_projections) {
      need("dprojections.q", projections.q), need("dprojections.k", projections.k);
      need("dprojections.q_bias", projections.q_bias), need("dprojections.k_bias", projections.k_bias);
    }
    AttentionGradients to;
    to.dq = c::view_of("dq", g.dq), to.dk = c::view_of("dk", g.dk), to.dv = c::view_of("dv", g.dv);
    to.dw = c::parameter_gradients_of(g.dparameters, g.dparameter_count);
    to.dx = c::view_of("dx", g.dx);
    to.projections = of_projections ? &projections : nullptr;
    to.extras = {c::pairs_of<float>(g.dbias), g.dsinks};
    s.attention->backward(*s.saved, c::const_view_of("dout", need("dout", dout)), to);
  });
}
