#include "gnomon/models/resolve/families/rows.h"

namespace gnomon {
namespace {

// Layers of attention beside layers that mix tokens in another way.
const std::vector<Family> kFamilies = {};

}  // namespace

std::span<const Family> hybrids_rows() { return kFamilies; }

}  // namespace gnomon
