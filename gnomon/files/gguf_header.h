#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/files/gguf.h"
#include "gnomon/files/kinds.h"
#include "gnomon/files/parts.h"

namespace gnomon {

// What a GGUF file says before its data (github.com/ggml-org/ggml, docs/gguf.md, and the checks of src/gguf.cpp), versions
// 2 and 3.
struct GgufHeader {
  struct Entry {
    std::string name;
    const NumberKind* kind;
    std::vector<std::int64_t> shape;  // the last index runs fastest: the reverse of the file's
    std::uint64_t begin, bytes;       // in the file
  };
  std::vector<Gguf::Entry> metadata;
  std::vector<Entry> entries;  // in the order of the file, which is that of their data
};

bool begins_as_gguf(const WeightFile& file);
// Reads nothing but the header. Throws Error(input), naming file, place, what was found and what is allowed, and
// Error(resource).
GgufHeader read_gguf_header(const WeightFile& file);

}  // namespace gnomon
