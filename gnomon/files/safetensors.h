#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/file.h"

namespace gnomon {

// Files in the safetensors format (github.com/huggingface/safetensors, README "Format"): 8 bytes
// little-endian length of a JSON header, the header, then the numbers. Here float32 only.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> data;  // row-major
};
using Metadata = std::map<std::string, std::string>;

// Writes atomically. The metadata gain "gnomon.sha256", which covers the names, the shapes, the other
// metadata and every number. Throws Error(resource); Error(usage), before anything is written, for a name or metadata
// that are not UTF-8, a name that is used twice or by the format itself, and numbers that are not of their shape.
void write_safetensors(const Path& path, std::span<const Tensor> tensors, const Metadata& metadata);

struct TensorFile {
  std::vector<Tensor> tensors;  // views into `numbers`
  Metadata metadata;
  Floats numbers;
  const Tensor& at(const std::string& name, const Path& path) const;  // throws Error(input)
};
// Whether a file without "gnomon.sha256" is believed: our own always have it, those of strangers never.
enum class Digest { required, if_present };
// Throws Error(input), naming the file, the place, what was found and what is allowed, for a file that is
// truncated, malformed, or whose checksum is missing or does not match; Error(resource) for one that cannot be read.
TensorFile read_safetensors(const Path& path, Digest digest);

}  // namespace gnomon
