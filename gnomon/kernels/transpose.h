#pragma once
#include <cstdint>

namespace gnomon {

// to (columns,rows), dense = xᵀ, of x (rows,columns) whose rows are `step` numbers apart. On thread_count() threads.
void transpose(std::int64_t rows, std::int64_t columns, const float* x, std::int64_t step, float* to);

}  // namespace gnomon
