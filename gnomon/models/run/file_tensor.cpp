#include "gnomon/models/run/file_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::int64_t kBytes = 16, kGroup = 2 * kBytes;  // of a scale
constexpr int kBias = 127, kNoNumber = 255;               // of an exponent
// E2M1: a sign, two bits of exponent, one of mantissa.
constexpr std::array<float, 16> kFourBits{0,     0.5F,  1,  1.5F,  2,  3,  4,  6,
                                          -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
constexpr std::int64_t kNumbersAtOnce = 1 << 22;

bool belong_together(const StoredTensor& blocks, const StoredTensor& scales) {
  std::vector<std::int64_t> shape = blocks.shape;
  if (shape.size() < 2 || shape.back() != kBytes) return false;
  shape.pop_back();
  return shape == scales.shape && blocks.stored == "U8" && scales.stored == "U8";
}

}  // namespace

FileTensor find_tensor(const Weights& weights, std::string_view name) {
  if (const StoredTensor* found = weights.find(name)) return {found};
  const StoredTensor *blocks = weights.find(text(name, "_blocks")),
                     *scales = weights.find(text(name, "_scales"));
  if (!blocks || !scales || !belong_together(*blocks, *scales)) return {};
  return {blocks, scales};
}

std::vector<std::int64_t> FileTensor::shape() const {
  if (!packed()) return numbers->shape;
  std::vector<std::int64_t> shape = scales->shape;
  shape.back() *= kGroup;
  return shape;
}
std::int64_t FileTensor::size() const { return packed() ? scales->size() * kGroup : numbers->size(); }
std::int64_t FileTensor::rows_at_once() const {
  const auto all = shape();
  return all.size() > 1
             ? std::max<std::int64_t>(1, kNumbersAtOnce * all[0] / std::max<std::int64_t>(size(), 1))
             : all[0];
}

Floats FileTensor::read_rows(const Weights& weights, std::int64_t first, std::int64_t count) const {
  const Floats bytes = weights.read_rows(*numbers, first, count);
  if (!packed()) return bytes;
  const Floats exponents = weights.read_rows(*scales, first, count);
  Floats all(2 * bytes.size());
  for (std::size_t group = 0; group < exponents.size(); ++group) {
    const int exponent = int(exponents[group]);
    const float scale = exponent == kNoNumber ? NAN : std::ldexp(1.0F, exponent - kBias);
    for (std::size_t n = group * kBytes; n < (group + 1) * kBytes; ++n) {
      const int byte = int(bytes[n]);
      all[2 * n] = scale * kFourBits[std::size_t(byte % 16)];
      all[2 * n + 1] = scale * kFourBits[std::size_t(byte / 16)];
    }
  }
  return all;
}

}  // namespace gnomon
