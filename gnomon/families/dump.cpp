#include "gnomon/families/dump.h"

#include <algorithm>

#include "gnomon/checkpoint/weights.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

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

Dump read_dump(const Path& path) {
  const Weights weights = Weights::open(path);
  Dump dump;
  for (const StoredTensor& tensor : weights.tensors()) {
    const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                    [&](const Known& k) { return k.name == tensor.name; });
    if (known == std::end(kKnown)) {
      dump.passed_over.push_back(tensor.name);
      continue;
    }
    const Floats numbers = weights.read(tensor);
    DumpedArray a{tensor.name, tensor.shape, {numbers.begin(), numbers.end()}, unit_of(tensor.stored)};
    take_off_ones(a, known->extents);
    dump.arrays.push_back(std::move(a));
  }
  if (!dump.arrays.empty()) return dump;
  std::vector<std::string_view> names;
  for (const Known& k : kKnown) names.push_back(k.name);
  throw Error(Fault::input, text(path.string(), ": none of its ", weights.tensors().size(),
                                 " tensors is of a dump; looked for are ", join(names, ", ")));
}

}  // namespace gnomon
