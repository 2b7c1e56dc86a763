// Memory where it is one array of at most 4 GiB, which grows and never shrinks.
#include "gnomon/core/memory.h"

namespace gnomon {
namespace {

constexpr std::int64_t kPage = 65536, kMost = std::int64_t{1} << 32;

}  // namespace

std::int64_t resident_bytes() { return std::int64_t(__builtin_wasm_memory_size(0)) * kPage; }

AvailableMemory available_memory() {
  const std::int64_t left = kMost - resident_bytes();
  return {left, "left of the 4 GiB of WebAssembly", left, "left of the 4 GiB of WebAssembly"};
}

}  // namespace gnomon
