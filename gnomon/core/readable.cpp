#include "gnomon/core/readable.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/text.h"

namespace gnomon {

std::string grouped(double x, int digits) {
  const std::string plain = fixed(std::abs(x), digits);
  const std::size_t point = std::isfinite(x) ? std::min(plain.find('.'), plain.size()) : 0;
  std::string out = fixed(x, digits)[0] == '-' ? "−" : "";  // none before 0
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (i > 0 && i < point && (point - i) % 3 == 0) out += ',';
    out += plain[i];
  }
  return out;
}

std::string ordinal(std::int64_t n) {
  const std::int64_t last = n % 10;
  const bool teen = n % 100 / 10 == 1;
  return std::to_string(n) + (teen ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

std::string significant(double x) {
  if (x == 0 || !std::isfinite(x)) return grouped(x);
  std::string out = grouped(x, std::clamp(2 - int(std::floor(std::log10(std::abs(x)))), 0, 9));
  if (out.find('.') == out.npos) return out;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

}  // namespace gnomon
