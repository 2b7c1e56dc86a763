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
  const std::size_t rows = encoder.size() / std::size_t(count());  // numbers of one window
  tokens.encoder = {encoder_T, std::span(encoder).subspan(std::size_t(first) * rows, std::size_t(B) * rows)};
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
  const auto rows = std::size_t(encoder_T * count());
  if (encoder_T < 0 || (rows == 0 ? !encoder.empty() : encoder.empty() || encoder.size() % rows != 0)) {
    throw Error(Fault::usage, text("a sample of ", count(), " windows has ", encoder.size(),
                                   " numbers of an encoder; allowed are ", encoder_T, " rows per window"));
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
  const std::int64_t kept = std::min(windows, count());
  const std::ptrdiff_t n = kept * T, rows = std::ptrdiff_t(encoder.size()) / count() * kept;
  return {T,
          {inputs.begin(), inputs.begin() + n},
          {targets.begin(), targets.begin() + n},
          placement,
          drop_positions,
          stop,
          encoder_T,
          {encoder.begin(), encoder.begin() + rows}};
}

}  // namespace gnomon
