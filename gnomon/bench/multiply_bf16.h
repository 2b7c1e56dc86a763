#pragma once
#include <cstdint>

namespace gnomon::bench {

// Whether the processor multiplies pairs of bfloat16 and adds them to float32 (AVX512_BF16).
bool has_bf16();
// Does so in registers, by tiles (AMX_BF16) where there are some; the number of operations, a product and a sum each. `sink`
// keeps the compiler from leaving it out.
double multiply_bf16(std::int64_t rounds, float* sink);

}  // namespace gnomon::bench
