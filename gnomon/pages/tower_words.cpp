#include "gnomon/pages/tower_words.h"

#include <algorithm>
#include <utility>

#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"

namespace gnomon::pages {
namespace {

std::string grid(const Tower& t) { return text(t.grid_rows, " x ", t.grid_columns); }
std::string beside(const Tower& t) {
  return t.beside == 0   ? ""
         : t.beside == 1 ? " and to the class token"
                         : text(" and to ", t.beside, " tokens that are none");
}

std::string vectors_text(const Tower& t) {
  if (t.by_coordinates)
    return text("To each patch it adds a learned row for its column and one for its row, of ",
                grouped(double(t.rows)), " each.");
  if (!t.input.input) return "";
  if (t.sound)
    return text("It adds ", t.input.input->name == "learned" ? "a fixed row of its weights" : "sines",
                " to each of ", grouped(double(t.rows)), " frames.");
  const bool fits = t.resized.empty() || t.asked;
  return text("It adds a learned row to each of ", grid(t), " patches", beside(t),
              fits ? "" : ", resampled to the grid of each image", ".");
}

std::string turns_text(const Tower& t) {
  const auto pairs = pairs_of(t.position);
  if (pairs.empty()) return "";
  const bool by_time = std::any_of(
      pairs.begin(), pairs.end(), [&](const TurnedPair& p) { return t.axes[std::size_t(p.axis)] == "time"; });
  double theta = 0;
  for (const Named& named : t.position.spec.attention) theta = named.number("theta");
  return text("Its layers ", t.mixers.empty() ? "" : "with attention ", "rotate ",
              2 * std::int64_t(pairs.size()) == t.position.head_dim ? "all " : text(2 * pairs.size(), " of "),
              t.position.head_dim, " channels of q and k by ",
              t.sound   ? "the frame"
              : by_time ? "the frame, the row and the column of a patch"
                        : "the row and the column of a patch",
              ", theta ", grouped(theta), ".");
}

std::string pair_text(const Tower& t) {
  const auto pairs = pairs_of(t.position);
  const std::int64_t apart = pairs.front().high - pairs.front().low;
  if (apart == 1 && t.position.head_dim > 2) return text(pairs.size(), ", channel 2c with 2c + 1 (adjacent)");
  const bool blocks = apart < std::int64_t(pairs.size());
  return text(pairs.size(), ", channel c with c + ", apart,
              blocks ? " (halves within each axis)" : " (halves)");
}

std::string frequencies(const std::vector<TurnedPair>& pairs, bool full) {
  const auto one = [&](const TurnedPair& p) { return full ? shortest(p.frequency) : text(p.frequency); };
  if (!full && pairs.size() > 4) return text(one(pairs[0]), ", ", one(pairs[1]), " ... ", one(pairs.back()));
  std::string all;
  for (const TurnedPair& p : pairs) all += (all.empty() ? "" : ", ") + one(p);
  return all;
}

}  // namespace

std::string tower_name(const Tower& t) {
  const std::string_view where = t.part.empty() ? t.component : t.part;
  return text(where, where.empty() ? "" : ": ", t.type,
              t.known ? text(", ", counted(std::size_t(t.layers), "layer")) : "");
}

std::string tower_answer(const Tower& t) {
  const std::string where = !t.component.empty() ? text("The ", t.component, " (", t.type, ")")
                            : t.part.empty()     ? t.type
                                                 : text(t.part, " (", t.type, ")");
  if (!t.known)
    return t.wrong.empty() ? text("gnomon does not know the tower ", where, ", and says nothing of it.")
                           : text("gnomon cannot read the tower ", where, ": ", t.wrong);
  std::string all = text(where, " is a tower of ", counted(std::size_t(t.layers), "layer"), " for ",
                         t.sound ? "sound" : "images", ".");
  for (const std::string& more : {vectors_text(t), turns_text(t)})
    if (!more.empty()) all += " " + more;
  return all;
}

std::string resized_text(const Tower& t) {
  if (t.by_coordinates) return "transformers 5.23 takes the rows of any image within them";
  if (!t.input.input) return "";
  if (t.sound) return "transformers 5.23 refuses sound of another length";
  if (t.resized.empty()) return "transformers 5.23 refuses an image of another size";
  if (t.asked)
    return text(
        "transformers 5.23 refuses an image of another size; with interpolate_pos_encoding=True it resamples "
        "the rows (",
        t.resized, ")");
  return text("transformers 5.23 resamples the rows to the grid of each image (", t.resized, ")");
}

Spec tower_spec(const Tower& t) {
  Spec spec = t.input;
  spec.attention = t.position.spec.attention;
  return spec;
}

std::vector<TowerAxis> tower_axes(const Tower& t) {
  std::vector<TowerAxis> all;
  for (const TurnedPair& pair : pairs_of(t.position)) {
    const std::string& name = t.axes[std::size_t(pair.axis)];
    auto axis = std::find_if(all.begin(), all.end(), [&](const TowerAxis& a) { return a.name == name; });
    if (axis == all.end()) axis = all.insert(all.end(), {name, {}});
    axis->pairs.push_back(pair);
  }
  return all;
}

std::vector<Line> tower_lines(const Tower& t, bool full) {
  std::vector<Line> out;
  if (!t.known) return out;
  out.push_back({"spec", tower_spec(t).print()});
  const LayerPosition& p = t.position;
  out.push_back(
      {"heads", text(p.heads, " of ", p.head_dim, " channels",
                     p.kv_heads == p.heads ? "" : ", " + counted(std::size_t(p.kv_heads), "KV head"))});
  if (t.grid_rows)
    out.push_back({"grid", text(grid(t), t.rows ? " patches" : " patches of an image as the file says")});
  if (t.rows)
    out.push_back({"table", text(t.by_coordinates ? "two of " : "", counted(std::size_t(t.rows), "row"),
                                 t.first ? text("; the first patch has row ", t.first) : "")});
  if (t.without)
    out.push_back({"registers", text(counted(std::size_t(t.without), "token"), " without a position")});
  if (const std::string says = resized_text(t); !says.empty()) out.push_back({"other sizes", says});
  const auto axes = tower_axes(t);
  for (const TowerAxis& axis : axes)
    out.push_back({text("by ", axis.name),
                   text(frequencies(axis.pairs, full), ": ", axis.pairs.size(), ", in radians per ",
                        axis.name == "time" || t.sound ? "frame"
                        : t.unit.empty()               ? "patch"
                                                       : t.unit)});
  if (!axes.empty()) out.push_back({"pairs", pair_text(t)});
  if (!t.coordinates.empty()) out.push_back({"coordinates", t.coordinates});
  if (!t.window.empty()) out.push_back({"window", t.window});
  bool first = true;
  for (const auto* because : {&t.because, &t.position.because})
    for (const Because& b : *because)
      out.push_back({std::exchange(first, false) ? "from" : "",
                     text(b.what, " = ", b.value, ": ", b.key.empty() ? "" : b.key + "; ", b.rule)});
  return out;
}

}  // namespace gnomon::pages
