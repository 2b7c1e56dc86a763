// The door to toml++: no other file knows it.
#include "gnomon/lab/fields.h"

#include <toml++/toml.h>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

Field field_of(std::span<const Field> fields, std::string_view key) {
  std::vector<std::string_view> keys;
  for (const Field& f : fields) {
    if (f.key == key) return f;
    keys.push_back(f.key);
  }
  throw Error(Fault::usage, unknown("key", key, keys));
}

std::vector<std::string_view> sections(std::span<const Field> fields) {
  std::vector<std::string_view> all;
  for (const Field& f : fields) {
    const std::string_view section = f.key.substr(0, f.key.find('.'));
    if (all.empty() || all.back() != section) all.push_back(section);
  }
  return all;
}

// Items of "a, b(c, d)": commas inside brackets do not separate.
std::vector<std::string> items(std::string_view list) {
  std::vector<std::string> found;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size()) depth += (list[i] == '(' || list[i] == '[') - (list[i] == ')' || list[i] == ']');
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    const auto item = trim(list.substr(begin, i - begin));
    if (!item.empty()) found.emplace_back(item);
    begin = i + 1;
  }
  return found;
}

struct FromText {
  std::string_view key, word;
  void operator()(std::int64_t* x) const { *x = integer(word, key); }
  void operator()(double* x) const { *x = number(word, key); }
  void operator()(std::string* x) const { *x = word; }
  void operator()(std::optional<bool>* x) const {
    if (word != "true" && word != "false")
      throw Error(Fault::usage, text(key, ": found '", word, "', allowed are true and false"));
    *x = word == "true";
  }
  void operator()(std::vector<std::string>* x) const { *x = items(word); }
  void operator()(std::vector<double>* x) const {
    x->clear();
    for (const auto& item : items(word)) x->push_back(number(item, key));
  }
};

struct FromToml {
  std::string_view where, key;
  const toml::node& node;
  [[noreturn]] void wrong(std::string_view allowed) const {
    throw Error(Fault::usage,
                text(where, ", line ", node.source().begin.line, ": ", key, " must be ", allowed));
  }
  void operator()(std::int64_t* x) const {
    node.is_integer() ? void(*x = node.as_integer()->get()) : wrong("a whole number");
  }
  void operator()(double* x) const {
    if (!node.is_number()) wrong("a number");
    *x = node.is_integer() ? double(node.as_integer()->get()) : node.as_floating_point()->get();
  }
  void operator()(std::string* x) const {
    node.is_string() ? void(*x = node.as_string()->get()) : wrong("a string");
  }
  void operator()(std::optional<bool>* x) const {
    node.is_boolean() ? void(*x = node.as_boolean()->get()) : wrong("true or false");
  }
  void operator()(std::vector<std::string>* x) const { list(x, "a list of strings"); }
  void operator()(std::vector<double>* x) const { list(x, "a list of numbers"); }
  template <class T>
  void list(std::vector<T>* x, std::string_view allowed) const {
    if (!node.is_array()) wrong(allowed);
    x->clear();
    for (const auto& item : *node.as_array()) {
      const auto value = item.template value<T>();
      value ? x->push_back(*value) : wrong(allowed);
    }
  }
};

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return out + "\"";
}

struct ToToml {
  std::string operator()(const std::int64_t* x) const { return text(*x); }
  std::string operator()(const double* x) const { return shortest(*x); }
  std::string operator()(const std::string* x) const { return quoted(*x); }
  // Empty: not set, and there is no word for that in TOML.
  std::string operator()(const std::optional<bool>* x) const { return !*x ? "" : **x ? "true" : "false"; }
  std::string operator()(const std::vector<std::string>* x) const {
    return list(*x, [](const std::string& s) { return quoted(s); });
  }
  std::string operator()(const std::vector<double>* x) const { return list(*x, shortest); }
  template <class T, class Print>
  static std::string list(const std::vector<T>& all, const Print& print) {
    std::string out;
    for (const auto& item : all) out += (out.empty() ? "" : ", ") + print(item);
    return "[" + out + "]";
  }
};

}  // namespace

void set(std::span<const Field> fields, std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw Error(Fault::usage, text("--set ", assignment, ": expected key=value, as in train.steps=100"));
  const auto key = trim(assignment.substr(0, equals));
  std::visit(FromText{key, trim(assignment.substr(equals + 1))}, field_of(fields, key).value);
}

void read_toml(std::span<const Field> fields, const Path& path) {
  read_toml_text(fields, read_file(path), path.string());
}

void read_toml_text(std::span<const Field> fields, std::string_view content, const std::string& where) {
  try {
    const toml::table table = toml::parse(content, where);
    for (const auto& [section, node] : table) {
      const std::string name(section.str());
      if (!node.is_table())
        throw Error(Fault::usage, text(where, ", line ", node.source().begin.line, ": ",
                                       unknown("section", name, sections(fields))));
      for (const auto& [key, value] : *node.as_table()) {
        const std::string full = name + "." + std::string(key.str());
        try {
          const Field field = field_of(fields, full);
          std::visit(FromToml{where, field.key, value}, field.value);
        } catch (const Error& e) {
          if (std::string_view(e.what()).find("unknown") != 0) throw;
          throw Error(Fault::usage, text(where, ", line ", value.source().begin.line, ": ", e.what()));
        }
      }
    }
  } catch (const toml::parse_error& e) {
    throw Error(Fault::usage, text(where, ", line ", e.source().begin.line, ", column ",
                                   e.source().begin.column, ": ", e.description()));
  }
}

std::string print_toml(std::span<const Field> fields) {
  std::string out, section;
  for (const Field& f : fields) {
    const auto dot = f.key.find('.');
    if (f.key.substr(0, dot) != section) {
      section = f.key.substr(0, dot);
      out += (out.empty() ? "[" : "\n[") + section + "]\n";
    }
    const std::string_view name = f.key.substr(dot + 1);
    const std::string value = std::visit(ToToml{}, f.value);
    out += value.empty() ? text("# ", name, ": as the block has it") : text(name, " = ", value);
    out += text("  # ", f.help, "\n");
  }
  return out;
}

}  // namespace gnomon
