// Products without a library, for builds without oneDNN: b is packed into panels as wide as a register tile, which stay in
// the nearest cache while a block of rows of a passes by (Goto, van de Geijn: Anatomy of high-performance matrix
// multiplication, ACM TOMS 34(3), 2008).
#include <algorithm>
#include <cstring>

#include "gnomon/core/array.h"
#include "gnomon/core/error.h"
#include "gnomon/core/parallel.h"
#include "gnomon/kernels/matmul_block.h"
#include "gnomon/kernels/multiply.h"
#include "gnomon/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/matmul_portable.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/product-inl.h"
#include "gnomon/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {

inline std::int64_t panel_width() { return kVectors * lanes(); }
portable::BlockTile RegisterTileShape() { return {kRows, panel_width()}; }

// The first `columns` columns of b (k,·) side by side, the rest of the panel 0.
void PackPanel(const portable::BlockSource& b, std::int64_t k, std::int64_t columns, float* panel) {
  const std::int64_t width = panel_width();
  if (columns < width) std::fill_n(panel, k * width, 0.0f);
  if (b.column != 1) return transpose({b.data, b.column, columns, k}, panel, width);
  for (std::int64_t p = 0; p < k; ++p)
    std::memcpy(panel + p * width, b.data + p * b.row, std::size_t(columns) * sizeof(float));
}

// The columns of one panel; those that do not fill whole vectors by way of a tile that does.
void MultiplyPanel(const portable::Block& t, Left a, std::int64_t columns, const float* panel, float* c) {
  const std::int64_t width = panel_width(), bytes = columns * std::int64_t(sizeof(float));
  if (columns % lanes() == 0) return product({t.m, columns, t.k}, a, panel, width, c, t.ldc, t.accumulate);
  HWY_ALIGN float tile[portable::kRowsOfBlock * kVectors * hn::MaxLanes(F())];
  for (std::int64_t i = 0; t.accumulate && i < t.m; ++i)
    std::memcpy(tile + i * width, c + i * t.ldc, std::size_t(bytes));
  product({t.m, columns, t.k}, a, panel, width, tile, width, t.accumulate);
  for (std::int64_t i = 0; i < t.m; ++i) std::memcpy(c + i * t.ldc, tile + i * width, std::size_t(bytes));
}

void MultiplyBlock(const portable::Block& t, float* scratch) {
  const std::int64_t width = panel_width();
  Left a{t.a.data, t.a.row, t.a.column};
  if (t.a.row == 1) {  // the columns of a lie far apart: near each other they are read many times
    for (std::int64_t p = 0; p < t.k; ++p)
      std::memcpy(scratch + p * t.m, t.a.data + p * t.a.column, std::size_t(t.m) * sizeof(float));
    a = {scratch, 1, t.m};
  }
  for (std::int64_t j = 0; j < t.n; j += width)
    MultiplyPanel(t, a, std::min(width, t.n - j), t.panels + j * t.k, t.c + j);
  for (std::int64_t i = 0; t.bias && i < t.m; ++i) {
    float* row = t.c + i * t.ldc;
    for (std::int64_t j = 0; j < t.n; j += lanes())
      store(hn::Add(load(row + j, t.n - j), load(t.bias + j, t.n - j)), row + j, t.n - j);
  }
}

}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(RegisterTileShape);
HWY_EXPORT(PackPanel);
HWY_EXPORT(MultiplyBlock);

namespace portable {
namespace {

// [0, n) in as few pieces of at most `most` as there can be, all a multiple of `of`, as even as that allows.
std::int64_t even_piece(std::int64_t n, std::int64_t most, std::int64_t of) {
  most = most / of * of;
  const std::int64_t pieces = (n + most - 1) / most;
  return round_up((n + pieces - 1) / pieces, of);
}

BlockTile register_tile_shape() { return HWY_DYNAMIC_DISPATCH(RegisterTileShape)(); }

// All columns of b (k,n) in panels, column j of every panel first at panels + j·k.
void pack(const BlockSource& b, std::int64_t k, std::int64_t n, float* panels) {
  const std::int64_t width = register_tile_shape().columns;
  parallel_ranges(n, 8 * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; j += width)
      HWY_DYNAMIC_DISPATCH(PackPanel)(b.from(0, j), k, std::min(width, n - j), panels + j * k);
  });
}

// The same with all rows of a and c: in blocks, which do not depend on the threads.
void multiply_blocks(const Block& all) {
  const std::int64_t rows = even_piece(all.m, kRowsOfBlock, register_tile_shape().rows),
                     columns = kColumnsOfBlock;
  const std::int64_t down = (all.m + rows - 1) / rows, across = (all.n + columns - 1) / columns;
  parallel_for(down * across, [&](std::int64_t task) {
    const std::int64_t i = task / across * rows, j = task % across * columns;  // rows of a stay near
    Block t = all;
    t.m = std::min(rows, all.m - i), t.n = std::min(columns, all.n - j);
    t.a = all.a.from(i, 0), t.panels = all.panels + j * all.k, t.c = all.c + i * all.ldc + j;
    if (all.bias) t.bias = all.bias + j;
    thread_local Scratch scratch(kRowsOfBlock * kDepth);
    HWY_DYNAMIC_DISPATCH(MultiplyBlock)(t, scratch.data());
  });
}

}  // namespace

void multiply(const Matmul& s, const float* a, const float* b, float* c, const float* bias) {
  const BlockSource left = s.a_op == Op::plain ? BlockSource{a, s.lda, 1} : BlockSource{a, 1, s.lda};
  const BlockSource right = s.b_op == Op::plain ? BlockSource{b, s.ldb, 1} : BlockSource{b, 1, s.ldb};
  const std::int64_t width = register_tile_shape().columns, depth = even_piece(s.K, kDepth, 1);
  thread_local Scratch packed;  // as large as this thread's largest product wants
  for (std::int64_t j = 0; j < s.N; j += kColumnsAtOnce) {
    const std::int64_t n = std::min(kColumnsAtOnce, s.N - j);
    if (const auto wanted = std::size_t(round_up(n, width) * depth); packed.size() < wanted)
      packed.resize(wanted);
    for (std::int64_t p = 0; p < s.K; p += depth) {
      const std::int64_t k = std::min(depth, s.K - p);
      pack(right.from(p, j), k, n, packed.data());
      multiply_blocks({s.M, n, k, left.from(0, p), packed.data(), c + j, s.ldc, s.accumulate || p > 0,
                       bias && p + k == s.K ? bias + j : nullptr});
    }
  }
}

std::string name() { return text("Highway ", HWY_MAJOR, ".", HWY_MINOR, ".", HWY_PATCH, " ", simd_target()); }

}  // namespace portable
}  // namespace gnomon
#endif
