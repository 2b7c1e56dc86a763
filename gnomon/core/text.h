#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gnomon/core/standard.h"

namespace gnomon {

// A part of a message: words, a character or a number. Numbers are printed as by %g, with at most six digits, in every locale:
// 2000 is never 2.000. It is a type of its own so that all calls of text() share one piece of code.
class TextPart {
 public:
  TextPart(std::string_view words) : words_(words) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> TextPart(Number x) {
    if constexpr (std::is_floating_point_v<Number>)
      write(double(x));
    else if constexpr (sizeof(Number) == 1 && !std::is_same_v<Number, bool>)
      write(char(x));
    else if constexpr (std::is_signed_v<Number>)
      write((long long)(x));
    else
      write((unsigned long long)(x));
  }
  TextPart(const TextPart&) = delete;  // words_ may lie in digits_
  std::string_view words() const { return words_; }

 private:
  void write(double x);
  void write(char c);
  void write(long long x);
  void write(unsigned long long x);
  char digits_[24];
  std::string_view words_;
};
std::string joined(std::span<const TextPart> parts);

// The arguments as text, one after the other.
template <class... Parts>
std::string text(const Parts&... parts) {
  const TextPart all[] = {TextPart(parts)...};
  return joined(all);
}

// The shortest decimal text that reads back as the same number: 10000, 0.25, 1e-05, nan.
std::string shortest(double x);
// The number with `digits` digits after the point; "–" for NaN.
std::string fixed(double x, int digits);

// Reads all of `word` as a number, integer() as a whole number. Throws Error(usage) that names `what` if it is not one.
double number(std::string_view word, std::string_view what);
long long integer(std::string_view word, std::string_view what);

std::string_view trim(std::string_view s);
std::vector<std::string_view> split(std::string_view s, char separator);

// A count with its noun: "1 claim", "75 claims".
std::string counted(std::size_t n, std::string_view what);
// The word as a shell needs it: in single quotes if necessary.
std::string shell_word(std::string_view word);
std::string join(std::span<const std::string_view> words, std::string_view separator);

// Words from a user or a file, quoted for a message: \xNN for bytes that are not printable ASCII, cut after 80 bytes.
std::string excerpt(std::string_view words);

// The offset of the first byte that is not part of well-formed UTF-8, or npos.
std::size_t first_invalid_utf8(std::string_view bytes);
// Whether the bytes are well-formed UTF-8 without line ends and other control characters.
bool is_one_line(std::string_view bytes);
// Whether the word has 1 to 64 characters from a to z, 0 to 9 and -: a folder name that is valid everywhere.
bool is_plain_word(std::string_view word);

}  // namespace gnomon
