#include "gnomon/core/error.h"

#include <algorithm>

#include "gnomon/core/text.h"
#include "gnomon/core/unprintable.h"

namespace gnomon {

std::string printable(std::string_view message) {
  std::string out;
  for (std::size_t i = 0, valid = 0; i < message.size();) {
    if (i >= valid) valid = std::min(first_invalid_utf8(message.substr(i)), message.size() - i) + i;
    const auto c = static_cast<unsigned char>(message[i]);
    const Unprintable found = i < valid ? unprintable(message.substr(i)) : Unprintable{c, 1};
    if (found.bytes == 0) {
      out += message[i++];
      continue;
    }
    if (c == '\n' || c == '\t' || c == '\r') {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    } else {
      out += hexadecimal(found.bytes == 1 ? "\\x" : "\\u", found.character, found.bytes == 1 ? 2 : 4);
    }
    i += found.bytes;
  }
  return out;
}

Error Error::at(std::string_view place) const {
  ErrorDetails details = details_;
  details.place = details.place.empty() ? std::string(place) : text(place, ": ", details.place);
  return Error(fault_, text(place, ": ", what()), std::move(details));
}

}  // namespace gnomon
