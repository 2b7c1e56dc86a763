#include "gnomon/pages/families.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/layers.h"
#include "gnomon/models/resolve/towers.h"
#include "gnomon/models/resolve/wrappers.h"
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
  if (f.decoder.in_objects()) return "as the types of its objects";
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
    case Method::table_t5:
      return "learned table and buckets of distances";
    case Method::deberta:
    case Method::deberta2:
      return "disentangled attention";
    case Method::profile:
      return "a bias of the content by distance";
    case Method::deepseek_v4:
      return "RoPE, compressed keys";
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
  if (f.decoder.present())
    parts.push_back(f.decoder.in_objects() && f.decoder.encoder_part.empty() ? "a decoder"
                                                                             : "encoder and decoder");
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

namespace {

std::string tower_rows_words(const TowerRow& t) {
  switch (t.table) {
    case TowerTable::none:
      return "";
    case TowerTable::patches:
    case TowerTable::counted:
    case TowerTable::grid:
      return "a learned row for each patch";
    case TowerTable::coordinates:
      return "a learned row for the column plus one for the row";
    case TowerTable::frames:
      return "a fixed row of the weights for each frame";
    case TowerTable::sines:
      return "sines for each frame";
  }
  return "";
}
std::string tower_position(const TowerRow& t) {
  const std::string rows = tower_rows_words(t);
  if (t.turn == TowerTurn::none) return rows;
  if (t.turn == TowerTurn::frames) return text("RoPE by frame, theta ", grouped(t.theta));
  return text(rows, rows.empty() ? "" : ", and ", "RoPE by ", t.turn == TowerTurn::thirds ? "time, " : "",
              "row and column, theta ", grouped(t.theta));
}
std::string other_sizes(const TowerRow& t) {
  if (t.table == TowerTable::none || t.table == TowerTable::coordinates) return "any";
  if (t.resized.empty()) return "refused";
  return text(t.resized, t.asked ? " if asked" : "");
}

std::vector<std::string_view> joined(std::vector<std::string_view> a,
                                     const std::vector<std::string_view>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// Towers for images and sound, of which the list of families says nothing.
std::string towers_markdown() {
  std::string out =
      "\n## Towers for images and sound\n\n`explain` tells what they do beside a language model, and alone. "
      "`towers_test` compares them "
      "with the classes of transformers 5.23 as they run.\n\n| model_type | position | images of another "
      "size | within |\n|---|---|---|---|\n";
  for (const TowerRow& t : tower_rows())
    out += text("| ", words(t.types), " | ", tower_position(t), " | ", other_sizes(t), " | ",
                words(joined(t.within, t.fixed)), " |\n");
  return out;
}

}  // namespace

std::size_t count_types() {
  std::size_t types = 0;
  for (const Family& f : families()) types += f.types.size() + larger_models(f).size();
  return types;
}
std::vector<std::string_view> larger_models(const Family& f) {
  std::vector<std::string_view> all;
  for (const Wrapper& wrapper : wrappers())
    if (std::find(f.types.begin(), f.types.end(), innermost(wrapper)) != f.types.end())
      all.insert(all.end(), wrapper.types.begin(), wrapper.types.end());
  return all;
}

std::string families_markdown() {
  std::string out = text(
      "# Families\n\nGenerated from the rows of families by `gnomon explain --families --markdown`; a test "
      "compares the "
      "two. gnomon knows ",
      count_types(), " values of `model_type` in ", families().size(),
      " families. `explain` and `lint` read their `config.json`, and their GGUF files where an architecture "
      "is named. "
      "`inspect` runs those that name a format of weights.\n\n| family | model_type | position | layers | "
      "GGUF | "
      "`inspect` | compared with |\n|---|---|---|---|---|---|---|\n");
  for (const Family& f : families())
    out += text("| ", f.name, " | ", words(f.types), " | ", position(f), " | ", layers(f), " | ",
                words(f.gguf), " | ", runs_from(f), " | ", compared(f), " |\n");
  out +=
      "\n## Larger models\n\nTheir file keeps that of a language model in an object. Where it has no such "
      "object, "
      "gnomon takes what the larger class fills in.\n\n| family of the language model | model_type "
      "|\n|---|---|\n";
  for (const Family& f : families())
    if (const auto larger = larger_models(f); !larger.empty())
      out += text("| ", f.name, " | ", words(larger), " |\n");
  return out + towers_markdown();
}

std::string families_json() {
  Json all = Json::array();
  for (const Family& f : families())
    all.push_back({{"family", f.name},
                   {"model_types", f.types},
                   {"larger_models", larger_models(f)},
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
