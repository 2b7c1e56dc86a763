#pragma once
#include <string_view>

namespace gnomon {

// How the factors of a product are multiplied. bfloat16: they are rounded to it on the way (to nearest, ties to even), and
// their products are added up in float32. What is in memory stays float32.
enum class Precision : bool { float32, bfloat16 };
std::string_view name_of(Precision precision);
// Throws Error(usage), with `where`, for a name that is none.
Precision precision_named(std::string_view name, std::string_view where);

}  // namespace gnomon
