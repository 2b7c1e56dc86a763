#include "gnomon/files/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::size_t kLongestPattern = 1000;  // bytes; those in use have up to 500
constexpr std::uint32_t kMostWays = 10'000'000;
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
// White_Space; PCRE2's own \s has U+180E too.
constexpr std::string_view kBlanks = "\\t-\\r\\x{85}\\p{Z}";
constexpr std::string_view kCategories[] = {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",
                                            "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
                                            "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "Cc"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Walks over a pattern and writes it for PCRE2.
class Translation {
 public:
  Translation(std::string_view pattern, const std::string& where) : rest_(pattern), where_(where) {}

  std::string whole() {
    bool quantifiable = false;  // something stands before that a quantifier may follow
    while (!rest_.empty()) quantifiable = next(quantifiable);
    return std::move(written_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(Fault::input,
                text(where_, ": unsupported in a regular expression: ", excerpt(what), "; pass token ids"));
  }
  bool begins(std::string_view words) const { return rest_.substr(0, words.size()) == words; }
  void copy(std::size_t n) {
    written_ += rest_.substr(0, n);
    rest_.remove_prefix(n);
  }

  // The next part; whether a quantifier may follow it.
  bool next(bool quantifiable) {
    switch (rest_[0]) {
      case '\\':
        escape(false);
        return true;
      case '[':
        character_class();
        return true;
      case '(':
        open();
        return false;
      case ')':
        copy(1);
        return true;
      case '|':
        copy(1);
        return false;
      case '?':
      case '*':
      case '+':
      case '{':
        if (!quantifiable) refuse(rest_.substr(0, 8));  // lazy, possessive, or a quantifier of nothing
        quantifier();
        return false;
      case '.':
      case '^':
      case '$':
      case '}':
      case ']':
        refuse(rest_.substr(0, 1));
      default:
        copy(1);
        return true;
    }
  }

  void open() {
    for (const std::string_view group : {"(?:", "(?=", "(?!"}) {
      if (begins(group)) return copy(group.size());
    }
    // In others Oniguruma lets ß match ss.
    for (const std::string_view contractions : {"(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?i:[sdmt]|ll|ve|re)"}) {
      if (begins(contractions)) return copy(contractions.size() - 1);
    }
    if (begins("(?") || begins("(*")) refuse(rest_.substr(0, 4));
    rest_.remove_prefix(1);
    written_ += "(?:";
  }

  void quantifier() {
    if (rest_[0] != '{') return copy(1);
    const std::size_t end = rest_.find('}');
    const std::string_view inside = rest_.substr(1, end == rest_.npos ? 0 : end - 1);
    const std::size_t comma = inside.find(',');
    const auto is_count = [](std::string_view s) {
      return !s.empty() && s.size() <= 3 && std::all_of(s.begin(), s.end(), is_digit);
    };
    const bool good = comma == inside.npos
                          ? is_count(inside)
                          : is_count(inside.substr(0, comma)) &&
                                (comma + 1 == inside.size() || is_count(inside.substr(comma + 1)));
    if (!good) refuse(rest_.substr(0, 8));
    copy(end + 1);
  }

  void escape(bool in_class) {
    const char c = rest_.size() > 1 ? rest_[1] : ' ';
    if (c == 's' || c == 'S') {
      if (in_class && c == 'S') refuse("\\S in a class");
      written_ += in_class ? std::string(kBlanks) : text(c == 's' ? "[" : "[^", kBlanks, "]");
      rest_.remove_prefix(2);
    } else if (c == 'p' || c == 'P') {
      const std::size_t end = rest_.find('}');
      const std::string_view name =
          begins("\\p{") || begins("\\P{") ? rest_.substr(3, end == rest_.npos ? 0 : end - 3) : "";
      if (std::find(std::begin(kCategories), std::end(kCategories), name) == std::end(kCategories))
        refuse(rest_.substr(0, 8));
      copy(end + 1);
    } else if (c == 'v') {  // PCRE2's \v is all vertical blanks
      written_ += "\\x0b";
      rest_.remove_prefix(2);
    } else {
      if (std::string_view("tnfr").find(c) == kPunctuation.npos && kPunctuation.find(c) == kPunctuation.npos)
        refuse(rest_.substr(0, 2));
      copy(2);
    }
  }

  void character_class() {
    copy(begins("[^") ? 2 : 1);
    if (begins("]")) refuse("[]");
    while (!begins("]")) {
      if (rest_.empty()) refuse("a class without end");
      if (rest_[0] == '[' || begins("&&")) refuse(rest_.substr(0, 2));  // Oniguruma's classes within classes
      if (rest_[0] == '\\')
        escape(true);
      else
        copy(1);
    }
    copy(1);
  }

  std::string_view rest_;
  const std::string& where_;
  std::string written_;
};

template <class T>
T* made(T* pointer) {
  if (!pointer) throw std::bad_alloc();
  return pointer;
}

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> words{};
  pcre2_get_error_message(code, words.data(), words.size());
  return reinterpret_cast<const char*>(words.data());
}

}  // namespace

struct Regex::Compiled {
  pcre2_code* code;
  pcre2_match_context* limits = made(pcre2_match_context_create(nullptr));
  explicit Compiled(pcre2_code* c) : code(c) { pcre2_set_match_limit(limits, kMostWays); }
  ~Compiled() {
    pcre2_match_context_free(limits);
    pcre2_code_free(code);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
};

Regex::Regex(std::string_view pattern, std::string where) : where_(std::move(where)) {
  if (pattern.size() > kLongestPattern)
    throw Error(Fault::input, text(where_, ": a regular expression of ", pattern.size(),
                                   " bytes; allowed are up to ", kLongestPattern));
  const std::string translated = Translation(pattern, where_).whole();
  int error = 0;
  std::size_t at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                   PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
  if (!code)
    throw Error(Fault::input,
                text(where_, ": ", excerpt(pattern), " is not a regular expression: ", message_of(error)));
  compiled_ = std::make_shared<Compiled>(code);
  std::uint32_t empty = 0;
  pcre2_pattern_info(code, PCRE2_INFO_MATCHEMPTY, &empty);
  if (empty)
    throw Error(Fault::input,
                text(where_, ": unsupported: a regular expression that matches the empty text, ",
                     excerpt(pattern), "; pass token ids"));
}

std::vector<Regex::Match> Regex::matches(std::string_view text_) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> found(
      made(pcre2_match_data_create(1, nullptr)), pcre2_match_data_free);
  std::vector<Match> all;
  for (std::size_t at = 0; at < text_.size(); at = all.back().end) {
    // Without PCRE2_NO_UTF_CHECK each call would look at all of the text.
    const int code = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                                 at, PCRE2_NO_UTF_CHECK, found.get(), compiled_->limits);
    if (code == PCRE2_ERROR_NOMATCH) break;
    if (code < 0) throw Error(Fault::input, text(where_, ": byte ", at, " of the text: ", message_of(code)));
    const std::size_t* const bounds = pcre2_get_ovector_pointer(found.get());
    all.push_back({bounds[0], bounds[1]});
  }
  return all;
}

}  // namespace gnomon
