#pragma once
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {

inline double softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace gnomon
