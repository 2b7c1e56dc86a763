#include "gnomon/core/error.h"

#include "gnomon/core/text.h"

namespace gnomon {

std::string printable(std::string_view message) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  std::size_t invalid = first_invalid_utf8(message);
  for (std::size_t i = 0; i < message.size(); ++i) {
    const auto c = static_cast<unsigned char>(message[i]);
    // U+0080 to U+009F are control characters of two bytes: C2 80 to C2 9F.
    const bool second = i > 0 && message[i - 1] == '\xC2' && c >= 0x80 && c < 0xA0;
    const bool first =
        c == 0xC2 && i + 1 < message.size() && static_cast<unsigned char>(message[i + 1]) < 0xA0;
    if (c == '\n' || c == '\t' || c == '\r') {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    } else if (c < 0x20 || c == 0x7F || first || second || i == invalid) {
      (out += "\\x") += {kDigits[c >> 4], kDigits[c & 15]};
    } else {
      out += message[i];
    }
    if (i == invalid) {
      const std::size_t next = first_invalid_utf8(message.substr(i + 1));
      invalid = next == std::string_view::npos ? next : i + 1 + next;
    }
  }
  return out;
}

Error Error::at(std::string_view place) const {
  ErrorDetails details = details_;
  details.place = details.place.empty() ? std::string(place) : text(place, ": ", details.place);
  return Error(fault_, text(place, ": ", what()), std::move(details));
}

}  // namespace gnomon
