// The activations of the feed-forward part in double.
#pragma once
#include <algorithm>
#include <cmath>

#include "gnomon/kernels/pointwise.h"

namespace gnomon {

inline double activation_by_definition(Activation f, double x) {
  switch (f) {
    case Activation::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu_sigmoid:
      return x / (1 + std::exp(-1.702 * x));
  }
  return 0;
}

}  // namespace gnomon
