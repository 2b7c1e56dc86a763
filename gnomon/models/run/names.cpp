#include "gnomon/models/run/names.h"

#include <algorithm>
#include <array>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/run/name_tables.h"

namespace gnomon {
namespace {

struct Row {
  std::string_view family;
  Names (*names)(const Architecture&);
  InGguf gguf;
};
#define RUNS(family, names, block, gguf) Row{family, names_##names, InGguf::gguf},
constexpr Row kRunnable[] = {
#include "gnomon/models/run/runnable.def"
};
#undef RUNS
constexpr auto kFamilyNames = [] {
  std::array<std::string_view, std::size(kRunnable)> all;
  for (std::size_t n = 0; n < all.size(); ++n) all[n] = kRunnable[n].family;
  return all;
}();

bool matches(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view begins = pattern.substr(0, star), ends = pattern.substr(star + 1);
  return name.size() >= begins.size() + ends.size() && name.substr(0, begins.size()) == begins &&
         name.substr(name.size() - ends.size()) == ends;
}

constexpr std::string_view kLayerHere = "{}";
std::string with_layer(std::string name, std::string_view layer) {
  const auto at = name.find(kLayerHere);
  return at == std::string::npos ? name : name.replace(at, kLayerHere.size(), layer);
}
// What stands for "{}" in a name of this pattern; nothing where there is no "{}"; nullopt for another name.
std::optional<std::string_view> layer_in(std::string_view pattern, std::string_view name) {
  const auto at = pattern.find(kLayerHere);
  if (at == std::string_view::npos)
    return pattern == name ? std::optional<std::string_view>("") : std::nullopt;
  const std::string_view ends = pattern.substr(at + kLayerHere.size());
  if (name.size() <= at + ends.size() || !name.starts_with(pattern.substr(0, at)) || !name.ends_with(ends))
    return std::nullopt;
  const std::string_view layer = name.substr(at, name.size() - at - ends.size());
  const bool number = layer.find_first_not_of("0123456789") == std::string_view::npos;
  return number ? std::optional(layer) : std::nullopt;
}

}  // namespace

std::string_view Names::bare(std::string_view name) const {
  return name.substr(0, prefix.size()) == prefix ? name.substr(prefix.size()) : name;
}
bool Names::is_beside(std::string_view name) const {
  return std::any_of(beside.begin(), beside.end(),
                     [&](std::string_view pattern) { return matches(pattern, bare(name)); });
}

std::span<const std::string_view> runnable_families() { return kFamilyNames; }

bool runs_gguf(std::string_view family) {
  return std::any_of(std::begin(kRunnable), std::end(kRunnable),
                     [&](const Row& r) { return r.family == family && r.gguf != InGguf::none; });
}

Names names_of(std::string_view family, const Architecture& a, bool gguf) {
  const auto row = std::find_if(std::begin(kRunnable), std::end(kRunnable),
                                [&](const Row& r) { return r.family == family; });
  if (row == std::end(kRunnable)) {
    throw Error(Fault::input, text("gnomon explains the family ", excerpt(family),
                                   " but cannot run it; it runs: ", join(runnable_families(), ", ")));
  }
  if (!gguf) return row->names(a);
  if (row->gguf == InGguf::none)
    throw Error(Fault::input,
                text("gnomon explains GGUF files of the family ", family, " but cannot run them"));
  return names_gguf(a, family, row->gguf);
}

std::vector<std::int64_t> Piece::shape() const {
  std::vector<std::int64_t> all = ours->spec.shape;
  all[0] = rows + skipped;
  if (how == How::transposed || how == How::stacked_transposed || how == How::stacked_in_turn) {
    if (all.size() > 1) std::swap(all[0], all[1]);
  }
  if (how >= How::stacked) all.insert(all.begin(), parts);
  return all;
}
Piece Piece::as_rows() const {
  Piece piece = *this;
  if (how == How::transposed) piece.how = How::plain;
  if (how == How::stacked_transposed) piece.how = How::stacked;
  if (how == How::stacked_in_turn) piece.how = How::stacked_rows_in_turn;
  return piece;
}
std::int64_t Piece::size() const { return parts * rows * (ours->spec.size() / ours->spec.shape[0]); }
std::int64_t Piece::place(std::int64_t n, const AttentionRule& attention) const {
  const std::int64_t columns = ours->spec.size() / ours->spec.shape[0],
                     begin = ours->offset + first * columns;
  switch (how) {
    case How::plain:
      return begin + n;
    case How::transposed:
      return begin + n % rows * columns + n / rows;
    case How::of_heads: {
      const std::int64_t D = attention.head_dim, group = attention.heads / attention.kv_heads,
                         head = n / columns / D, shared = head / (group + 2), part = head % (group + 2);
      const std::int64_t to = part < group    ? shared * group + part
                              : part == group ? attention.heads + shared
                                              : attention.heads + attention.kv_heads + shared;
      return begin + (to * D + n / columns % D) * columns + n % columns;
    }
    default:
      break;
  }
  const std::int64_t part = n / (rows * columns), per_part = ours->spec.shape[0] / parts * columns;
  const std::int64_t inside = n % (rows * columns);
  const auto in_turn = [&](std::int64_t row) { return row % 2 * (rows / 2) + row / 2; };
  if (how == How::stacked) return begin + part * per_part + inside;
  if (how == How::stacked_rows_in_turn)
    return begin + part * per_part + in_turn(inside / columns) * columns + inside % columns;
  const std::int64_t row = inside % rows, to = how == How::stacked_in_turn ? in_turn(row) : row;
  return begin + part * per_part + to * columns + inside / rows;
}

namespace {

// Every name of what becomes rows of `param`, in the order of the rows.
std::vector<Piece> pieces_of(const Names& names, const Param& param, std::int64_t skipped) {
  std::vector<Piece> pieces;
  const bool own = std::any_of(names.sources.begin(), names.sources.end(),
                               [&](const Source& s) { return s.ours == param.spec.name; });
  for (const Source& s : names.sources) {
    if (own && s.ours != param.spec.name) continue;
    const auto layer = layer_in(s.ours, param.spec.name);
    if (!layer) continue;
    const auto same =
        std::find_if(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.first == s.first; });
    Piece& piece = same != pieces.end()
                       ? *same
                       : pieces.emplace_back(Piece{&param, {}, s.first, 0, s.how, s.parts, skipped});
    const std::string theirs = with_layer(s.theirs, *layer), bare(names.bare(theirs));
    piece.theirs.push_back(theirs);
    if (bare != theirs) piece.theirs.push_back(bare);
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.first < b.first; });
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    const std::int64_t end =
        n + 1 < pieces.size() ? pieces[n + 1].first : param.spec.shape[0] / pieces[n].parts;
    pieces[n].rows = end - pieces[n].first;
  }
  return pieces;
}

}  // namespace

std::vector<Piece> pieces_of(const Names& names, const Model& model, std::int64_t table_first) {
  std::vector<Piece> all;
  for (const Param& param : model.params()) {
    const std::int64_t skipped = param.spec.name == "position.input.table" ? table_first : 0;
    const auto pieces = pieces_of(names, param, skipped);
    const bool zero = std::any_of(names.zero.begin(), names.zero.end(), [&](const std::string& pattern) {
      return layer_in(pattern, param.spec.name).has_value();
    });
    if (zero) continue;
    if (pieces.empty() || pieces.front().first != 0) {
      throw Error(Fault::input, text("gnomon does not know the name of the parameter ", param.spec.name,
                                     " in this family, so it explains the model but cannot run it"));
    }
    all.insert(all.end(), pieces.begin(), pieces.end());
  }
  return all;
}

}  // namespace gnomon
