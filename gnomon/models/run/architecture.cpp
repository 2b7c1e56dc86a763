#include "gnomon/models/run/architecture.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/facts.h"
#include "gnomon/models/run/names.h"
#include "gnomon/nn/block.h"

namespace gnomon {
namespace {

struct Row {
  std::string_view family;
  void (*block)(Facts&, Architecture&);
};
#define RUNS(family, names, block, gguf) Row{family, block_##block},
constexpr Row kBlockOf[] = {
#include "gnomon/models/run/runnable.def"
};
#undef RUNS

constexpr std::string_view kComponents[] = {"encoder", "decoder"};

[[noreturn]] void refuse(const Config& config, std::string_view why) {
  throw Error(Fault::input, text(config.where(), ": ", why));
}

// What a layer's heads have, for messages: with the key of the file that says it.
std::string told(const LayerPosition& layer, std::string_view what, const std::string& value) {
  for (const Because& b : layer.because) {
    if (b.what == what && !b.key.empty()) return text(value, " (", b.key, ")");
  }
  return value;
}
// Where the block of a family knows layers with other keys, their number and width may differ.
void must_have_heads_of(const LayerPosition& first, const LayerPosition& one, const Config& config,
                        bool other_keys) {
  const auto same = [&](std::string_view what, auto LayerPosition::*value) {
    if (one.*value == first.*value) return;
    const auto words = [&](const LayerPosition& l) { return told(l, what, shortest(double(l.*value))); };
    refuse(config,
           text("layer ", one.number, " has ", what, " ", words(one), " but layer ", first.number, " has ",
                words(first), "; gnomon explains this model but runs only models with equal layers"));
  };
  same("heads", &LayerPosition::heads);
  if (!other_keys) same("kv_heads", &LayerPosition::kv_heads), same("head_dim", &LayerPosition::head_dim);
  same("scale", &LayerPosition::scale);
  same("causal", &LayerPosition::causal);
}

// The layers that are run: all, or of a model with an encoder and a decoder those of one.
std::vector<const LayerPosition*> layers_of(const Config& config, const Resolved& resolved, Component part) {
  const std::string_view named = kComponents[std::size_t(part)];
  std::vector<const LayerPosition*> layers;
  for (const LayerPosition& layer : resolved.layers) {
    if (layer.component.empty() || layer.component == named) layers.push_back(&layer);
  }
  if (layers.empty()) refuse(config, "the model has no layers");
  for (const LayerPosition* layer : layers)
    must_have_heads_of(*layers.front(), *layer, config, resolved.family == "gemma4");
  return layers;
}

std::string part_of(const Config& config, const Resolved& resolved) {
  if (config.gguf()) return config.text("general.architecture").value_or("");
  for (const Because& b : resolved.because) {
    if (b.what == "part") return b.value;
  }
  return {};
}

std::int64_t vocabulary_of(Facts& f) {
  const auto found = f.file.whole("vocab_size", 1, std::int64_t{1} << 31);
  if (!found && !f.gguf) f.file.wrong("vocab_size", "the number of tokens");
  return found.value_or(kVocabulary);
}

}  // namespace

std::span<const std::string_view> component_names() { return kComponents; }
Component component_named(std::string_view name) {
  const auto found = std::find(std::begin(kComponents), std::end(kComponents), name);
  if (found == std::end(kComponents)) throw unknown("component", name, kComponents);
  return Component(found - std::begin(kComponents));
}

Spec position_of(const Config& config, const Resolved& resolved, Component part) {
  Spec spec = resolved.input;
  const auto layers = layers_of(config, resolved, part);
  std::vector<std::vector<Named>> acting;
  for (const LayerPosition* layer : layers) acting.push_back(layer->spec.attention);
  std::size_t period = 1;
  const auto repeats = [&](std::size_t p) {
    for (std::size_t l = p; l < acting.size(); ++l) {
      if (acting[l] != acting[l - p] || layers[l]->head_dim != layers[l - p]->head_dim) return false;
    }
    return true;
  };
  while (!repeats(period)) ++period;
  if (period == 1) {
    spec.attention = acting.front();
  } else {
    spec.layers.assign(acting.begin(), acting.begin() + std::ptrdiff_t(period));
  }
  return spec;
}

Architecture architecture_of(const Config& config, const Resolved& resolved, Component part) {
  const auto row = std::find_if(std::begin(kBlockOf), std::end(kBlockOf),
                                [&](const Row& r) { return r.family == resolved.family; });
  if (row == std::end(kBlockOf) || !resolved.known) {
    refuse(config, text("gnomon explains the family ", excerpt(resolved.family),
                        " but cannot run it; it runs: ", join(runnable_families(), ", ")));
  }
  const auto layers = layers_of(config, resolved, part);
  const LayerPosition& one = *layers.front();
  FileReading file(config, part_of(config, resolved));
  Facts facts{file, resolved, config.gguf()};
  Architecture a;
  a.layers = std::int64_t(layers.size()), a.width = resolved.width;
  a.causal = one.causal && (resolved.causal || !one.component.empty());
  a.length = std::clamp<std::int64_t>(resolved.trained_length ? resolved.trained_length : resolved.longest, 2,
                                      1 << 20);
  a.attention = {.heads = one.heads, .kv_heads = one.kv_heads, .head_dim = one.head_dim, .scale = one.scale};
  a.vocabulary = vocabulary_of(facts);
  a.position = position_of(config, resolved, part);
  row->block(facts, a);
  try {
    a.check();
  } catch (const Error& error) {
    if (error.fault() != Fault::usage) throw;
    refuse(config, text("gnomon cannot run this model: ", error.what()));
  }
  return a;
}

std::string block_of(const Config& config, const Resolved& resolved) {
  Architecture a = architecture_of(config, resolved);
  if (a.head.form == HeadForm::none) a.head = {};
  return print_block(a);
}

double Facts::number(std::string_view key, double standard) { return file.number(key).value_or(standard); }
double Facts::number(std::string_view key, std::string_view in_gguf, double standard) {
  return number(gguf ? in_gguf : key, standard);
}
std::int64_t Facts::whole(std::string_view key, std::string_view in_gguf, std::int64_t standard) {
  return whole(gguf ? in_gguf : key, standard);
}
Experts Facts::experts(std::string_view count, std::int64_t standard, std::string_view active,
                       std::int64_t standard_active) {
  const std::int64_t said = gguf ? standard : whole("num_local_experts", standard);
  return {.count = whole(count, "expert_count", said),
          .active = whole(active, "expert_used_count", standard_active)};
}
double Facts::number_or_none(std::string_view key, double standard) {
  if (file.kind(key) == Config::Kind::null) return 0;
  return number(key, standard);
}
std::int64_t Facts::whole(std::string_view key, std::int64_t standard) {
  return file.whole(key).value_or(standard);
}
double Facts::epsilon(std::string_view key, double standard) {
  if (!gguf) return number(key, standard);
  const auto rms = file.number("attention.layer_norm_rms_epsilon");
  return rms ? *rms : number("attention.layer_norm_epsilon", standard);
}
std::int64_t Facts::hidden(std::string_view key, std::int64_t standard) {
  const std::string_view name = gguf ? "feed_forward_length" : key;
  const auto found = file.whole(name, 1, 1 << 22);
  if (!found && standard == 0) file.wrong(name, "the hidden width of the feed-forward part");
  return found.value_or(standard);
}
OutputHead Facts::head(bool tied_standard) {
  OutputHead head;
  head.tied = gguf || flag("tie_word_embeddings", tied_standard);
  return head;
}
Activation Facts::activation(std::string_view key, std::string_view standard) {
  const std::string name = gguf ? std::string(standard) : file.text(key).value_or(std::string(standard));
  const auto found = activation_named(name);
  if (!found)
    file.wrong(key, "gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, quick_gelu, relu, silu and swish");
  return *found;
}
void Facts::refuse(std::string_view key, std::string_view why) const { file.wrong(key, why); }

std::optional<Activation> activation_named(std::string_view name) {
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "relu") return Activation::relu;
  if (name == "quick_gelu") return Activation::gelu_sigmoid;
  return std::nullopt;
}

}  // namespace gnomon
