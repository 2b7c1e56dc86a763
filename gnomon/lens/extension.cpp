#include "gnomon/lens/extension.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// Every rope of the spec that turns forward under another name, with more options beside its own; how many there were. The
// others know no other direction.
int rename(Spec& spec, const std::string& name, const NamedOptions& more) {
  int found = 0;
  const auto change = [&](std::vector<Named>& all) {
    for (Named& named : all) {
      if (named.name != "rope") continue;
      const auto direction = std::find_if(named.options.begin(), named.options.end(),
                                          [](const auto& option) { return option.first == "direction"; });
      if (direction != named.options.end()) {
        if (direction->second.print() != "forward") continue;
        named.options.erase(direction);
      }
      ++found, named.name = name;
      named.options.insert(named.options.end(), more.begin(), more.end());
    }
  };
  change(spec.attention);
  for (auto& layer : spec.layers) change(layer);
  return found;
}

}  // namespace

std::vector<WayOfReading> extensions(const Spec& trained, double factor, std::int64_t original) {
  if (!(factor > 1) || original < 2)
    throw Error(Fault::usage, text("extensions: a factor of ", factor, " for ", original,
                                   " tokens; allowed are a factor above 1 and 2 tokens or more"));
  const OptionValue by = factor, near = original / 2;
  // Distances up to half of the trained length as they are; groups so large that the rest falls into the other half.
  const OptionValue group = std::ceil(2 * factor - 1);
  const std::pair<std::string, NamedOptions> methods[] = {
      {"linear", {{"factor", by}}},
      {"ntk", {{"factor", by}}},
      {"yarn", {{"factor", by}, {"original", original}}},
      {"rerope", {{"window", near}}},
      {"self_extend", {{"window", near}, {"group", group}}}};
  std::vector<WayOfReading> all{{"as trained", trained}};
  for (const auto& [name, options] : methods) {
    Spec spec = trained;
    if (rename(spec, name, options) == 0)
      throw Error(Fault::usage, text("'", trained.print(), "': no layer uses rope(direction=forward)"));
    all.push_back({name, spec});
  }
  return all;
}

Spec without_position(const Spec& spec, std::int64_t layers, std::int64_t layer) {
  if (layer < 0 || layer >= layers)
    throw Error(Fault::usage, text("found layer ", layer, "; the model has layers 0 to ", layers - 1));
  Spec out = spec;
  out.attention.clear(), out.layers.clear();
  for (std::int64_t l = 0; l < layers; ++l) {
    std::vector<Named> here;
    if (l != layer) {
      here = spec.attention;
      if (!spec.layers.empty()) {
        const auto& own = spec.layers[std::size_t(l) % spec.layers.size()];
        here.insert(here.end(), own.begin(), own.end());
      }
    }
    out.layers.push_back(std::move(here));
  }
  return out;
}

Model with_spec(const Trained& m, const Spec& spec) {
  Architecture a = m.model.architecture();
  a.position = spec;
  Model model(a);
  if (model.param_count() != m.model.param_count())
    throw Error(Fault::usage, text("'", spec.print(), "' has different parameters from '",
                                   m.model.architecture().position.print(), "'"));
  return model;
}

}  // namespace gnomon
