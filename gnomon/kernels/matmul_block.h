#pragma once
#include <cstdint>

// What the two halves of matmul_portable.cpp tell each other: the loops, and what is compiled for each SIMD target.
namespace gnomon::portable {

// Sizes in numbers: a panel of kDepth rows has 12 kB (SSE) to 48 kB (AVX-512), a block of a up to 150 kB.
inline constexpr std::int64_t kDepth = 384, kRowsOfBlock = 96, kColumnsOfBlock = 256, kColumnsAtOnce = 4096;

// What is summed in registers at a time.
struct BlockTile {
  std::int64_t rows, columns;
};

// A matrix as it lies in memory or its transpose: element (i,j) at data[i·row + j·column], one of the two steps is 1.
struct BlockSource {
  const float* data;
  std::int64_t row, column;
  BlockSource from(std::int64_t i, std::int64_t j) const {
    return {data + i * row + j * column, row, column};
  }
};

// c (m,n) (+)= a (m,k) b (k,n) [+ bias]; b lies in panels of Tile::columns columns, the one of column j at panels + j·k.
struct Block {
  std::int64_t m, n, k;
  BlockSource a;
  const float* panels;
  float* c;
  std::int64_t ldc;
  bool accumulate;
  const float* bias;
};

}  // namespace gnomon::portable
