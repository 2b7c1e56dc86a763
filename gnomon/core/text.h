#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gnomon {

// The shortest decimal text that reads back as the same number: 10000, 0.25, 1e-05, nan.
std::string shortest(double x);
// With this many digits after the point; "–" for NaN.
std::string fixed(double x, int digits);

// The whole of `word` as a number; throws Error(usage) that names `what` where it is none.
double number(std::string_view word, std::string_view what);
long long integer(std::string_view word, std::string_view what);

std::string_view trim(std::string_view s);
std::vector<std::string_view> split(std::string_view s, char separator);

// "1 claim", "75 claims".
std::string counted(std::size_t n, std::string_view what);
// As a shell reads it as one word: in single quotes where it needs them.
std::string shell_word(std::string_view word);
std::string join(std::span<const std::string_view> words, std::string_view separator);

// A stranger's words for a message: in quotes, as \xNN what is not printable ASCII, cut after 80 bytes.
std::string excerpt(std::string_view words);

// The offset of the first byte that is not part of well-formed UTF-8, or npos.
std::size_t first_invalid_utf8(std::string_view bytes);
// Well-formed UTF-8 without line ends and other control characters.
bool is_one_line(std::string_view bytes);
// 1 to 64 of a to z, 0 to 9 and -: the name of a folder, wherever it is.
bool is_plain_word(std::string_view word);

}  // namespace gnomon
