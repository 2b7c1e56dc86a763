#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/core/standard.h"

namespace gnomon {

// Alignment of arrays in bytes: cache lines and the widest SIMD vectors have this size. Equal inputs then run the same code.
inline constexpr std::size_t kAlignment = 64;

// Allocates aligned memory. Throws Error(resource) with the requested size.
void* allocate_aligned(std::size_t bytes);

// Allocator of aligned memory. With `zero` false, resize() leaves new numbers uninitialised.
template <class T, bool zero>
struct Aligned {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = Aligned<U, zero>;
  };
  Aligned() = default;
  template <class U>
  Aligned(const Aligned<U, zero>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_aligned(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(kAlignment)); }
  template <class U, class... Args>
  void construct(U* p, Args&&... args) {
    if constexpr (sizeof...(Args) == 0 && !zero) {
      ::new (static_cast<void*>(p)) U;
    } else {
      ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
    }
  }
  template <class U>
  bool operator==(const Aligned<U, zero>&) const {
    return true;
  }
};

using Floats = std::vector<float, Aligned<float, true>>;    // owned numbers; resize() fills with 0
using Scratch = std::vector<float, Aligned<float, false>>;  // owned numbers; write them before you read them

// Distance in numbers between rows of an activation, each with `width` numbers. A distance that is a multiple of 64 would put the
// columns of many rows onto few cache sets. The products dyᵀ·x would then run at half speed (gnomon bench product.dw).
inline std::int64_t row_step(std::int64_t width) { return width + 16; }

// Rows of numbers; row n starts n·step numbers after the first.
template <class T>
struct Strided {
  T* data;
  std::int64_t step;
  T* row(std::int64_t n) const { return data + n * step; }
};

inline std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

}  // namespace gnomon
