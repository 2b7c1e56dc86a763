#pragma once
#include <string>

#include "gnomon/core/precision.h"

namespace gnomon {

// The version of what training computes: to be raised by a change after which the same settings give other bits. A test
// (numerics_test) trains a tiny model under every encoding and asks for it when they do.
inline constexpr int kNumerics = 9;

// Everything beside its settings that the bits of a training depend on: the version above, the SIMD target, oneDNN and its
// instructions, the precision of products, their threads. "numerics 4, AVX2, oneDNN 2.6.3 avx2, 1 thread"
std::string numerics(int threads, Precision precision = Precision::float32);

}  // namespace gnomon
