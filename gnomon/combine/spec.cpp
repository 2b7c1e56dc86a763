#include "gnomon/combine/spec.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

// A recursive reader of  spec = part { "+" part },  part = name [ "(" argument { "," argument } ")" ],
// argument = name "=" value | part (the first one of a combination).
class Reader {
 public:
  explicit Reader(std::string_view spec) : all_(spec), rest_(spec) {}

  Spec spec() {
    Spec result{{std::string(combinations().front()->name), {}}, {}, {}};
    bool combined = false;
    do {
      const std::string_view name = word("an encoding or a combination");
      if (const CombinationEntry* entry = find_combination(name)) {
        if (combined || result.input)
          fail("words and position are joined once, but this is the second way to do it");
        combined = true;
        combination(*entry, result);
      } else {
        place(encoding(name), result);
      }
    } while (take('+'));
    if (!rest_.empty()) fail(text("expected '+' or the end, found '", rest_, "'"));
    result.combination.options =
        standard(result.combination.name, find_combination(result.combination.name)->options,
                 result.combination.options);
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(Fault::usage, text("spec '", all_, "', column ", rest_.data() - all_.data() + 1, ": ", why));
  }
  bool take(char c) {
    skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    skip();
    return true;
  }
  void skip() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  std::string_view word(std::string_view what) {
    skip();
    std::size_t n = 0;
    const auto part_of_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
             c == '.' || c == '-';
    };
    while (n < rest_.size() &&
           (part_of_word(rest_[n]) || (rest_[n] == '+' && n > 0 && rest_[n - 1] == 'e' && rest_[0] <= '9')))
      ++n;
    if (n == 0)
      fail(
          text("expected ", what, rest_.empty() ? ", found the end" : text(", found '", rest_.front(), "'")));
    const std::string_view found = rest_.substr(0, n);
    rest_.remove_prefix(n);
    skip();
    return found;
  }
  Named encoding(std::string_view name) {
    const Entry& entry = known(name);
    Named named{std::string(name), {}};
    if (take('(')) {
      while (!take(')')) option(named);
    }
    named.options = standard(named.name, entry.options, named.options);
    return named;
  }
  const Entry& known(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const Entry* entry : encodings()) names.push_back(entry->name);
    for (const CombinationEntry* entry : combinations()) names.push_back(entry->name);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(Fault::usage, text("spec '", all_, "': ", unknown("encoding or combination", name, names)));
    }
    return find_encoding(name);
  }
  void option(Named& named) {
    const std::string_view name = word("an option");
    if (!take('=')) fail(text("expected '=' after '", name, "'"));
    named.options.emplace_back(name, word("a value"));
    if (!take(',') && (rest_.empty() || rest_.front() != ')')) fail("expected ',' or ')'");
  }
  void combination(const CombinationEntry& entry, Spec& result) {
    result.combination = {std::string(entry.name), {}};
    if (!take('('))
      fail(text("expected '(': ", entry.name, " joins words with an encoding, as in ", entry.name,
                "(sinusoidal)"));
    const Named inner = encoding(word("an encoding"));
    const Entry& encoding_entry = find_encoding(inner.name);
    if (inner.name != "none" && !(encoding_entry.acts & kInput)) {
      fail(text("'", inner.name, "' acts on ", site_names(encoding_entry.acts), ", not on the input; write ",
                inner.name, " by itself or after '+'"));
    }
    if (inner.name == "none" && entry.needs_position)
      fail(text(entry.name, " needs an encoding to join with the words"));
    if (inner.name != "none") result.input = inner;
    if (!take(',') && (rest_.empty() || rest_.front() != ')')) fail("expected ',' or ')'");
    while (!take(')')) option(result.combination);
  }
  void place(Named named, Spec& result) {
    const unsigned acts = find_encoding(named.name).acts;
    if (acts & kInput) {
      if (result.input) fail(text("'", named.name, "' is a second input encoding; one is allowed"));
      result.input = std::move(named);
    } else if (acts != 0) {
      result.attention.push_back(std::move(named));
    }
  }
  // Every option with its value, checked, in the order of the entry.
  static std::vector<std::pair<std::string, std::string>> standard(
      std::string_view owner, const std::vector<OptionSpec>& specs,
      std::vector<std::pair<std::string, std::string>> given) {
    for (const OptionSpec& spec : specs) {
      const bool present =
          std::any_of(given.begin(), given.end(), [&](const auto& pair) { return pair.first == spec.name; });
      if (!present) given.emplace_back(spec.name, spec.standard);
    }
    return Options(owner, specs, given).all();
  }
  const std::string_view all_;
  std::string_view rest_;
};

// What is not standard, as "name=value" joined by ", ".
std::string differing(const Named& named, const std::vector<OptionSpec>& specs) {
  std::string out;
  for (const auto& [name, value] : named.options) {
    const auto spec =
        std::find_if(specs.begin(), specs.end(),
                     [&, key = std::string_view(name)](const OptionSpec& s) { return s.name == key; });
    if (spec != specs.end() && spec->standard == value) continue;
    out += (out.empty() ? "" : ", ") + name + "=" + value;
  }
  return out;
}
std::string print_named(const Named& named) {
  const std::string options = differing(named, find_encoding(named.name).options);
  return options.empty() ? named.name : named.name + "(" + options + ")";
}

}  // namespace

Spec Spec::parse(std::string_view text) { return Reader(trim(text)).spec(); }

std::string Spec::print() const {
  const CombinationEntry* entry = find_combination(combination.name);
  const std::string options = entry ? differing(combination, entry->options) : "";
  const bool plain = entry == combinations().front() && options.empty();
  std::string out;
  if (!plain)
    out = combination.name + "(" + (input ? print_named(*input) : "none") +
          (options.empty() ? "" : ", " + options) + ")";
  if (plain && input) out = print_named(*input);
  for (const Named& named : attention) out += (out.empty() ? "" : "+") + print_named(named);
  return out.empty() ? "none" : out;
}

std::unique_ptr<Encoding> make_encoding(const Named& named, const Shape& shape) {
  const Entry& entry = find_encoding(named.name);
  return entry.make(Options(named.name, entry.options, named.options), shape);
}
std::unique_ptr<Encoding> make_encoding(std::string_view spec, const Shape& shape) {
  const Spec parsed = Spec::parse(spec);
  if (parsed.input && parsed.attention.empty()) return make_encoding(*parsed.input, shape);
  if (!parsed.input && parsed.attention.size() == 1) return make_encoding(parsed.attention.front(), shape);
  if (!parsed.input && parsed.attention.empty()) return make_encoding(Named{"none", {}}, shape);
  throw Error(Fault::usage, text("'", spec, "' is more than one encoding"));
}

Position make_position(const Spec& spec, const Shape& shape) {
  const CombinationEntry* entry = find_combination(spec.combination.name);
  if (!entry) throw Error(Fault::usage, text("unknown combination '", spec.combination.name, "'"));
  Position position;
  position.combination = entry->make(Options(entry->name, entry->options, spec.combination.options), shape.C);
  if (spec.input) {
    Shape inner = shape;
    inner.C = position.combination->position_width();
    position.input = make_encoding(*spec.input, inner);
  }
  for (const Named& named : spec.attention) position.attention.push_back(make_encoding(named, shape));
  return position;
}

std::optional<std::int64_t> Position::positions_end() const {
  std::optional<std::int64_t> end = input ? input->positions_end() : std::nullopt;
  for (const auto& encoding : attention) {
    const auto other = encoding->positions_end();
    if (other && (!end || *other < *end)) end = other;
  }
  return end;
}

}  // namespace gnomon
