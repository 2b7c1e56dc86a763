#pragma once
#include <span>
#include <string_view>

#include "gnomon/encodings/encoding.h"

namespace gnomon {

// An encoding of a layer by its name in the spec.
struct Member {
  std::string_view name;
  const Encoding* encoding;
  unsigned acts;
};
// Throws Error(usage), naming two members and the reason, where the attention of one layer has no meaning with both: steps of
// both change the same channels, one reads rows that the other has changed, or both fill what there is once.
void check_together(std::span<const Member> members);

}  // namespace gnomon
