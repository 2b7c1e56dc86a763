#include "gnomon/models/run/names.h"

#include <algorithm>
#include <array>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/models/run/name_tables.h"

namespace gnomon {
namespace {

enum class InGguf { none, split, fused };
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

std::string with_layer(std::string name, std::int64_t l) {
  const auto at = name.find("{}");
  return at == std::string::npos ? name : name.replace(at, 2, std::to_string(l));
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
  return names_gguf(a, row->gguf == InGguf::fused);
}

std::vector<std::int64_t> Piece::shape() const {
  std::vector<std::int64_t> all = ours->spec.shape;
  all[0] = rows + skipped;
  if (how == How::transposed) std::swap(all[0], all[1]);
  return all;
}
std::int64_t Piece::place(std::int64_t n, const AttentionRule& attention) const {
  const std::int64_t columns = ours->spec.size() / ours->spec.shape[0],
                     begin = ours->offset + first * columns;
  if (how == How::plain) return begin + n;
  if (how == How::transposed) return begin + n % rows * columns + n / rows;
  const std::int64_t row = n / columns, D = attention.head_dim, h = row / (3 * D), part = row / D % 3;
  return begin + ((part * attention.heads + h) * D + row % D) * columns + n % columns;
}

namespace {

// Every name of what becomes rows of `param`, in the order of the rows.
std::vector<Piece> pieces_of(const Names& names, const Param& param, std::int64_t layers,
                             std::int64_t skipped) {
  std::vector<Piece> pieces;
  for (const Source& s : names.sources) {
    const bool layered = s.ours.find("{}") != std::string::npos;
    for (std::int64_t l = 0; l < (layered ? layers : 1); ++l) {
      if (with_layer(s.ours, l) != param.spec.name) continue;
      const auto same =
          std::find_if(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.first == s.first; });
      Piece& piece =
          same != pieces.end() ? *same : pieces.emplace_back(Piece{&param, {}, s.first, 0, s.how, skipped});
      const std::string theirs = with_layer(s.theirs, l), bare(names.bare(theirs));
      piece.theirs.push_back(theirs);
      if (bare != theirs) piece.theirs.push_back(bare);
    }
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.first < b.first; });
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    const std::int64_t end = n + 1 < pieces.size() ? pieces[n + 1].first : param.spec.shape[0];
    pieces[n].rows = end - pieces[n].first;
  }
  return pieces;
}

}  // namespace

std::vector<Piece> pieces_of(const Names& names, const Model& model, std::int64_t table_first) {
  std::vector<Piece> all;
  for (const Param& param : model.params()) {
    const std::int64_t skipped = param.spec.name == "position.input.table" ? table_first : 0;
    const auto pieces = pieces_of(names, param, model.architecture().layers, skipped);
    if (pieces.empty() || pieces.front().first != 0) {
      throw Error(Fault::input, text("gnomon does not know the name of the parameter ", param.spec.name,
                                     " in this family, so it explains the model but cannot run it"));
    }
    all.insert(all.end(), pieces.begin(), pieces.end());
  }
  return all;
}

}  // namespace gnomon
