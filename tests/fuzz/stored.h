// What the targets of files of weights share.
#pragma once
#include <cstring>
#include <optional>

#include "gnomon/core/error.h"
#include "gnomon/files/kinds.h"
#include "gnomon/files/weights.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {

inline std::optional<Weights> opened(const Path& path) {
  try {
    return Weights::open(path);
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is malformed input, and nothing else");
    return std::nullopt;
  }
}

inline bool same(const float* a, const float* b, std::size_t n) {
  return n == 0 || std::memcmp(a, b, n * sizeof *a) == 0;
}

inline void read_all(const Weights& weights) {
  for (const StoredTensor& t : weights.tensors()) {
    require(&weights.at(t.name) == &t, "a tensor is found by its name");
    const NumberKind* kind = find_kind(t.stored);
    require(kind != nullptr, "a tensor is of a known kind");
    if (!kind->widen) continue;
    const Floats all = weights.read(t);
    require(all.size() == std::size_t(t.size()), "there are as many numbers as the shape says");
    if (t.shape.empty() || t.shape[0] == 0) continue;
    const std::int64_t first = t.shape[0] / 2, width = t.size() / t.shape[0];
    const Floats rows = weights.read_rows(t, first, t.shape[0] - first);
    require(rows.size() == std::size_t((t.shape[0] - first) * width) &&
                same(rows.data(), all.data() + first * width, rows.size()),
            "rows are those of the whole");
  }
}

}  // namespace gnomon::fuzz
