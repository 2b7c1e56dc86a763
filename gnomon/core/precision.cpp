#include "gnomon/core/precision.h"

#include <array>
#include <cstddef>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"

namespace gnomon {
namespace {

constexpr std::array<std::string_view, 2> kNames{"float32", "bfloat16"};

}  // namespace

std::string_view name_of(Precision precision) { return kNames[std::size_t(precision)]; }

Precision precision_named(std::string_view name, std::string_view where) {
  for (const Precision p : {Precision::float32, Precision::bfloat16})
    if (name == name_of(p)) return p;
  throw unknown(where, name, kNames);
}

}  // namespace gnomon
