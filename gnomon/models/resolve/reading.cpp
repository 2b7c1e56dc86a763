#include "gnomon/models/resolve/reading.h"

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {

std::string FileReading::at(std::string_view key) const {
  return part_.empty() ? std::string(key) : gnomon::text(part_, ".", key);
}

std::optional<std::int64_t> FileReading::whole(std::string_view key, std::int64_t least, std::int64_t most) {
  const auto x = whole(key);
  if (x && (*x < least || *x > most)) wrong(key, gnomon::text("a whole number from ", least, " to ", most));
  return x;
}

void FileReading::wrong(std::string_view key, std::string_view allowed) const {
  throw WrongValue(
      at(key), gnomon::text(config_.where(), ": ", at(key), " is ", printed(key), "; allowed is ", allowed));
}

}  // namespace gnomon
