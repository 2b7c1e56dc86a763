#include "scheme.h"

#include <algorithm>

#include "gnomon/core/check.h"
#include "gnomon/core/text.h"

namespace gnomon::python {
namespace {

// What of the spec acts in the attention of this layer, as a spec.
Spec of_layer(const Spec& spec, std::int64_t layer) {
  Spec inside;
  inside.combination = Spec::parse("none").combination;
  inside.attention = spec.attention;
  if (!spec.layers.empty()) {
    const auto& more = spec.layers[std::size_t(layer) % spec.layers.size()];
    inside.attention.insert(inside.attention.end(), more.begin(), more.end());
  }
  return inside;
}
// The width that is left for the position vector: concat says its own.
std::int64_t input_width(const Spec& spec, std::int64_t width) {
  const auto own = spec.combination.option("width");
  return own && own->number() > 0 ? std::int64_t(own->number()) : width;
}

}  // namespace

BoundScheme::BoundScheme(std::string_view text, const AttentionConfig& config, std::int64_t layer)
    : spec_(Spec::parse(text)),
      attention_(of_layer(spec_, layer).print(), config),
      shape_{attention_.config().width, config.heads, config.head_dim, config.length, config.causal} {
  check_extents("make", {{"layer", layer, 0, kMostTokens}});
  if (spec_.input) {
    Shape beside = shape_;
    beside.C = input_width(spec_, shape_.C);
    input_ = make_encoding(*spec_.input, beside);
  }
  for (const Named& named : spec_.samplers) samplers_.push_back(make_encoding(named, shape_));
}

std::vector<std::string> BoundScheme::beside_attention() const {
  std::vector<std::string> words;
  if (input_) words.emplace_back("an input encoding");
  if (!spec_.layers.empty()) words.emplace_back("a list of layers");
  if (!samplers_.empty()) words.emplace_back("a sampler of positions");
  return words;
}
std::int64_t BoundScheme::axes() const {
  std::int64_t axes = 1;
  for (const auto& [e, acts] : inside()) axes = std::max(axes, e->axes());
  return axes;
}
unsigned BoundScheme::reads() const {
  unsigned reads = 0;
  for (const auto& [e, acts] : inside()) reads |= e->reads();
  return reads;
}

}  // namespace gnomon::python
