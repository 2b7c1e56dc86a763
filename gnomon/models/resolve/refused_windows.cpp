#include <algorithm>

#include "gnomon/core/prose.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/refusals.h"

namespace gnomon {
namespace {

constexpr Prose kText =
#include "gnomon/models/resolve/refused_windows.txt.inc"
    ;

std::int64_t sliding(const std::vector<std::string>& types) {
  return std::count(types.begin(), types.end(), "sliding_attention");
}
// What layers of a kind cannot do without: its key, whether the class has a number of its own, and what is said without one.
struct Limit {
  std::string_view key;
  bool of_class;
  std::string_view expected;
  Form<"layers"> says;
};
Limit window_of(std::string_view key, bool of_class) {
  return {key, of_class, kText.at("window-missing", "expected.window"),
          kText.at("window-missing", "says.window")};
}
Limit chunk_of(bool of_class) {
  return {"attention_chunk_size", of_class, kText.at("window-missing", "expected.chunk"),
          kText.at("window-missing", "says.chunk")};
}
Remarks limit_missing(const FileView& file, const Limit& limit, std::int64_t layers) {
  const Config::Kind kind = file.kind(limit.key);
  if (layers == 0 || (kind != Config::Kind::null && (kind != Config::Kind::absent || limit.of_class)))
    return {};
  return {refused(file.at(limit.key), limit.expected,
                  said<"layers">(limit.says, counted(std::size_t(layers), "layer")))};
}
// Classes that make the mask of a window, or of a chunk, whatever their layers are.
bool makes_every_mask(const Family& family) {
  constexpr std::string_view kNames[] = {"gemma2", "gemma3", "gpt_oss",   "granite_swa", "granitemoe_swa",
                                         "olmo3",  "llama4", "ministral", "gemma4"};
  return std::find(std::begin(kNames), std::end(kNames), family.name) != std::end(kNames);
}
}  // namespace

Remarks window_missing(const FileView& file) {
  const Family* family = file.family();
  if (!family || file.gguf() || (family->method != Method::rotary && family->method != Method::profile))
    return {};
  const WindowRule& windows = family->windows;
  const bool of_encoder = !family->causal && windows.which == WindowRule::Which::none;
  if (of_encoder) return {};  // one that makes no mask from layer_types
  const Limit window = window_of(windows.key, windows.standard != 0), chunk = chunk_of(windows.chunk != 0);
  const Limit& made = windows.chunk ? chunk : window;
  if (makes_every_mask(*family) && file.kind(made.key) == Config::Kind::null)
    return {refused(file.at(made.key), made.expected, kText.at("window-missing", "says.mask"))};
  // ModernBERT's class has the window under this name, too: a null in the file takes its place.
  if (windows.key == "local_attention" && file.kind("sliding_window") == Config::Kind::null)
    return limit_missing(file, window_of("sliding_window", true), 1);
  const auto types = file.words("layer_types");
  if (!types) {  // the class's own rule, of which a part of the layers has the window
    const bool some = windows.which == WindowRule::Which::all_but;
    return some && file.kind(windows.key) == Config::Kind::null
               ? limit_missing(file, window, std::max<std::int64_t>(1, file.layers().value_or(1) / 2))
               : Remarks{};
  }
  const std::int64_t slide = sliding(*types),
                     chunks = std::count(types->begin(), types->end(), "chunked_attention");
  if (slide && windows.chunk)
    return {refused(file.at("layer_types"), kText.at("window-missing", "expected.no-windows"),
                    said<"type">(kText.at("window-missing", "says.no-windows"), file.type()))};
  if (slide && file.type().starts_with("qwen") && file.switches_window() &&
      !file.flag("use_sliding_window").value_or(false))
    return {refused(file.at("use_sliding_window"), kText.at("window-missing", "expected.switched-off"),
                    said<"layers">(kText.at("window-missing", "says.switched-off"),
                                   counted(std::size_t(slide), "layer")))};
  Remarks all = limit_missing(file, window, slide);
  for (Remark& found : limit_missing(file, chunk, chunks)) all.push_back(std::move(found));
  return all;
}

// A class that does not look at the key runs, whatever it says.
Remarks window_impossible(const FileView& file) {
  if (!file.family() || file.gguf()) return {};
  const WindowRule& windows = file.family()->windows;
  const bool read = windows.which != WindowRule::Which::none || file.switches_window();
  const bool off = file.switches_window() && !file.flag("use_sliding_window").value_or(false);
  const bool by_types =
      file.family()->name == "smollm3" && file.has("layer_types");  // whatever is switched off
  if (!read || (off && !by_types)) return {};
  const auto window = file.number(windows.key);
  if (file.kind(windows.key) != Config::Kind::number || (window && *window >= 1)) return {};
  return {refused(file.at(windows.key), kText.at("window-impossible", "expected"),
                  kText.at("window-impossible", "says"))};
}

}  // namespace gnomon
