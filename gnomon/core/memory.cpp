#include "gnomon/core/memory.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

void check_memory(std::string_view what, std::uint64_t bytes) {
  if (bytes < 1 << 20) return;  // nothing to ask the system for
  const AvailableMemory there = available_memory();
  const auto most = std::uint64_t(std::min(there.shared_bytes, there.own_bytes));
  if (bytes <= most) return;
  throw Error(Fault::resource,
              text(what, " ", bytes, " bytes, but only ", most, " bytes of memory are available"));
}

std::string memory_text() noexcept try {
  const AvailableMemory there = available_memory();
  const bool own = there.own_bytes < there.shared_bytes;
  return text(bytes_text(double(resident_bytes())), " are in use, ",
              bytes_text(double(own ? there.own_bytes : there.shared_bytes)), " are ",
              own ? there.own_by : there.shared_by);
} catch (...) {
  return "none is left";  // short enough to need none
}

std::string bytes_text(double n) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  while (n >= 1000 && unit < 5) n /= 1000, ++unit;
  return text(fixed(n, unit > 1 && n < 100 ? 1 : 0), " ", units[unit]);
}

}  // namespace gnomon
