#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

// Paragraphs that stand in a text file beside the code. The file is read by the compiler: a record or field that there is
// not, a field that is there twice, and a place that no value is given for are errors of the build. The format:
//
//   # a remark                       not read
//   [record]                         the fields below are its own
//   field: the text, which goes on
//     in indented lines,             joined by a blank
//     |  and as it stands            a new line, from the bar on as it is written
//   field: $NAME and so on           begins with what the field NAME of the record [$] says
//
// In a text that takes values (Form), `{name}` is the place of one, `{{` and `}}` are braces.
namespace gnomon {

// Where a text stands in the joined characters of a file.
struct ProseField {
  std::string_view record, name;
  std::size_t from = 0, size = 0;
};

namespace prose {
constexpr bool is_name(std::string_view s) {
  for (const char c : s)
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '.' && c != '-' && c != '_') return false;
  return !s.empty();
}
constexpr std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  return line;
}
constexpr std::size_t fields_of(std::string_view file) {
  std::size_t n = 0;
  while (!file.empty()) {
    const std::string_view line = next_line(file);
    n += !line.empty() && line[0] != '#' && line[0] != '[' && line[0] != ' ';
  }
  return n;
}
// No fewer than the texts of a file have together: a beginning is no longer than the longest line.
constexpr std::size_t most_characters(std::string_view file) {
  std::size_t longest = 0, beginnings = 0;
  for (std::string_view rest = file; !rest.empty();) {
    const std::string_view line = next_line(rest);
    longest = line.size() > longest ? line.size() : longest;
    beginnings += line.find(": $") != line.npos;
  }
  return file.size() + beginnings * longest;
}
}  // namespace prose

// One file; N characters at most, M fields:
//
//   constexpr Prose kText =
//   #include "gnomon/claims/questions/how_loud.txt.inc"
//       ;
template <std::size_t N, std::size_t M>
class Prose {
 public:
  explicit consteval Prose(std::string_view file) {
    std::string_view record;
    while (!file.empty()) {
      const std::string_view line = prose::next_line(file);
      if (line.empty() || line[0] == '#') continue;
      if (line[0] == '[') {
        if (line.back() != ']') throw "a record must be [name]";
        record = line.substr(1, line.size() - 2);
        continue;
      }
      if (line[0] == ' ') {
        go_on(line);
        continue;
      }
      begin(record, line);
    }
  }

  // The text of a field.
  consteval std::string_view at(std::string_view record, std::string_view field) const {
    const std::size_t f = find(record, field);
    if (f == M) throw "the file has no such field";
    return text(f);
  }
  // The same; empty where there is none.
  consteval std::string_view if_any(std::string_view record, std::string_view field) const {
    const std::size_t f = find(record, field);
    return f == M ? std::string_view() : text(f);
  }
  // Throws where a record has a field of another name; what follows a point is free: `says.zero` is a `says`.
  consteval void only(std::string_view record, std::initializer_list<std::string_view> names) const {
    for (std::size_t m = 0; m < M; ++m) {
      if (fields_[m].record != record) continue;
      bool known = false;
      for (const std::string_view name : names)
        known |= fields_[m].name.substr(0, fields_[m].name.find('.')) == name;
      if (!known) throw "no code reads a field of this name";
    }
  }
  consteval std::size_t records() const {
    std::size_t n = 0;
    for (std::size_t m = 0; m < M; ++m)
      n += fields_[m].record != "$" && (m == 0 || fields_[m].record != fields_[m - 1].record);
    return n;
  }

 private:
  constexpr std::string_view text(std::size_t f) const {
    return {joined_.data() + fields_[f].from, fields_[f].size};
  }
  // M: there is none.
  constexpr std::size_t find(std::string_view record, std::string_view name) const {
    for (std::size_t m = 0; m < used_; ++m)
      if (fields_[m].record == record && fields_[m].name == name) return m;
    return M;
  }
  constexpr void put(std::string_view s) {
    for (const char c : s) joined_[end_++] = c;  // past the end: an error of the build
    fields_[used_ - 1].size += s.size();
  }
  constexpr void begin(std::string_view record, std::string_view line) {
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (record.empty() || colon == line.npos || !prose::is_name(name))
      throw "a line must be `field: text` or an indented continuation";
    if (find(record, name) != M) throw "a field appears twice";
    fields_[used_++] = {record, name, end_, 0};
    std::string_view said = line.substr(colon + 1);
    if (!said.empty() && said[0] == ' ') said.remove_prefix(1);
    if (!said.empty() && said[0] == '$') {
      const std::size_t stop = said.find(' ');
      const std::size_t base = find("$", said.substr(1, stop - 1));
      if (base == M) throw "the record [$] has no such field";
      put(text(base));
      said = stop == said.npos ? std::string_view() : said.substr(stop);
    }
    put(said);
  }
  constexpr void go_on(std::string_view line) {
    if (used_ == 0) throw "a continuation line needs a field before it";
    const std::size_t first = line.find_first_not_of(' ');
    if (first == line.npos) return;
    line.remove_prefix(first);
    const bool verbatim = line[0] == '|';
    if (fields_[used_ - 1].size > 0) put(verbatim ? "\n" : " ");
    put(verbatim ? line.substr(1) : line);
  }

  std::array<char, N> joined_{};
  std::array<ProseField, M> fields_{};
  std::size_t used_ = 0, end_ = 0;
};
// What the build makes of a file, as one literal.
#define GNOMON_PROSE(literal) \
  ::gnomon::Prose<::gnomon::prose::most_characters(literal), ::gnomon::prose::fields_of(literal)> { literal }

// The name of a place, as an argument of a template.
template <std::size_t N>
struct PlaceName {
  char name[N]{};
  constexpr PlaceName(const char (&s)[N]) {
    for (std::size_t n = 0; n < N; ++n) name[n] = s[n];
  }
  constexpr std::string_view view() const { return {name, N - 1}; }
};

// A text in which exactly the places `names` stand, each at least once.
template <PlaceName... names>
class Form {
 public:
  consteval Form(std::string_view text) : text_(text) {
    constexpr std::size_t n = sizeof...(names);
    const std::array<std::string_view, n> known{names.view()...};
    std::array<bool, n + 1> there{};
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '{' && text[at] != '}') continue;
      if (at + 1 < text.size() && text[at + 1] == text[at]) {
        ++at;
        continue;
      }
      const std::size_t end = text.find('}', at);
      if (text[at] == '}' || end == text.npos) throw "a brace has no partner";
      bool found = false;
      for (std::size_t k = 0; k < n; ++k)
        if (known[k] == text.substr(at + 1, end - at - 1)) found = there[k] = true;
      if (!found) throw "no value is given for the name of a place";
      at = end;
    }
    for (std::size_t k = 0; k < n; ++k)
      if (!there[k]) throw "a value has no place in the text";
  }
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

// The places of a form filled: value n is that of name n.
std::string filled(std::string_view form, const std::string_view* names, const std::string* values,
                   std::size_t n);

// said<"left", "right">(kText.at(...), value of left, value of right)
template <PlaceName... names, class... Values>
requires(sizeof...(names) == sizeof...(Values)) std::string
    said(std::type_identity_t<Form<names...>> form, const Values&... values) {
  const std::array<std::string_view, sizeof...(names) + 1> known{names.view()...};
  const std::array<std::string, sizeof...(names) + 1> given{std::string(values)...};
  return filled(form.text(), known.data(), given.data(), sizeof...(names));
}

}  // namespace gnomon
