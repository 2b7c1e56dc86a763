#include "gnomon/models/explain/tower_differences.h"

#include <algorithm>
#include <map>
#include <set>

#include "gnomon/core/text.h"
#include "gnomon/models/resolve/numbers.h"

namespace gnomon {
namespace {

using Towers = std::map<std::string, const Tower*>;
Towers by_part(const Explanation& e) {
  Towers all;
  for (const Tower& t : e.model.towers) all[t.part.empty() ? "tower" : t.part] = &t;
  return all;
}

// What is added to the patches or frames, and what becomes of it in an image of another size.
std::string vectors(const Tower& t) {
  if (t.rows == 0) return "none";
  return text(t.by_coordinates ? text("two tables of ", t.rows, " rows") : t.input.print(),
              ", the first in row ", t.first,
              t.grid_rows ? text(", ", t.grid_rows, " x ", t.grid_columns, " patches") : "",
              t.resized.empty() ? "" : text(", other sizes ", t.resized, t.asked ? " if asked" : ""));
}
// Which channels turn together, by which coordinate, and where that begins.
std::string turns(const Tower& t, const std::vector<TurnedPair>& pairs) {
  if (pairs.empty()) return "none";
  return text(Spec{{"add", {}}, {}, t.position.spec.attention, {}, {}}.print(), " by ",
              join(std::vector<std::string_view>(t.axes.begin(), t.axes.end()), " and "),
              t.coordinates.empty() ? "" : text(", ", t.coordinates),
              t.unit.empty() ? "" : text(", ", t.unit));
}
bool same_channels(const Tower& x, const Tower& y, const std::vector<TurnedPair>& p,
                   const std::vector<TurnedPair>& q) {
  const auto axis = [](const Tower& t, const TurnedPair& pair) {
    return std::size_t(pair.axis) < t.axes.size() ? t.axes[std::size_t(pair.axis)] : text(pair.axis);
  };
  return x.coordinates == y.coordinates && x.unit == y.unit &&
         std::equal(p.begin(), p.end(), q.begin(), q.end(), [&](const TurnedPair& s, const TurnedPair& t) {
           return s.low == t.low && s.high == t.high && axis(x, s) == axis(y, t);
         });
}

class Pair {
 public:
  Pair(std::string part, const Tower& x, const Tower& y) : part_(std::move(part)), x_(x), y_(y) {}
  std::vector<Difference> differences() {
    whole(Quantity::layers, x_.layers, y_.layers);
    whole(Quantity::heads, x_.position.heads, y_.position.heads);
    const bool all = x_.position.kv_heads == x_.position.heads && y_.position.kv_heads == y_.position.heads;
    if (!all) whole(Quantity::kv_heads, x_.position.kv_heads, y_.position.kv_heads);
    whole(Quantity::head_dim, x_.position.head_dim, y_.position.head_dim);
    words(Quantity::position_vectors, vectors(x_), vectors(y_));
    words(Quantity::window, x_.window.empty() ? "none" : x_.window, y_.window.empty() ? "none" : y_.window);
    rotation();
    return std::move(found_);
  }

 private:
  void words(Quantity what, const std::string& x, const std::string& y, double ratio = 0) {
    if (x != y) found_.push_back({part_, {}, what, x, y, ratio});
  }
  void whole(Quantity what, std::int64_t x, std::int64_t y) { words(what, text(x), text(y)); }
  void rotation() {
    const auto p = pairs_of(x_.position), q = pairs_of(y_.position);
    if (!same_channels(x_, y_, p, q)) return words(Quantity::rotation, turns(x_, p), turns(y_, q));
    double most = kSameRatio;
    std::size_t at = p.size();
    for (std::size_t n = 0; n < p.size(); ++n) {
      const double one = p[n].frequency, other = q[n].frequency;
      const double ratio = one == other ? 1 : std::max(one / other, other / one);
      if (ratio > most) most = ratio, at = n;
    }
    if (at < p.size())
      words(Quantity::frequencies, text(p[at].frequency, " of pair ", at), text(q[at].frequency), most);
  }

  const std::string part_;
  const Tower &x_, &y_;
  std::vector<Difference> found_;
};

}  // namespace

Differences tower_differences(const Explanation& a, const Explanation& b) {
  Differences out;
  const Towers left = by_part(a), right = by_part(b);
  if (a.gguf || b.gguf) {
    if (!left.empty() || !right.empty())
      out.notes.push_back("A GGUF file has the language model alone: towers are not compared.");
    return out;
  }
  std::set<std::string> parts;
  for (const Towers* all : {&left, &right})
    for (const auto& [part, tower] : *all) parts.insert(part);
  for (const std::string& part : parts) {
    const Tower* x = left.count(part) ? left.at(part) : nullptr;
    const Tower* y = right.count(part) ? right.at(part) : nullptr;
    if (x && y && x->known && y->known) {
      for (Difference& d : Pair(part, *x, *y).differences()) out.computed.push_back(std::move(d));
    } else if (!x || !y || x->type != y->type) {
      out.computed.push_back({part, {}, Quantity::tower, x ? x->type : "none", y ? y->type : "none"});
    } else {
      out.notes.push_back(text("gnomon does not know the tower ", x->type, " under ", part,
                               " and does not compare what it does with position."));
    }
  }
  return out;
}

}  // namespace gnomon
