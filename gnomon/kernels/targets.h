#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gnomon {

// The SIMD instruction sets that this machine has and the kernels were compiled for, best first.
std::vector<std::string> simd_targets();

// The one in use: the best, unless use_simd_target chose another (tests and benchmarks do; "" = the best).
std::string simd_target();
void use_simd_target(std::string_view name);  // throws Error(usage) for a name that simd_targets() lacks

}  // namespace gnomon
