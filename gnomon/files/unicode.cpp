#include "gnomon/files/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace gnomon {
namespace {

struct Range {
  char32_t first, last;
};
bool is_in(std::span<const Range> ranges, char32_t c) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t x, const Range& range) { return x < range.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

// Of Unicode 14, but not of unicode_categories. Within a range others of the same category do not occur.
constexpr Range kLaterPunctuation[] = {{0x061D, 0x061D},   {0x09FD, 0x0A76},   {0x0C77, 0x0C84},
                                       {0x1B7D, 0x1B7E},   {0x2E43, 0x2E5D},   {0x10EAD, 0x10F89},
                                       {0x1144B, 0x1145D}, {0x11660, 0x116B9}, {0x1183B, 0x11FFF},
                                       {0x12FF1, 0x12FF2}, {0x16E97, 0x16FE2}, {0x1E95E, 0x1E95F}};
constexpr Range kLaterMarks[] = {
    {0x07FD, 0x07FD},   {0x0898, 0x08E1},   {0x09FE, 0x09FE},   {0x0AFA, 0x0AFF},   {0x0B55, 0x0B55},
    {0x0C04, 0x0C3C},   {0x0D00, 0x0D00},   {0x0D3B, 0x0D3C},   {0x0D81, 0x0D81},   {0x0EBA, 0x0EBA},
    {0x180F, 0x1886},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFB},   {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},
    {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F85}, {0x11070, 0x11074}, {0x110C2, 0x110C2},
    {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x1123E}, {0x1133B, 0x1133B}, {0x11438, 0x1145E},
    {0x1182F, 0x11EF4}, {0x16F4F, 0x16F4F}, {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E2EF},
    {0x1E944, 0x1E94A}};
constexpr Range kLaterFormats[] = {{0x0890, 0x08E2}, {0x110CD, 0x110CD}, {0x13430, 0x13438}};
// Marks, and two letters, that unicode-normalization-alignments has no data of.
constexpr Range kNeverMoved[] = {
    {0x07FD, 0x07FD},   {0x0898, 0x08D3},   {0x09FE, 0x09FE},   {0x0C3C, 0x0C3C},   {0x0D3B, 0x0D3C},
    {0x0EBA, 0x0EBA},   {0x1715, 0x1715},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},
    {0x10D24, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x11839, 0x11930},
    {0x11938, 0x11A99}, {0x11D42, 0x11D97}, {0x16FF0, 0x16FF1}, {0x1E130, 0x1E2EF}};

utf8proc_category_t category(char32_t c) { return utf8proc_category(utf8proc_int32_t(c)); }
bool is_punctuation_of_unicode_14(char32_t c) {
  const auto found = category(c);
  return found >= UTF8PROC_CATEGORY_PC && found <= UTF8PROC_CATEGORY_PO;
}

// The canonical decomposition of one character, in whole: at most 4 characters (Unicode Standard Annex 15, Table 10).
void append_decomposed(std::u32string& to, char32_t c) {
  std::array<utf8proc_int32_t, 16> parts;
  int last_bound = 0;
  const auto n = utf8proc_decompose_char(utf8proc_int32_t(c), parts.data(), parts.size(), UTF8PROC_DECOMPOSE,
                                         &last_bound);
  for (utf8proc_ssize_t i = 0; i < n; ++i) to += char32_t(parts[std::size_t(i)]);
}

// Marks that follow each other are ordered by their class, those of one class as they stand (Unicode 14, section 3.11, D109).
void order_marks(std::u32string& text) {
  const auto mark_class = [](char32_t c) {
    return is_in(kNeverMoved, c) ? 0 : utf8proc_get_property(utf8proc_int32_t(c))->combining_class;
  };
  for (auto at = text.begin(); at != text.end();) {
    const auto first = std::find_if(at, text.end(), [&](char32_t c) { return mark_class(c) != 0; });
    const auto last = std::find_if(first, text.end(), [&](char32_t c) { return mark_class(c) == 0; });
    std::stable_sort(first, last, [&](char32_t a, char32_t b) { return mark_class(a) < mark_class(b); });
    at = last;
  }
}

}  // namespace

std::u32string characters(std::string_view utf8) {
  std::u32string all;
  all.reserve(utf8.size());
  while (!utf8.empty()) {
    utf8proc_int32_t c = 0;
    const auto width = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(utf8.data()),
                                        utf8proc_ssize_t(utf8.size()), &c);
    all += char32_t(c);
    utf8.remove_prefix(std::size_t(width));
  }
  return all;
}

void append_utf8(std::string& to, char32_t c) {
  std::array<utf8proc_uint8_t, 4> bytes;
  const auto width = utf8proc_encode_char(utf8proc_int32_t(c), bytes.data());
  to.append(reinterpret_cast<const char*>(bytes.data()), std::size_t(width));
}
std::string utf8(std::u32string_view characters) {
  std::string bytes;
  bytes.reserve(characters.size());
  for (const char32_t c : characters) append_utf8(bytes, c);
  return bytes;
}

bool is_blank(char32_t c) {
  constexpr Range kBlanks[] = {{0x9, 0xD},       {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                               {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                               {0x205F, 0x205F}, {0x3000, 0x3000}};
  return is_in(kBlanks, c);
}

bool is_hidden(char32_t c) {
  const auto found = category(c);
  return found == UTF8PROC_CATEGORY_CC || found == UTF8PROC_CATEGORY_CO ||
         (found == UTF8PROC_CATEGORY_CF && !is_in(kLaterFormats, c));
}

bool is_nonspacing_mark(char32_t c) {
  constexpr char32_t kHanunooPamudpod = 0x1734;  // Mc since Unicode 14
  return c == kHanunooPamudpod || (category(c) == UTF8PROC_CATEGORY_MN && !is_in(kLaterMarks, c));
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  constexpr char32_t kCanadianChiSign = 0x166D, kSharadaSandhiMark = 0x111C9;  // So since 12, Mn since 11
  return c == kCanadianChiSign || c == kSharadaSandhiMark ||
         (is_punctuation_of_unicode_14(c) && !is_in(kLaterPunctuation, c));
}

bool is_ideograph(char32_t c) {
  constexpr Range kBlocks[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                               {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                               {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return is_in(kBlocks, c);
}

void append_lower_case(std::u32string& to, char32_t c) {
  constexpr char32_t kDottedI = 0x130, kDotAbove = 0x307;
  if (c == kDottedI)
    to += {U'i', kDotAbove};
  else
    to += char32_t(utf8proc_tolower(utf8proc_int32_t(c)));
}

std::u32string decomposed(std::u32string_view text) {
  std::u32string parts;
  parts.reserve(text.size());
  for (const char32_t c : text) {
    if (c < 0x80 || is_in(kNeverMoved, c))
      parts += c;
    else
      append_decomposed(parts, c);
  }
  order_marks(parts);
  return parts;
}

std::u32string composed(std::u32string_view text) {
  const std::u32string parts = decomposed(text);
  std::u32string whole;
  whole.reserve(parts.size());
  std::vector<utf8proc_int32_t> run;  // between characters that take no part
  const auto end_run = [&] {
    // This only composes: the run is decomposed and in order.
    const auto n = utf8proc_normalize_utf32(run.data(), utf8proc_ssize_t(run.size()),
                                            utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < n; ++i) whole += char32_t(run[std::size_t(i)]);
    run.clear();
  };
  for (const char32_t c : parts) {
    if (is_in(kNeverMoved, c)) {
      end_run();
      whole += c;
    } else {
      run.push_back(utf8proc_int32_t(c));
    }
  }
  end_run();
  return whole;
}

}  // namespace gnomon
