#include <algorithm>
#include <cmath>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/encoding.h"

namespace gnomon {

#define ENCODING(name) extern const Entry name##_entry;
#include "gnomon/encodings/list.def"
#undef ENCODING

std::span<const Entry* const> encodings() {
  static const Entry* const all[] = {
#define ENCODING(name) &name##_entry,
#include "gnomon/encodings/list.def"
#undef ENCODING
  };
  return all;
}

std::vector<Name> encoding_names() {
  std::vector<Name> names;
  for (const Entry* entry : encodings()) names.push_back({entry->name, entry->aliases});
  return names;
}

const Entry& find_encoding(std::string_view name) {
  for (const Entry* entry : encodings()) {
    if (entry->name == name) return *entry;
  }
  throw unknown("encoding", name, encoding_names(), kEncodingsLister);
}

const Shape& Shape::check() const {
  check_extents("shape", {{"C", C, 1, kMostWidth},
                          {"H", H, 1, kMostHeads},
                          {"D", D, 1, kMostWidth},
                          {"length", length, 1, kMostTokens}});
  check_extents("shape", {{"H·D", H * D, 1, 16 * kMostWidth}});
  return *this;
}

std::span<const std::string_view> sites() {
  static constexpr std::string_view names[] = {"input", "qk",   "logits", "cross",
                                               "value", "rows", "mask",   "positions"};
  return names;
}

std::string site_names(unsigned acts) {
  std::vector<std::string_view> present;
  for (unsigned bit = 0; bit < sites().size(); ++bit) {
    if (acts >> bit & 1) present.push_back(sites()[bit]);
  }
  return present.empty() ? "none" : join(present, ", ");
}

std::int64_t ParamSpec::size() const {
  std::int64_t n = 1;
  for (const auto extent : shape) n *= extent;
  return n;
}

Floats initial_numbers(std::span<const ParamSpec> params, std::uint64_t seed) {
  Floats w;
  for (const ParamSpec& p : params) {
    const Random random(seed, p.name);
    for (std::int64_t i = 0; i < p.size(); ++i)
      w.push_back(float(p.initial(i, p.deviation ? random.normal(std::uint64_t(i)) : 0)));
  }
  return w;
}

double ParamSpec::initial(std::int64_t index, double normal) const {
  return mean + deviation * normal + (start.empty() ? 0.0 : start[std::size_t(index)]);
}

std::int64_t Encoding::param_count() const {
  std::int64_t n = 0;
  for (const auto& param : params()) n += param.size();
  return n;
}

bool Encoding::keeps_keys() const {
  return !reads_content() && (!part<MapPart>(*this) || part<TurnPart>(*this));
}

Widths widths(const Encoding& encoding) {
  const auto* map = part<MapPart>(encoding);
  return map ? map->widths() : Widths{};
}

void make_over_distances(Terms& t, Floats& array, std::int64_t H, std::int64_t width) {
  if (t.distances == 0) {
    throw Error(Fault::usage, text("positions in a sequence are not whole numbers or lie too far apart; the "
                                   "encoding has one value per whole distance; allowed are fewer than ",
                                   kMostDistances, " distances between whole positions"));
  }
  array.resize(std::size_t(count_numbers("arrays over distances", {H, t.distances, width})));
}
void add_by_distance(Terms& t, std::int64_t H, const std::function<double(std::int64_t, std::int64_t)>& f) {
  make_over_distances(t, t.by_distance, H, 1);
  for (std::int64_t h = 0; h < H; ++h) {
    for (std::int64_t r = 0; r < t.distances; ++r)
      t.by_distance[h * t.distances + r] += float(f(h, t.first_distance + r));
  }
}

}  // namespace gnomon
