#pragma once
#include <cstdint>
#include <string>

namespace gnomon {

// Numbers for readers: commas between thousands and a true minus, "−12,345.60"; "–" for NaN. Programs read `fixed` and
// `shortest` (core/text.h).
std::string grouped(double x, int digits = 0);

// "1st", "2nd", "3rd", "4th", "11th".
std::string ordinal(std::int64_t n);

// To three digits, or all before the point: "0.004", "1,024".
std::string significant(double x);

}  // namespace gnomon
