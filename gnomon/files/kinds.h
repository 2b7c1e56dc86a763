#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gnomon {

// What the header of a file of weights may have, in either format.
constexpr std::uint64_t kLongestHeader =
    100'000'000;  // bytes: the limit of safetensors; a large vocabulary in GGUF has 20 million
constexpr std::uint64_t kMostTensors = 1'000'000;

// A way in which files of weights store numbers: in blocks of `numbers` of them in `bytes` bytes, little-endian.
// Sources: safetensors/src/tensor.rs, `Dtype` (github.com/huggingface/safetensors); ggml.h, `ggml_type`, ggml-common.h and
// ggml-quants.c, `dequantize_row_*` (github.com/ggml-org/ggml).
struct NumberKind {
  std::string_view name;  // the format's own; where both formats have one it means the same
  std::int64_t numbers, bytes;
  bool in_safetensors;
  std::int32_t ggml_type;  // −1: not in GGUF
  // `blocks` blocks as float32; null where gnomon knows the size alone.
  void (*widen)(const char* from, std::int64_t blocks, float* to);
};

// By name, by safetensors' name, by ggml's number. Null: there is none.
const NumberKind* find_kind(std::string_view name);
const NumberKind* find_safetensors_kind(std::string_view name);
const NumberKind* find_ggml_kind(std::int32_t type);
std::string readable_kinds();  // the names of those that widen, for messages

// The bytes of an array of this shape, or −1: the numbers are no whole blocks, or the extents other than 0 have a product
// with which 64 bits overflow, so that no product of some of them does.
std::int64_t bytes_of_shape(const NumberKind& kind, std::span<const std::int64_t> shape);

}  // namespace gnomon
