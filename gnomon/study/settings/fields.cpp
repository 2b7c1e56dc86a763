// The door to toml++: no other file knows it.
#include "gnomon/study/settings/fields.h"

#include <toml++/toml.h>

#include <algorithm>
#include <functional>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/study/settings/arm.h"
#include "gnomon/study/settings/prediction.h"

namespace gnomon {
namespace {

Field field_of(std::span<const Field> fields, std::string_view key) {
  std::vector<std::string_view> keys;
  for (const Field& f : fields) {
    if (f.key == key) return f;
    keys.push_back(f.key);
  }
  throw unknown("key", key, keys, "study.toml in the folder of a study lists all keys");
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

std::string place(std::string_view where, const toml::node& node) {
  return text(where, ", line ", node.source().begin.line);
}

// What is found wrong there is said with its place.
void at(std::string_view where, const toml::node& node, const std::function<void()>& look) {
  try {
    look();
  } catch (const Error& e) {
    throw e.at(place(where, node));
  }
}

// An arm; what is wrong with it is said with the key of a prediction, where it is one of many.
std::optional<Arm> arm_in(std::string_view key, const std::string& words) {
  if (words.empty()) return std::nullopt;
  try {
    return Arm(words);
  } catch (const Error& e) {
    if (!key.starts_with("prediction.")) throw;
    throw e.at(key);
  }
}

struct FromText {
  std::string_view key, word;
  void operator()(std::optional<Arm>* x) const { *x = arm_in(key, std::string(word)); }
  void operator()(std::vector<Arm>* x) const {
    x->clear();
    for (const auto& item : items(word)) x->push_back(Arm(item));
  }
  void operator()(std::int64_t* x) const { *x = integer(word, key); }
  void operator()(double* x) const { *x = number(word, key); }
  void operator()(std::string* x) const { *x = word; }
  void operator()(Precision* x) const { *x = precision_named(word, key); }
  void operator()(std::optional<bool>* x) const {
    if (word != "true" && word != "false")
      throw Error(Fault::usage, text(key, ": found '", word, "', allowed are true and false"));
    *x = word == "true";
  }
  void operator()(std::optional<std::int64_t>* x) const { *x = integer(word, key); }
  void operator()(std::optional<double>* x) const { *x = number(word, key); }
  void operator()(std::vector<std::string>* x) const { *x = items(word); }
  void operator()(std::vector<double>* x) const {
    x->clear();
    for (const auto& item : items(word)) x->push_back(number(item, key));
  }
  void operator()(std::vector<Prediction>*) const {
    throw Error(Fault::usage,
                text("--set ", key, ": --set takes no tables; write each under [[", key, "]] in a file"));
  }
};

void read_table(std::span<const Field> fields, const std::string& section, const toml::table& table,
                std::string_view where);

struct FromToml {
  std::string_view where, key;
  const toml::node& node;
  [[noreturn]] void wrong(std::string_view allowed) const {
    throw Error(Fault::usage, text(place(where, node), ": ", key, " must be ", allowed));
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
  void operator()(Precision* x) const {
    std::string name;
    (*this)(&name);
    at(where, node, [&] { *x = precision_named(name, key); });
  }
  void operator()(std::optional<bool>* x) const {
    node.is_boolean() ? void(*x = node.as_boolean()->get()) : wrong("true or false");
  }
  template <class T>
  void operator()(std::optional<T>* x) const {
    (*this)(&x->emplace());
  }
  void operator()(std::optional<Arm>* x) const {
    std::string words;
    (*this)(&words);
    at(where, node, [&] { *x = arm_in(key, words); });
  }
  void operator()(std::vector<Arm>* x) const {
    std::vector<std::string> all;
    (*this)(&all);
    at(where, node, [&] { x->assign(all.begin(), all.end()); });
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
  void operator()(std::vector<Prediction>* x) const {
    if (!node.is_array_of_tables()) wrong(text("tables, each under [[", key, "]]"));
    x->clear();
    for (const auto& item : *node.as_array()) {
      Prediction& p = x->emplace_back();
      read_table(fields(p), std::string(key), *item.as_table(), where);
      at(where, item, [&] { p.check(); });
    }
  }
};

void read_table(std::span<const Field> fields, const std::string& section, const toml::table& table,
                std::string_view where) {
  for (const auto& entry : table) {
    Field field;
    at(where, entry.second, [&] { field = field_of(fields, text(section, ".", entry.first.str())); });
    std::visit(FromToml{where, field.key, entry.second}, field.value);
  }
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return out + "\"";
}

struct ToToml {
  std::string operator()(const std::int64_t* x) const { return text(*x); }
  std::string operator()(const double* x) const { return shortest(*x); }
  std::string operator()(const std::string* x) const { return quoted(*x); }
  std::string operator()(const Precision* x) const { return quoted(std::string(name_of(*x))); }
  // Empty: not set, and there is no word for that in TOML.
  std::string operator()(const std::optional<bool>* x) const { return !*x ? "" : **x ? "true" : "false"; }
  template <class T>
  std::string operator()(const std::optional<T>* x) const {
    return *x ? (*this)(&**x) : "";
  }
  std::string operator()(const std::optional<Arm>* x) const { return quoted(*x ? (*x)->written : ""); }
  std::string operator()(const std::vector<Arm>* x) const {
    return list(*x, [](const Arm& arm) { return quoted(arm.written); });
  }
  std::string operator()(const std::vector<std::string>* x) const {
    return list(*x, [](const std::string& s) { return quoted(s); });
  }
  std::string operator()(const std::vector<double>* x) const { return list(*x, shortest); }
  // A line for each of their keys, as a comment, and the tables.
  std::string operator()(const std::vector<Prediction>* x) const {
    std::string out;
    Prediction any;
    for (const Field& f : fields(any))
      out += text("#   ", f.key.substr(f.key.find('.') + 1), ": ", f.help, "\n");
    for (Prediction p : *x) out += "\n" + print_table("prediction", fields(p));
    return out;
  }
  template <class T, class Print>
  static std::string list(const std::vector<T>& all, const Print& print) {
    std::string out;
    for (const auto& item : all) out += (out.empty() ? "" : ", ") + print(item);
    return "[" + out + "]";
  }
};

constexpr const char* kPart = "part";

toml::table parsed(const Toml& toml) {
  try {
    return toml::parse(toml.content, toml.where);
  } catch (const toml::parse_error& e) {
    throw Error(Fault::usage, text(toml.where, ", line ", e.source().begin.line, ", column ",
                                   e.source().begin.column, ": ", e.description()));
  }
}

// The tables of a configuration, but for the one that is called `except`.
void read_sections(std::span<const Field> fields, const toml::table& table, const std::string& where,
                   std::string_view except) {
  for (const auto& [name, node] : table) {
    const std::string section(name.str());
    if (section == except) continue;
    const auto repeated =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.key == section; });
    if (repeated != fields.end()) {
      std::visit(FromToml{where, repeated->key, node}, repeated->value);
    } else if (node.is_table()) {
      read_table(fields, section, *node.as_table(), where);
    } else if (section == kPart) {
      throw Error(Fault::usage,
                  place(where, node) + ": found [[part]], which makes several studies; allowed is one study");
    } else {
      throw unknown("section", section, sections(fields)).at(place(where, node));
    }
  }
}

}  // namespace

void set(std::span<const Field> fields, std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw Error(Fault::usage, text("--set ", assignment, ": expected key=value, as in train.steps=100"));
  const auto key = trim(assignment.substr(0, equals));
  std::visit(FromText{key, trim(assignment.substr(equals + 1))}, field_of(fields, key).value);
}

Toml toml_in(const Path& path) { return {read_file(path), path.string()}; }

void read_toml(std::span<const Field> fields, const Toml& toml) {
  read_sections(fields, parsed(toml), toml.where, "");
}

std::vector<std::string> parts_of(const Toml& toml) {
  const toml::table table = parsed(toml);
  const toml::node* parts = table.get(kPart);
  if (!parts) return {};
  std::vector<std::string> names;
  const auto wrong = [&](const toml::node& node, const std::string& what) {
    throw Error(Fault::usage, place(toml.where, node) + ": " + what);
  };
  if (!parts->is_array_of_tables()) wrong(*parts, "part must be tables, each under [[part]]");
  for (const toml::node& part : *parts->as_array()) {
    const auto name = part.as_table()->get_as<std::string>("name");
    if (!name) wrong(part, "part.name is missing; it names the part and its folder");
    if (!is_plain_word(name->get()))
      wrong(*name, text("part.name: found ", excerpt(name->get()), ", allowed are a to z, 0 to 9 and -"));
    if (std::find(names.begin(), names.end(), name->get()) != names.end())
      wrong(*name, text("part.name: '", name->get(), "' is there twice"));
    names.push_back(name->get());
  }
  return names;
}

void read_toml_part(std::span<const Field> fields, const Toml& toml, std::string_view part) {
  const toml::table table = parsed(toml);
  read_sections(fields, table, toml.where, kPart);
  for (const toml::node& each : *table.get(kPart)->as_array()) {
    const toml::table& own = *each.as_table();
    if (own["name"].value_or(std::string_view()) == part)
      return read_sections(fields, own, toml.where, "name");
  }
  throw Error(Fault::bug, text(toml.where, " has no part ", part));
}

std::string print_toml(std::span<const Field> fields) {
  std::string out, section;
  for (const Field& f : fields) {
    const auto dot = f.key.find('.');
    if (dot == std::string_view::npos) {
      out += text("\n# [[", f.key, "]]: ", f.help, "\n", std::visit(ToToml{}, f.value));
      continue;
    }
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

std::string print_value(const Field& field) { return std::visit(ToToml{}, field.value); }

std::string print_table(std::string_view section, std::span<const Field> fields) {
  std::string out = text("[[", section, "]]\n");
  for (const Field& f : fields) {
    const std::string value = std::visit(ToToml{}, f.value);
    if (!value.empty() && value != "\"\"") out += text(f.key.substr(f.key.find('.') + 1), " = ", value, "\n");
  }
  return out;
}

}  // namespace gnomon
