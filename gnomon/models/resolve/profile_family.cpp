#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/methods.h"

namespace gnomon {

// Inkling: profiles of the distance mixed by content, in place of a rotation. transformers 5.23, modeling_inkling.py.
void resolve_profile(const Resolving& task) {
  FileReading& file = task.file;
  const auto whole = [&](std::string_view key, std::int64_t standard) {
    return file.whole(key, 1, 1'000'000'000).value_or(standard);
  };
  std::vector<LayerKind> kinds = read_layers(file, task.family, task.sizes);
  for (std::size_t l = 0; l < kinds.size(); ++l) {
    const LayerKind& kind = kinds[l];
    const bool slides = kind.window != 0;
    const std::int64_t extent = slides ? kind.window : whole("rel_extent", 1024);
    const std::int64_t floor = whole("log_scaling_n_floor", task.family.log_floor);
    const double alpha = file.number("log_scaling_alpha").value_or(0.1);
    const bool warm = !slides && floor != 0;
    SpecPart profile{{"content_profile", {{"width", whole("d_rel", 16)}, {"extent", extent}}}, {}, {}};
    const NamedOptions growth{{"scale", alpha}, {"floor", floor}};
    NamedOptions& options = profile.encoding.options;
    if (warm) options.insert(options.end(), growth.begin(), growth.end());
    profile.because.push_back({"extent", text(extent), file.at(slides ? "sliding_window_size" : "rel_extent"),
                               "distance in tokens from which the bias is 0"});
    profile.because.push_back(
        {"width", text(whole("d_rel", 16)), file.at("d_rel"), "profiles that each query head mixes"});
    std::vector<SpecPart> parts{std::move(profile)};
    if (warm) {
      parts.push_back({{"log_n", {{"rule", "inkling"}, growth[0], growth[1]}}, {}, {}});
      parts.back().because.push_back(
          {"temperature", shortest(alpha), file.at("log_scaling_alpha"), "temperature of q and of the bias"});
      parts.back().because.push_back({"floor", text(floor), file.at("log_scaling_n_floor"), "tokens"});
    }
    LayerPosition layer = make_layer(task, kind, parts);
    layer.scale = attention_scale(task, std::int64_t(l), layer);
    layer.number = std::int64_t(l);
    task.answer.layers.push_back(std::move(layer));
  }
}

}  // namespace gnomon
