#include "gnomon/study/data/data.h"

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

double Data::bytes(std::int32_t) const { return 1; }

std::vector<std::int32_t> symbols_of(std::string_view bytes) {
  std::vector<std::int32_t> all;
  for (const char c : bytes) all.push_back(std::int32_t(static_cast<unsigned char>(c)));
  return all;
}

std::string bytes_of(std::span<const std::int32_t> symbols) {
  std::string all;
  for (const std::int32_t symbol : symbols) all += char(symbol);
  return all;
}

Examples Data::examples(std::int64_t, const Windows&) const {
  throw Error(Fault::bug, "data: a text has no examples");
}

}  // namespace gnomon
