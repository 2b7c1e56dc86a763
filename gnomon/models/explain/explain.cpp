#include "gnomon/models/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/encodings/rotary.h"
#include "gnomon/spec/scheme.h"

namespace gnomon {
namespace {

Shape shape_of(const LayerPosition& p) { return {p.heads * p.head_dim, p.heads, p.head_dim, 1, p.causal}; }

const Named* named(const LayerPosition& p, std::string_view name) {
  for (const Named& n : p.spec.attention)
    if (n.name == name) return &n;
  return nullptr;
}

std::vector<std::int64_t> lengths_of(const Resolved& m) {
  const std::int64_t T = m.trained_length > 0 ? m.trained_length : m.longest > 0 ? m.longest : kNoLength;
  std::vector<std::int64_t> all = {T, 2 * T, 4 * T};
  if (m.longest > T && m.longest != 2 * T && m.longest != 4 * T) all.push_back(m.longest);
  std::sort(all.begin(), all.end());
  return all;
}

std::string kind_of(const LayerPosition& p) {
  if (!p.mixer.empty()) return p.mixer;
  std::string kind;
  for (const Named& n : p.spec.attention) {
    const unsigned acts = find_encoding(n.name).acts;
    const bool turns = (acts & kQk) && n.option("theta");
    const char* word = turns            ? "rotary"
                       : acts & kQk     ? "temperature"
                       : acts & kCross  ? "relative"
                       : acts & kLogits ? "bias"
                                        : "";
    if (*word) kind += (kind.empty() ? "" : "+") + std::string(word);
  }
  return kind.empty() ? "none" : kind;
}

// The table that gives every bucket its own number tells them apart; they follow each other as distances do.
std::vector<SharedBucket> buckets_of(const LayerPosition& p) {
  const Named* t5 = named(p, "t5");
  if (!t5) return {};
  const auto encoding = make_encoding(*t5, {p.head_dim, 1, p.head_dim, 1, p.causal});
  std::vector<double> w(std::size_t(encoding->param_count()));
  std::iota(w.begin(), w.end(), 0.0);
  const auto bucket = [&](std::int64_t distance) {
    const double places[] = {0, double(distance)};
    return std::int64_t(part<BiasPart>(*encoding)->bias(Scene{places, {}, {}, w}, 0, 1, 0));
  };
  const auto most = std::int64_t(t5->number("distance"));
  std::vector<SharedBucket> all;
  for (std::int64_t first = 0; first <= most; first = all.back().last + 1) {
    std::int64_t last = first, beyond = most + 1;  // by halves: the last distance of this bucket
    while (last + 1 < beyond) {
      const std::int64_t middle = last + (beyond - last) / 2;
      (bucket(middle) == bucket(first) ? last : beyond) = middle;
    }
    all.push_back({bucket(first), first, last});
  }
  all.back().last = -1;
  return all;
}

// Of the pairs of a query and a key that is not after it.
double share_from(std::int64_t distance, std::int64_t length) {
  const double n = double(std::max<std::int64_t>(0, length - distance));
  return n * (n + 1) / (double(length) * double(length + 1));
}

std::vector<double> plain_frequencies(const LayerGroup& g, const Numbers& now) {
  return g.theta && now.rotary_dim >= 2 ? geometric_frequencies(*g.theta, now.rotary_dim)
                                        : std::vector<double>();
}

LayerGroup group_of(const LayerPosition& p, const std::vector<std::int64_t>& lengths) {
  LayerGroup g{{}, p, kind_of(p), {}, {}, buckets_of(p), {}};
  for (const Named& n : p.spec.attention) {
    if (n.name == "window" || n.name == "chunk") g.window = std::int64_t(n.number("size"));
    if (find_encoding(n.name).acts & kQk && !g.theta && n.option("theta")) g.theta = n.number("theta");
  }
  for (const std::int64_t length : lengths) {
    AtLength at{length, numbers_of(p, double(length))};
    at.temperature = temperature_at(p, length);
    at.beyond_training = pairs_beyond_training(g, at.numbers, lengths.front(), length);
    if (!g.buckets.empty()) at.last_bucket = share_from(g.buckets.back().first, length);
    g.at.push_back(std::move(at));
  }
  return g;
}

std::optional<KeyCacheSize> cache_of(const Explanation& e) {
  KeyCacheSize size{0, 0, std::vector<std::int64_t>(e.lengths.size())};
  double per_token = 0, beyond = 0;
  for (const LayerGroup& g : e.groups) {
    const LayerPosition& p = g.position;
    if (!p.causal || p.component == "encoder" || p.component == "indexer" || !p.mixer.empty() ||
        p.kept.elsewhere)
      continue;
    const std::int64_t layers = std::int64_t(g.layers.size());
    const std::int64_t values = p.kept.shared ? 0 : p.value_dim ? p.value_dim : p.head_dim;
    const std::int64_t kept = p.kept.latent ? p.kept.latent : p.kv_heads * (p.head_dim + values);
    const std::int64_t bytes = 2 * kept * layers;
    const std::int64_t of_block = 2 * p.kept.channels * layers;
    const std::int64_t window = g.window.value_or(p.kept.window);  // 0: none
    const double later = p.kept.block ? double(of_block) / double(p.kept.block) : 0;
    per_token += double(bytes) + later;
    beyond += later + (window ? 0 : double(bytes));
    for (std::size_t n = 0; n < e.lengths.size(); ++n) {
      const std::int64_t length = e.lengths[n];
      size.at[n] += bytes * (window ? std::min(length, window) : length);
      if (p.kept.block) size.at[n] += of_block * (length / p.kept.block);
    }
  }
  size.per_token = std::llround(per_token), size.beyond_windows = std::llround(beyond);
  if (size.per_token == 0) return std::nullopt;
  return size;
}

std::optional<std::int64_t> end_of_input(const Resolved& m) {
  if (!m.input.input) return std::nullopt;
  const std::int64_t width = std::max<std::int64_t>(1, m.width);
  return make_encoding(*m.input.input, {width, 1, width, std::max<std::int64_t>(1, m.longest), m.causal})
      ->positions_end();
}

}  // namespace

std::vector<double> plain_frequencies(const LayerGroup& g) { return plain_frequencies(g, g.numbers()); }

std::int64_t pairs_beyond_training(const LayerGroup& g, const Numbers& now, std::int64_t trained,
                                   std::int64_t length) {
  const auto plain = plain_frequencies(g, now);
  std::int64_t count = 0;
  for (std::size_t n = 0; n < std::min(plain.size(), now.inv_freq.size()); ++n) {
    const double seen = double(g.span(trained)) * plain[n],
                 reached = double(g.span(length)) * now.inv_freq[n];
    count += seen - plain[n] < 2 * std::numbers::pi && reached > seen * (1 + 1e-9);
  }
  return count;
}

double temperature_at(const LayerPosition& p, std::int64_t length) {
  double factor = 1;
  for (const Named& n : p.spec.attention) {
    const auto encoding = make_encoding(n, shape_of(p));
    const MapPart* map = part<MapPart>(*encoding);
    if (!map || part<TurnPart>(*encoding) || encoding->param_count() || encoding->reads()) continue;
    const double places[] = {0, double(length - 1)};
    std::vector<double> row(std::size_t(p.head_dim), 1.0);
    map->map_row(Scene{places, {}, {}, {}}, Role::q, 0, 1, row);
    double squares = 0;
    for (const double x : row) squares += x * x;
    factor *= std::sqrt(squares / double(p.head_dim));
  }
  return factor;
}

Explanation explain(Resolved model, const std::string& where, bool gguf) try {
  Explanation e{where, gguf, std::move(model), {}, {}, {}, {}};
  e.lengths = lengths_of(e.model);
  e.positions_end = end_of_input(e.model);
  for (const LayerPosition& p : e.model.layers) {
    auto group = std::find_if(e.groups.begin(), e.groups.end(),
                              [&](const LayerGroup& g) { return g.position.same(p); });
    if (group == e.groups.end()) group = e.groups.insert(group, group_of(p, e.lengths));
    group->layers.push_back(p.number);
  }
  e.cache = cache_of(e);
  return e;
} catch (const Error& error) {
  if (error.fault() != Fault::usage) throw;
  throw Error(Fault::input, text(where, ": ", error.what()));
}

Reader reader_named(std::string_view name, const Config& config) {
  if (name.empty()) return config.gguf() ? Reader::llama_cpp : Reader::v5;
  const auto names = reader_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw unknown("reader", name, names);
  return Reader(found - names.begin());
}

Explanation explain(const Config& config, Reader reader) {
  return explain(resolve(config, reader), config.where(), config.gguf());
}

}  // namespace gnomon
