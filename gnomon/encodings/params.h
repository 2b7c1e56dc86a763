#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gnomon/core/array.h"

namespace gnomon {

// A named array of parameters and its initial values.
struct ParamSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  double mean, deviation;          // normal; deviation 0 = constant
  bool decay;                      // weight decay applies: to matrices, never to tables, gains or biases
  std::vector<double> start = {};  // added to each number; empty = 0
  std::int64_t size() const;
  double initial(std::int64_t index, double normal) const;
};

// The initial values of all arrays, one after the other. Each array has its own stream of random numbers.
Floats initial_numbers(std::span<const ParamSpec> params, std::uint64_t seed);

}  // namespace gnomon
