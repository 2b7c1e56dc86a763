#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gnomon/files/kinds.h"
#include "gnomon/files/parts.h"

namespace gnomon {

// What a safetensors file says of its tensors (github.com/huggingface/safetensors, README "Format", and the checks of
// safetensors/src/tensor.rs, `Metadata::validate`).
struct SafetensorsHeader {
  struct Entry {
    std::string name;
    const NumberKind* kind;
    std::vector<std::int64_t> shape;
    std::uint64_t begin, end;  // bytes of the data
  };
  std::vector<Entry> entries;  // in the order of their data, which they fill without gaps
  std::map<std::string, std::string> metadata;
  std::uint64_t data;  // where the data begin in the file; they end with it
};

constexpr const char* kMetadataName = "__metadata__";  // of no tensor

// Reads nothing but the header. Throws Error(input), naming file, place, what was found and what is allowed, and
// Error(resource).
SafetensorsHeader read_safetensors_header(const WeightFile& file);

}  // namespace gnomon
