#include "gnomon/models/check/dump.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/half.h"
#include "gnomon/core/text.h"
#include "gnomon/files/weights.h"

namespace gnomon {
namespace {

// The names, and how many extents an array of that name has: a batch of 1 before them is taken off.
struct Known {
  std::string_view name;
  std::size_t extents;
};
constexpr Known kKnown[] = {{"q_before", 3}, {"q_after", 3},  {"k_before", 3},  {"k_after", 3},  {"cos", 2},
                            {"sin", 2},      {"inv_freq", 1}, {"bias", 3},      {"slopes", 1},   {"table", 2},
                            {"mask", 3},     {"weights", 3},  {"positions", 1}, {"documents", 1}};

const Known* known_as(std::string_view name) {
  const auto known =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.name == name; });
  return known == std::end(kKnown) ? nullptr : known;
}
double unit_of(std::string_view stored) {
  if (stored == "BF16") return 0x1p-8;
  return stored == "F16" ? 0x1p-11 : 0x1p-24;
}

// What stands before the extents that count is a batch, of which the first sequence is kept; slopes and the like may have
// extents of 1 at the end. Positions may have streams.
void take_first(DumpedArray& a, std::size_t extents, std::int64_t batch) {
  const bool positions = a.name == "positions";
  // Two extents of positions are a batch and tokens, or streams and tokens.
  bool streams = positions && a.shape.size() >= 2 && a.shape[a.shape.size() - 2] != batch;
  if (positions && a.shape.size() == 3 && a.shape[0] > 1) {  // (streams, batch, tokens)
    const auto S = std::size_t(a.shape[0]), B = std::size_t(a.shape[1]), T = std::size_t(a.shape[2]);
    Floats first;
    for (std::size_t s = 0; s < S; ++s)
      for (std::size_t t = 0; t < T && B > 0; ++t) first.push_back(a.values[s * B * T + t]);
    a.shape = {a.shape[0], a.shape[2]}, a.values = std::move(first), streams = true;
  }
  if (streams) ++extents;
  while (a.shape.size() > extents && extents == 1 && a.shape.back() == 1) a.shape.pop_back();
  while (a.shape.size() > extents) {
    if (a.shape.front() > 1) a.values.resize(a.values.size() / std::size_t(a.shape.front()));
    a.shape.erase(a.shape.begin());
  }
}

// Sequences in the dump, by arrays that have heads.
std::int64_t batch_of(const std::vector<DumpedArray>& arrays) {
  for (const DumpedArray& a : arrays)
    if (const Known* known = known_as(a.name); known && known->extents == 3 && a.shape.size() == 4)
      return a.shape[0];
  return 1;
}

// The type that the numbers have, whatever they are stored as: programs often widen what they save.
double unit_of(const DumpedArray& a) {
  if (a.values.empty()) return a.unit;
  const auto all = [&](const auto& keeps) { return std::all_of(a.values.begin(), a.values.end(), keeps); };
  if (all([](float x) { return float(BFloat16(x)) == x; })) return std::max(a.unit, 0x1p-8);
  if (all([](float x) { return float(Float16(x)) == x; })) return std::max(a.unit, 0x1p-11);
  return a.unit;
}

}  // namespace

const DumpedArray* Dump::find(std::string_view name) const {
  const auto at =
      std::find_if(arrays.begin(), arrays.end(), [&](const DumpedArray& a) { return a.name == name; });
  return at == arrays.end() ? nullptr : &*at;
}

Dump dump_of(std::vector<DumpedArray> arrays, const std::string& where) {
  Dump dump;
  const std::size_t given = arrays.size();
  const std::int64_t batch = batch_of(arrays);
  for (DumpedArray& a : arrays) {
    if (const Known* known = known_as(a.name)) {
      take_first(a, known->extents, batch);
      if (a.name.ends_with("_after") || a.name == "cos" || a.name == "sin") a.unit = unit_of(a);
      dump.arrays.push_back(std::move(a));
    } else {
      dump.passed_over.push_back(a.name);
    }
  }
  if (!dump.arrays.empty()) return dump;
  std::vector<std::string_view> names;
  for (const Known& k : kKnown) names.push_back(k.name);
  throw Error(Fault::input,
              text(where, ": none of its ", given, " tensors has a name that a dump uses; known names are ",
                   join(names, ", ")));
}

namespace {

// A model's settings, where numbers of an engine are asked for.
void refuse_settings(const Path& path) {
  const bool folder = std::filesystem::is_directory(path);
  if (path.extension() != ".json" && path.extension() != ".gguf" && !folder) return;
  throw Error(
      Fault::input,
      text(path.string(), ": found a ", folder ? "folder" : "model's file",
           "; allowed is a .safetensors file of numbers that an engine computed, such as q_before and "
           "q_after, cos and sin, or inv_freq. For a model's settings use `gnomon lint` or `gnomon "
           "explain`"));
}

}  // namespace

Dump read_dump(const Path& path) {
  refuse_settings(path);
  const Weights weights = Weights::open(path);
  std::vector<DumpedArray> arrays;
  for (const StoredTensor& tensor : weights.tensors()) {
    arrays.push_back({tensor.name, {}, {}, unit_of(tensor.stored)});
    if (!known_as(tensor.name)) continue;  // it is only named
    arrays.back().shape = tensor.shape;
    arrays.back().values = weights.read(tensor);
  }
  return dump_of(std::move(arrays), path.string());
}

}  // namespace gnomon
