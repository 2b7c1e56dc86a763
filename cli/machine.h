#pragma once
#include <string>

namespace gnomon::cli {

// The machine and how the program was built, for reports: processor, cores, SIMD target, system, compiler.
std::string machine();

}  // namespace gnomon::cli
