#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/spec/scheme.h"
#include "gnomon/spec/together.h"

namespace gnomon {
namespace {

// A recursive reader of  spec = part { "+" part },  part = name [ "(" argument { "," argument } ")" ] |
// "[" layer { "," layer } "]",  layer = encoding { "+" encoding },  argument = name "=" value | part (the first one of a combination).
class Reader {
 public:
  explicit Reader(std::string_view spec) : all_(spec), rest_(spec) {}

  Spec spec() {
    Spec result{{std::string(combinations().front()->name), {}}, {}, {}, {}, {}};
    bool combined = false;
    do {
      if (take('[')) {
        layers(result);
        continue;
      }
      const std::string_view name = word("an encoding or a combination");
      if (const CombinationEntry* entry = find_combination(name)) {
        if (combined || result.input) fail("found a second way to join words and position; one is allowed");
        combined = true;
        combination(*entry, result);
      } else {
        place(encoding(name), result);
      }
    } while (take('+'));
    if (!rest_.empty()) expected("'+' or the end");
    result.combination = completed(result.combination);
    return result;
  }

 private:
  // Before `rest`, which is part of the text.
  std::string at(std::string_view rest) const {
    return text("spec '", all_, "', column ", rest.data() - all_.data() + 1);
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(Fault::usage, text(at(rest_), ": ", why), {.place = at(rest_)});
  }
  [[noreturn]] void expected(const std::string& what) const {
    const std::string found = rest_.empty() ? "the end" : text("'", rest_.front(), "'");
    throw Error(Fault::usage, text(at(rest_), ": expected ", what, ", found ", found),
                {at(rest_), found, what, {}});
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
             c == '.' || c == '-' || c == '/';
    };
    while (n < rest_.size() &&
           (part_of_word(rest_[n]) || (rest_[n] == '+' && n > 0 && rest_[n - 1] == 'e' && rest_[0] <= '9')))
      ++n;
    if (n == 0) expected(std::string(what));
    const std::string_view found = rest_.substr(0, n);
    rest_.remove_prefix(n);
    skip();
    return found;
  }
  Named encoding(std::string_view name) {
    Named named{std::string(known(name).name), {}};
    if (take('(')) {
      while (!take(')')) option(named);
    }
    return completed(named);
  }
  const Entry& known(std::string_view name) const {
    for (const Entry* entry : encodings()) {
      if (entry->name == name) return *entry;
    }
    if (find_combination(name))
      fail(text("'", name, "' is a way to join words and position; expected an encoding"));
    std::vector<Name> names = encoding_names();
    for (Name& joining : combination_names()) names.push_back(std::move(joining));
    throw unknown("encoding or combination", name, names, kEncodingsLister).at(at(name));
  }
  void option(Named& named) {
    const std::string_view name = word("an option");
    if (!take('=')) expected(text("'=' after '", name, "'"));
    named.options.emplace_back(name, word("a value"));
    if (!take(',') && (rest_.empty() || rest_.front() != ')')) expected("',' or ')'");
  }
  void combination(const CombinationEntry& entry, Spec& result) {
    result.combination = {std::string(entry.name), {}};
    if (!take('('))
      expected(text("'(' and an encoding to join to the words, as in ", entry.name, "(sinusoidal)"));
    const Named inner = encoding(word("an encoding"));
    const Entry& encoding_entry = find_encoding(inner.name);
    if (inner.name != "none" && !(encoding_entry.acts & kInput)) {
      fail(text("'", inner.name, "' acts on ", site_names(encoding_entry.acts), ", not on the input; write ",
                inner.name, " by itself or after '+'"));
    }
    if (inner.name == "none" && entry.needs_position)
      fail(text(entry.name, " needs an encoding to join to the words; found none"));
    if (inner.name != "none") result.input = inner;
    if (!take(',') && (rest_.empty() || rest_.front() != ')')) expected("',' or ')'");
    while (!take(')')) option(result.combination);
  }
  void layers(Spec& result) {
    if (!result.layers.empty()) fail("found a second list of layers; one is allowed");
    do {
      result.layers.emplace_back();
      do {
        Named named = encoding(word("an encoding"));
        const unsigned acts = find_encoding(named.name).acts;
        if (acts & (kInput | kPositions)) {
          fail(text("'", named.name, "' acts on ", site_names(acts),
                    ", before the first layer; write it outside [ ]"));
        }
        if (acts != 0) result.layers.back().push_back(std::move(named));
      } while (take('+'));
    } while (take(','));
    if (!take(']')) expected("',' or ']'");
  }
  void place(Named named, Spec& result) {
    const unsigned acts = find_encoding(named.name).acts;
    if (acts & kInput) {
      if (result.input) fail(text("'", named.name, "' is a second input encoding; one is allowed"));
      result.input = std::move(named);
    } else if (acts & kPositions) {
      result.samplers.push_back(std::move(named));
    } else if (acts != 0) {
      result.attention.push_back(std::move(named));
    }
  }
  const std::string_view all_;
  std::string_view rest_;
};

// The options of what has this name.
const std::vector<OptionSpec>& options_of(std::string_view name) {
  const CombinationEntry* joining = find_combination(name);
  return joining ? joining->options : find_encoding(name).options;
}
// "name=value" joined by ", ".
std::string written(const NamedOptions& options) {
  std::string all;
  for (const auto& [key, value] : options) all += (all.empty() ? "" : ", ") + key + "=" + value.print();
  return all;
}
std::string print_named(const Named& named) { return shortened(named).print_given(); }

}  // namespace

std::optional<OptionValue> Named::option(std::string_view option_name) const {
  for (const auto& [key, value] : options)
    if (key == option_name) return value;
  for (const OptionSpec& spec : options_of(name))
    if (spec.name == option_name) return spec.standard_value();
  return std::nullopt;
}
double Named::number(std::string_view option_name) const {
  const auto value = option(option_name);
  if (!value) throw Error(Fault::bug, text(name, " has no option ", option_name));
  return value->number();
}
std::string Named::print_given() const {
  return options.empty() ? name : name + "(" + written(options) + ")";
}
Named completed(const Named& named) {
  return {named.name, Options::completed(named.name, options_of(named.name), named.options).all()};
}
Named shortened(const Named& named) {
  const std::vector<OptionSpec>& specs = options_of(named.name);
  Named out{named.name, {}};
  for (const auto& [name, value] : named.options) {
    const auto spec =
        std::find_if(specs.begin(), specs.end(),
                     [&, key = std::string_view(name)](const OptionSpec& s) { return s.name == key; });
    if (spec == specs.end() || spec->standard != value.print()) out.options.emplace_back(name, value);
  }
  return out;
}

Spec Spec::parse(std::string_view text) { return Reader(trim(text)).spec(); }

std::string Spec::print() const {
  const CombinationEntry* entry = find_combination(combination.name);
  const std::string options = entry ? written(shortened(combination).options) : "";
  const bool plain = entry == combinations().front() && options.empty();
  std::string out;
  if (!plain)
    out = combination.name + "(" + (input ? print_named(*input) : "none") +
          (options.empty() ? "" : ", " + options) + ")";
  if (plain && input) out = print_named(*input);
  const auto append = [](std::string& to, const std::vector<Named>& all) {
    for (const Named& named : all) to += (to.empty() ? "" : "+") + print_named(named);
  };
  append(out, attention);
  if (!layers.empty()) {
    std::vector<std::string> each;
    for (const auto& layer : layers) {
      each.emplace_back();
      append(each.back(), layer);
      if (each.back().empty()) each.back() = "none";
    }
    const std::vector<std::string_view> views(each.begin(), each.end());
    out += (out.empty() ? "[" : "+[") + join(views, ", ") + "]";
  }
  append(out, samplers);
  return out.empty() ? "none" : out;
}

std::unique_ptr<Encoding> make_encoding(const Named& named, const Shape& shape) {
  shape.check();
  const Entry& entry = find_encoding(named.name);
  return entry.make(Options(named.name, entry.options, named.options), shape);
}
std::unique_ptr<Encoding> make_encoding(std::string_view spec, const Shape& shape) {
  const Spec parsed = Spec::parse(spec);
  std::vector<Named> all = parsed.attention;
  if (parsed.input) all.push_back(*parsed.input);
  all.insert(all.end(), parsed.samplers.begin(), parsed.samplers.end());
  if (all.size() == 1 && parsed.layers.empty()) return make_encoding(all.front(), shape);
  if (all.empty() && parsed.layers.empty()) return make_encoding(Named{"none", {}}, shape);
  throw Error(Fault::usage, text("'", spec, "' has several encodings; allowed is one"));
}

namespace {

std::unique_ptr<Encoding> make_checked(const Named& named, const Shape& shape) {
  const Entry& entry = find_encoding(named.name);
  if (entry.causal_only && !shape.causal) {
    throw Error(Fault::usage,
                text(named.name, " is not defined for keys after the query; it needs a causal model"));
  }
  return make_encoding(named, shape);
}

// The name, and the options as text, by which encodings are put in order.
std::pair<std::string, std::vector<std::string>> written(const Named& named) {
  std::vector<std::string> options;
  for (const auto& [key, value] : named.options) options.push_back(key), options.push_back(value.print());
  return {named.name, options};
}

}  // namespace

Scheme make_scheme(const Spec& spec, const Shape& shape, std::int64_t joined,
                   std::span<const Shape> of_patterns) {
  shape.check();
  Shape inner = shape;
  if (joined) inner.C = joined;
  const CombinationEntry* entry = find_combination(spec.combination.name);
  if (!entry) throw unknown("combination", spec.combination.name, combination_names(), kEncodingsLister);
  Scheme scheme;
  scheme.combination = entry->make(Options(entry->name, entry->options, spec.combination.options), inner);
  if (spec.input) {
    inner.C = scheme.combination->position_width();
    scheme.input = make_checked(*spec.input, inner);
    const std::int64_t words = scheme.combination->word_width();
    if (scheme.input->reads_content() && words != inner.C)
      throw Error(Fault::usage,
                  text(spec.input->name, " has ", inner.C, " channels and reads words of ", words,
                       "; allowed are ways to join words and position that leave both the whole width"));
  }
  std::vector<Named> names;
  const auto add = [&](const Named& named, const Shape& own) {
    names.push_back(named);
    scheme.attention.push_back({make_checked(named, own), find_encoding(named.name).acts});
    return scheme.attention.size() - 1;
  };
  std::vector<std::size_t> everywhere;
  for (const Named& named : spec.attention) everywhere.push_back(add(named, shape));
  scheme.patterns.assign(std::max<std::size_t>(spec.layers.size(), 1), everywhere);
  for (std::size_t l = 0; l < scheme.patterns.size(); ++l) {
    for (std::size_t n = 0; l < spec.layers.size() && n < spec.layers[l].size(); ++n)
      scheme.patterns[l].push_back(add(spec.layers[l][n], of_patterns.empty() ? shape : of_patterns[l]));
    std::vector<Member> members;
    for (const std::size_t n : scheme.patterns[l]) {
      const Named& named = names[n];
      members.push_back({named.name, scheme.attention[n].encoding.get(), scheme.attention[n].acts});
    }
    check_together(members);
    // `+` has no order: both spellings run in the same one.
    std::sort(scheme.patterns[l].begin(), scheme.patterns[l].end(),
              [&](std::size_t n, std::size_t m) { return written(names[n]) < written(names[m]); });
    // Who copies q and k for far keys copies what the others made of them.
    std::stable_partition(scheme.patterns[l].begin(), scheme.patterns[l].end(),
                          [&](std::size_t n) { return widths(*scheme.attention[n].encoding).far == 0; });
  }
  for (const Named& named : spec.samplers) scheme.samplers.push_back(make_checked(named, shape));
  return scheme;
}

std::optional<std::int64_t> Scheme::positions_end() const {
  std::optional<std::int64_t> end = input ? input->positions_end() : std::nullopt;
  const auto narrow = [&](const Encoding& encoding) {
    const auto other = encoding.positions_end();
    if (other && (!end || *other < *end)) end = other;
  };
  for (const auto& at : attention) narrow(*at.encoding);
  for (const auto& sampler : samplers) narrow(*sampler);
  return end;
}

}  // namespace gnomon
