#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "gnomon/files/weights.h"

namespace gnomon {

// A tensor of a file as the family's class has it: one that is stored by this name, or MXFP4, as gpt-oss stores its experts. Then
// NAME_blocks (…, groups, 16) has two numbers of 4 bits in each byte, the lower half first, and NAME_scales (…, groups) the power
// of two of each group of 32, plus 127. OCP Microscaling Formats 1.0, section 5.3; transformers, integrations/mxfp4.py.
struct FileTensor {
  const StoredTensor *numbers = nullptr, *scales = nullptr;
  explicit operator bool() const { return numbers; }
  bool packed() const { return scales; }
  std::vector<std::int64_t> shape() const;
  std::int64_t size() const;
  std::int64_t rows_at_once() const;  // so that a large table is not in memory twice
  Floats read_rows(const Weights& weights, std::int64_t first, std::int64_t count) const;
};
// Nothing where the file has neither, or where blocks and scales do not belong together.
FileTensor find_tensor(const Weights& weights, std::string_view name);

}  // namespace gnomon
