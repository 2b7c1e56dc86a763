#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/claims/verdict.h"

// Sentences whose words follow their numbers. A verb beside a number is a choice by that number's interval: a form has no
// other way to put one there, and sentence_test refuses words of direction anywhere else.
//
//   {key}              a number, as found: "−0.105 ± 0.020"; {FROM|key} that of another claim or of a record
//   {key:2}            to 2 digits; {key:%1} times 100, to 1; {key:e} its size, "3e-08"; {key:m} without its interval;
//                      {key:n} with how many it is of, "0.91 ± 0.05 (n = 3)"; {key:a} without its sign; {key:k} in thousands. Together: {key:%1mn}
//   {key:vs OTHER}     a difference in nats: "lower by 0.105 ± 0.020 nats than OTHER", "not told apart from OTHER: …"
//   {key:way OTHER}    the way of key.at.0.25, key.at.0.5 and key.at.1: "lower than OTHER after a quarter of the training, …",
//                      and the last number in a sentence of its own, which the form's full stop ends
//   {key?A|B|C}        A where the 95 % interval lies below 0, C where it lies above, B where neither does or there is none
//   {a - b?A|B|C}      of a less b: A or C where the intervals of the two do not overlap
//   {key>x?A|B}        A where the value is above x, a number or a key; B elsewhere, and where there is no value
//   {key~x?A|B}        A where the whole interval lies within ±x
//   {key!?A|B}         A where there is a value
//
// A, B and C are forms.
namespace gnomon::claims {

[[noreturn]] void refuse_form(const char* why, std::string_view where);  // throws Error(bug)

// The closing brace of the one that stands at `open`.
constexpr std::size_t closing_brace(std::string_view form, std::size_t open) {
  int depth = 0;
  for (std::size_t n = open; n < form.size(); ++n) {
    if (form[n] == '{') ++depth;
    if (form[n] == '}' && --depth == 0) return n;
  }
  refuse_form("is not closed", form.substr(open));
}
// Up to the first of these signs where no brace is open, which `s` then begins after; all of it where there is none.
constexpr std::string_view cut_at(std::string_view& s, char sign) {
  int depth = 0;
  std::size_t n = 0;
  for (; n < s.size() && !(s[n] == sign && depth == 0); ++n) depth += s[n] == '{' ? 1 : s[n] == '}' ? -1 : 0;
  const std::string_view before = s.substr(0, n);
  s = n < s.size() ? s.substr(n + 1) : std::string_view();
  return before;
}
// The signs | where no brace is open.
constexpr std::size_t bars(std::string_view s) {
  std::size_t n = 0;
  int depth = 0;
  for (const char c : s) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    n += c == '|' && depth == 0;
  }
  return n;
}
constexpr void require_number_name(std::string_view name) {
  const std::size_t bar = name.find('|');
  const std::string_view key = bar == name.npos ? name : name.substr(bar + 1);
  if (key.empty() || key.find_first_of("{}|?") != key.npos || bar == 0) refuse_form("names no number", name);
}
// How many alternatives a choice has that asks so: three of a sign, two of the others.
constexpr std::size_t alternatives_of(std::string_view asks) {
  return asks.ends_with('!') || asks.find_first_of(">~") != asks.npos ? 2 : 3;
}
// Whether what stands in braces is a choice: then it asks up to this sign; else npos.
constexpr std::size_t asking_end(std::string_view inner) {
  const std::size_t ask = inner.find('?');
  return ask != inner.npos && ask < inner.find('{') ? ask : inner.npos;
}
// The form itself. Throws Error(bug), or fails the build, for a form that is not closed, a choice with other than its
// alternatives, or one that names no number.
constexpr std::string_view checked_form(std::string_view form) {
  for (std::string_view rest = form; rest.find('{') != rest.npos;) {
    const std::size_t open = rest.find('{'), close = closing_brace(rest, open);
    const std::string_view inner = rest.substr(open + 1, close - open - 1);
    rest = rest.substr(close + 1);
    const std::size_t ask = asking_end(inner);
    if (ask == inner.npos) {
      require_number_name(inner.substr(0, inner.find(':')));
      continue;
    }
    const std::string_view asks = inner.substr(0, ask);
    const std::size_t name = asks.find_first_of(">~!"), less = asks.find(" - ");
    require_number_name(asks.substr(0, name < less ? name : less));
    if (name == asks.npos && less != asks.npos) require_number_name(asks.substr(less + 3));
    std::string_view all = inner.substr(ask + 1);
    if (bars(all) + 1 != alternatives_of(asks)) refuse_form("has another count of alternatives", asks);
    for (std::size_t n = alternatives_of(asks); n > 0; --n) checked_form(cut_at(all, '|'));
  }
  return form;
}

// A piece of a form: words, a number, or a choice.
struct FormPiece {
  enum class Kind { words, number, sign, above, within, there };
  // A number by name; `from` is empty where it is the claim's own.
  struct Ref {
    std::string from, key;
  };
  Kind kind = Kind::words;
  std::string words;                                 // or the format of a number
  Ref number, less;                                  // less.key is empty where nothing is taken off
  std::string bound;                                 // a number or a key
  std::vector<std::vector<FormPiece>> alternatives;  // three of a sign, two of the others
};
// Throws as checked_form().
std::vector<FormPiece> parsed(std::string_view form);
// All numbers that a form may take, in order, each once: "key", "FROM|key".
std::vector<std::string> taken_by(std::string_view form);

// A number by name; null: it was not measured. May throw for a name that there cannot be.
using Lookup = std::function<const FoundNumber*(std::string_view from, std::string_view key)>;

struct Said {
  std::string text;
  std::vector<std::string> missing;  // names of numbers that were not measured: then the text is of no use
};
Said said(std::string_view form, const Lookup& numbers);

// "−1.573 ± 0.037", "0.999 (0.998 to 0.999, n = 5)"; the format as above.
std::string shown(const FoundNumber& n, std::string_view format = "");

}  // namespace gnomon::claims
