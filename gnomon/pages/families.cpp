#include "gnomon/pages/families.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gnomon/core/text.h"
#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/layers.h"
#include "gnomon/models/run/names.h"

namespace gnomon::pages {
namespace {

using Json = nlohmann::ordered_json;

std::string rotation(const Family& f) {
  if (f.no_position == NoPosition::always) return f.mla.present() ? "latent attention, no position" : "none";
  std::string says = "RoPE";
  if (!f.rope.sections.empty()) says += ", three streams";
  if (f.rope.streams == StreamOrder::by_channel) says += ", streams by channel";
  if (f.rope.streams == StreamOrder::rows_columns) says += ", two streams";
  if (f.mla.present()) says = "latent attention, " + says;
  if (f.rope.pairing == Pairing::adjacent) says += ", adjacent pairs";
  if (f.rope.partial > 0 && f.rope.partial < 1) says += ", part of a head";
  return says;
}
std::string position(const Family& f) {
  switch (f.method) {
    case Method::rotary:
      return rotation(f);
    case Method::table:
      if (!f.table.learned_key.empty()) return "learned table or sinusoidal";
      return f.table.sines.empty() ? "learned table" : "sinusoidal";
    case Method::alibi:
      return "ALiBi";
    case Method::falcon:
    case Method::baichuan:
      return "ALiBi or RoPE";
    case Method::t5:
      return "buckets of distances";
    case Method::mpnet:
      return "learned table and buckets of distances";
    case Method::deberta:
    case Method::deberta2:
      return "disentangled attention";
    case Method::profile:
      return "a bias of the content by distance";
    case Method::deepseek_v4:
      return "RoPE, compressed keys";
    case Method::t5_alone:
      return "buckets of distances";
    case Method::xlnet:
      return "sinusoid of distances in the logits";
    case Method::recurrence:
      return "none: recurrence";
  }
  return {};
}

bool has_letter(const WindowRule& windows, std::string_view letters) {
  return windows.cycle.find_first_of(letters) != std::string_view::npos ||
         windows.start.find_first_of(letters) != std::string_view::npos;
}
// Of the kinds that layers have, where layer_types does not say, those of which this holds.
template <class Holds>
bool has_kind(const WindowRule& rule, std::string_view letters, const Holds& holds) {
  return has_letter(rule, letters) ||
         (rule.which == WindowRule::Which::all_but && (holds(rule.other) || holds(rule.full)));
}
// What single layers do otherwise.
std::string layers(const Family& f) {
  if (f.method == Method::recurrence || !f.mixer.empty()) return "all without attention";
  std::vector<std::string_view> parts;
  using Which = WindowRule::Which;
  const bool slides =
      f.windows.which == Which::all || f.windows.which == Which::from_layer ||
      f.windows.which == Which::without_position || f.windows.chunk ||
      has_kind(f.windows, "s", [](std::string_view kind) { return kind == "sliding_attention"; });
  if (slides) parts.push_back("windows");
  if (f.no_position != NoPosition::never && f.no_position != NoPosition::always)
    parts.push_back("some without position");
  if (has_kind(f.windows, "lcmx", [](std::string_view kind) { return !attends(kind); }) ||
      f.windows.which == Which::ends)
    parts.push_back("some without attention");
  return join(parts, ", ");
}

bool runs(const Family& f) {
  const auto all = runnable_families();
  return std::find(all.begin(), all.end(), f.name) != all.end();
}
// What the answers are compared with.
std::string compared(const Family& f) {
  const std::string gguf = f.gguf.empty() ? "" : "llama.cpp 0.5.0";
  const std::string classes =
      f.own_code.size() == f.types.size() ? "the code of its repository, read" : "transformers 5.23";
  return gguf.empty() ? classes : classes + ", " + gguf;
}
std::string words(const std::vector<std::string_view>& names) {
  std::string all;
  for (const std::string_view name : names) all += text(all.empty() ? "`" : ", `", name, "`");
  return all;
}
std::string runs_from(const Family& f) {
  return !runs(f) ? "no" : runs_gguf(f.name) ? "safetensors, GGUF" : "safetensors";
}

}  // namespace

std::string family_position(const Family& f) {
  const std::string single = layers(f);
  return single.empty() ? position(f) : text(position(f), "; layers: ", single);
}

std::string families_markdown() {
  std::size_t types = 0;
  for (const Family& f : families()) types += f.types.size();
  std::string out = text(
      "# Families\n\nGenerated from the rows of families by `gnomon explain --families --markdown`; a test "
      "compares the "
      "two. gnomon knows ",
      types, " values of `model_type` in ", families().size(),
      " families. `explain` and `lint` read their `config.json`, and their GGUF files where an architecture "
      "is named. "
      "`inspect` runs those that name a format of weights.\n\n| family | model_type | position | layers | "
      "GGUF | "
      "`inspect` | compared with |\n|---|---|---|---|---|---|---|\n");
  for (const Family& f : families())
    out += text("| ", f.name, " | ", words(f.types), " | ", position(f), " | ", layers(f), " | ",
                words(f.gguf), " | ", runs_from(f), " | ", compared(f), " |\n");
  return out;
}

std::string families_json() {
  Json all = Json::array();
  for (const Family& f : families())
    all.push_back({{"family", f.name},
                   {"model_types", f.types},
                   {"own_code", f.own_code},
                   {"gguf", f.gguf},
                   {"position", position(f)},
                   {"layers", layers(f)},
                   {"inspect", runs(f)},
                   {"inspect_gguf", runs(f) && runs_gguf(f.name)},
                   {"compared_with", compared(f)}});
  return all.dump(1);
}

}  // namespace gnomon::pages
