#include "gnomon/kernels/transpose.h"

#include <algorithm>

#include "gnomon/core/array.h"
#include "gnomon/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gnomon/kernels/transpose.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include "gnomon/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gnomon::HWY_NAMESPACE {
void TransposeRows(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t step, float* to,
                   std::int64_t to_step) {
  transpose({x, step, rows, columns}, to, to_step);
}
}  // namespace gnomon::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gnomon {
HWY_EXPORT(TransposeRows);

void transpose(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t step, float* to) {
  constexpr std::int64_t kNumbersOfTask = 1 << 15;  // less is done before another thread has woken up
  const std::int64_t grain = round_up(std::max<std::int64_t>(1, kNumbersOfTask / columns), 16);
  parallel_ranges(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(TransposeRows)(end - begin, columns, x + begin * step, step, to + begin, rows);
  });
}
}  // namespace gnomon
#endif
