#include "gnomon/nn/trained.h"

#include <algorithm>

#include "gnomon/core/error.h"

namespace gnomon {

Tokens Sample::tokens(std::int64_t first, std::int64_t B) const {
  const auto part = [&](const std::vector<std::int32_t>& all) {
    return std::span(all).subspan(std::size_t(first * T), std::size_t(B * T));
  };
  Tokens tokens{B, T, part(inputs), part(targets)};
  tokens.placement = placement, tokens.drop_positions = drop_positions, tokens.stop = stop;
  return tokens;
}

void Sample::check() const {
  const std::size_t n = inputs.size();
  if (T < 1 || n == 0 || n % std::size_t(T) != 0 || targets.size() != n) {
    throw Error(Fault::usage,
                text("a sample of windows of ", T, " tokens has ", n, " inputs and ", targets.size(),
                     " targets; allowed are one or more whole windows, with one target per input"));
  }
  for (std::size_t t = 0; t < n; ++t) {
    if (inputs[t] < 0)
      throw Error(Fault::usage, text("token ", t, " of a sample is ", inputs[t], "; allowed are 0 or more"));
  }
  if (placement && placement->rows != 1) {
    throw Error(Fault::usage, text("a sample has one row of positions for all its windows; found ",
                                   placement->rows, " rows"));
  }
}
Sample Sample::first(std::int64_t windows) const {
  check();
  if (windows < 1)
    throw Error(Fault::usage, text("found first(", windows, ") of a sample; allowed are 1 or more windows"));
  const auto n = std::size_t(std::min(windows, count()) * T);
  return {T,
          {inputs.begin(), inputs.begin() + std::ptrdiff_t(n)},
          {targets.begin(), targets.begin() + std::ptrdiff_t(n)},
          placement,
          drop_positions,
          stop};
}

}  // namespace gnomon
