#include "gnomon/core/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "gnomon/core/error.h"

namespace gnomon {

void TextPart::write(double x) {
  const auto end = std::to_chars(digits_, digits_ + sizeof digits_, x, std::chars_format::general, 6).ptr;
  words_ = {digits_, std::size_t(end - digits_)};
}
void TextPart::write(char c) {
  digits_[0] = c;
  words_ = {digits_, 1};
}
void TextPart::write(long long x) {
  const auto end = std::to_chars(digits_, digits_ + sizeof digits_, x).ptr;
  words_ = {digits_, std::size_t(end - digits_)};
}
void TextPart::write(unsigned long long x) {
  const auto end = std::to_chars(digits_, digits_ + sizeof digits_, x).ptr;
  words_ = {digits_, std::size_t(end - digits_)};
}

std::string joined(std::span<const TextPart> parts) {
  std::size_t size = 0;
  for (const TextPart& part : parts) size += part.words().size();
  std::string all;
  all.reserve(size);
  for (const TextPart& part : parts) all += part.words();
  return all;
}

std::string shortest(double x) {
  char buffer[64];
  if (x == std::floor(x) && std::abs(x) < 1e15) {  // 100000, not 1e+05
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, (long long)x).ptr;
    return {buffer, end};
  }
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  return {buffer, end};
}

std::string fixed(double x, int digits) {
  if (std::isnan(x)) return "–";
  char buffer[400];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::fixed, digits).ptr;
  const std::string out(buffer, end);
  const bool zero = out.find_first_of("123456789") == std::string::npos;
  return zero && out[0] == '-' ? out.substr(1) : out;  // no minus before 0
}

double number(std::string_view word, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty()) {
    throw Error(Fault::usage, text(what, ": '", word, "' is not a number"),
                {std::string(what), std::string(word), "a number", {}});
  }
  return value;
}

long long integer(std::string_view word, std::string_view what) {
  long long value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty()) {
    throw Error(Fault::usage, text(what, ": '", word, "' is not a whole number"),
                {std::string(what), std::string(word), "a whole number", {}});
  }
  return value;
}

std::string_view trim(std::string_view s) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!s.empty() && space(s.front())) s.remove_prefix(1);
  while (!s.empty() && space(s.back())) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= s.size();) {
    const std::size_t end = std::min(s.find(separator, at), s.size());
    parts.push_back(s.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string counted(std::size_t n, std::string_view what) { return text(n, " ", what, n == 1 ? "" : "s"); }

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string all = "'";
  for (const char c : word) all += c == '\'' ? "'\\''" : std::string(1, c);
  return all + "'";
}

std::string join(std::span<const std::string_view> words, std::string_view separator) {
  std::string all;
  for (const auto word : words) {
    if (!all.empty()) all += separator;
    all += word;
  }
  return all;
}

std::string excerpt(std::string_view words) {
  constexpr std::size_t kShown = 80;
  std::string out = "\"";
  for (const char c : words.substr(0, kShown)) {
    const auto byte = (unsigned char)c;
    if (byte < 0x20 || byte > 0x7E) {
      constexpr char digits[] = "0123456789ABCDEF";
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + (words.size() > kShown ? text("\"… (", words.size(), " bytes)") : "\"");
}

std::size_t first_invalid_utf8(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? (unsigned char)bytes[i] : 0u; };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return at(i) >= low && at(i) <= high;
  };
  for (std::size_t i = 0; i < bytes.size();) {
    const unsigned c = at(i);  // Unicode 15, table 3-7: well-formed UTF-8 byte sequences
    if (c < 0x80) {
      i += 1;
    } else if (c >= 0xC2 && c <= 0xDF && follows(i + 1)) {
      i += 2;
    } else if (c >= 0xE0 && c <= 0xEF && follows(i + 1, c == 0xE0 ? 0xA0 : 0x80, c == 0xED ? 0x9F : 0xBF) &&
               follows(i + 2)) {
      i += 3;
    } else if (c >= 0xF0 && c <= 0xF4 && follows(i + 1, c == 0xF0 ? 0x90 : 0x80, c == 0xF4 ? 0x8F : 0xBF) &&
               follows(i + 2) && follows(i + 3)) {
      i += 4;
    } else {
      return i;
    }
  }
  return std::string_view::npos;
}

bool is_one_line(std::string_view bytes) {
  const auto control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; };
  return std::none_of(bytes.begin(), bytes.end(), control) &&
         first_invalid_utf8(bytes) == std::string_view::npos;
}

bool is_plain_word(std::string_view word) {
  return !word.empty() && word.size() <= 64 && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace gnomon
