#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/array.h"
#include "gnomon/core/file.h"

namespace gnomon {

class Gguf;

// The files that a model.safetensors.index.json names; they stand beside it. Throws Error(input) and Error(resource).
std::set<std::string> shards_in(const Path& index);

// A tensor of a file of weights, as it lies there.
struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;  // the last index runs fastest, whatever the format
  std::string stored;           // "F32", "BF16", "Q4_1" ...: the format's own name of how a number is stored
  std::size_t file;             // of Weights::files()
  std::uint64_t offset, bytes;  // in that file
  std::int64_t size() const;    // numbers
};

// Whether the file is the pointer that Git LFS leaves in place of one that was not downloaded (git-lfs, docs/spec.md).
// Throws Error(resource) as ReadableFile does.
bool is_lfs_pointer(const Path& path);
// Tensors that are settings of RoPE, divisors or frequencies of its pairs: of GGUF files by their names, of safetensors by the ending.
constexpr std::string_view kRopeTensors[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                             "rope_factors_short.weight"};
constexpr std::string_view kFrequencies = "inv_freq";

// The tensors of a model, read when they are asked for: a .safetensors file, the files of a model.safetensors.index.json, a
// .gguf file (or the first of its parts), or a folder (there: model.safetensors, its index, or the only file of either format). Formats: github.com/huggingface/safetensors, README, "Format", and
// safetensors/src/tensor.rs; github.com/ggml-org/ggml, docs/gguf.md and src/gguf.cpp. The files are strangers': everything
// is checked before it is used, nothing is mapped into memory (a file that is shortened meanwhile is an error), and what is
// allocated is a small multiple of the bytes that are there.
class Weights {
 public:
  // Of a model in several GGUF files, of which the first is named: all, or those that were downloaded. The metadata is in the first.
  enum class Parts { all, that_are_here };
  // Throws Error(input) that names file, place, what was found and what is allowed; Error(resource) for what cannot be
  // read.
  static Weights open(const Path& path, Parts parts = Parts::all);
  ~Weights();
  Weights(Weights&&) noexcept;
  Weights& operator=(Weights&&) noexcept;

  std::span<const Path> files() const;
  std::span<const StoredTensor> tensors() const;          // in the order of the files
  const StoredTensor* find(std::string_view name) const;  // null: there is none
  const StoredTensor& at(std::string_view name) const;    // throws Error(input) with the nearest name
  const Gguf* gguf() const;                               // the file's metadata; null: not of that format

  // The numbers as float32, widened or dequantised, in the order of the shape. Throws Error(input) for kinds that gnomon
  // does not read (it names those that it does) and Error(resource).
  Floats read(const StoredTensor& tensor) const;
  // Rows [first, first + count) along the first index alone; throws Error(usage) for rows that there are not.
  Floats read_rows(const StoredTensor& tensor, std::int64_t first, std::int64_t count) const;

 private:
  struct Opened;
  explicit Weights(std::unique_ptr<Opened> opened);
  std::unique_ptr<Opened> opened_;
};

}  // namespace gnomon
