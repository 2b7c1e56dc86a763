#include "gnomon/core/readable.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/text.h"

namespace gnomon {

std::string grouped(double x, int digits) {
  std::string out = fixed(std::abs(x), digits);
  for (std::size_t at = std::min(out.find('.'), out.size()); std::isfinite(x) && at > 3; at -= 3)
    out.insert(at - 3, ",");
  return fixed(x, digits)[0] == '-' ? "−" + out : out;  // no minus before 0
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
