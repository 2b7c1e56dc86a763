#include "gnomon/models/check/dump.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/weights.h"

namespace gnomon {
namespace {

// The names, and how many extents an array of that name has: a batch of 1 before them is taken off.
struct Known {
  std::string_view name;
  std::size_t extents;
};
constexpr Known kKnown[] = {{"q_before", 3}, {"q_after", 3}, {"k_before", 3}, {"k_after", 3},
                            {"cos", 2},      {"sin", 2},     {"inv_freq", 1}, {"bias", 3},
                            {"slopes", 1},   {"table", 2},   {"positions", 1}};

const Known* known_as(std::string_view name) {
  const auto known =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.name == name; });
  return known == std::end(kKnown) ? nullptr : known;
}
double unit_of(std::string_view stored) {
  if (stored == "BF16") return 0x1p-8;
  return stored == "F16" ? 0x1p-11 : 0x1p-24;
}

// Extents of 1 at the front are a batch; slopes and the like may have them at the end.
void take_off_ones(DumpedArray& a, std::size_t extents) {
  while (a.shape.size() > extents && a.shape.front() == 1) a.shape.erase(a.shape.begin());
  while (a.shape.size() > extents && extents == 1 && a.shape.back() == 1) a.shape.pop_back();
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
  for (DumpedArray& a : arrays) {
    if (const Known* known = known_as(a.name)) {
      take_off_ones(a, known->extents);
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
