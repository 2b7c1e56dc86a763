#include "gnomon/pages/encodings.h"

#include <fmt/core.h>

#include <set>

#include "cli/commands.h"
#include "cli/table.h"
#include "cli/wrapped.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/spec/scheme.h"

namespace gnomon::cli {
namespace {

void say(const std::string& sentence, std::size_t indent = 2) {
  fmt::print("{}{}\n", std::string(indent, ' '), wrapped(sentence, indent));
}

void describe_options(const std::vector<OptionSpec>& options) {
  if (!options.empty()) say("options and their defaults:", 0);
  for (const auto& o : options) {
    say(text(o.name, " = ", o.standard));
    say(std::string(o.help), 6);
    say(text("allowed: ", pages::allowed(o)), 6);
  }
}
void describe_head(std::string_view name, std::string_view title, std::string_view formula,
                   const std::vector<std::string_view>& aliases) {
  say(text(name, ": ", title), 0);
  say(std::string(formula));
  if (!aliases.empty()) say("also called: " + join(aliases, ", "));
}
void describe(const Entry& e) {
  describe_head(e.name, e.title, e.formula, e.aliases);
  say(text(e.paper, " (", e.year, ")"));
  say("acts on: " + site_names(e.acts));
  say(text("a common shift of all positions ", e.relative ? "changes nothing" : "changes the result"));
  if (e.causal_only) say("for causal models only");
  say(text("beware: ", e.pitfall));
  describe_options(e.options);
}
void describe(const CombinationEntry& e) {
  describe_head(e.name, e.title, e.formula, e.aliases);
  say(std::string(e.paper));
  say(text("used as: ", e.name, "(ENCODING)"));
  describe_options(e.options);
}

}  // namespace

namespace {

// Of a spec all that it names: rope+alibi, concat(sinusoidal).
void describe_all(const std::string& spec) {
  const Spec parsed = Spec::parse(spec);
  std::vector<Named> all = parsed.attention;
  if (parsed.input) all.insert(all.begin(), *parsed.input);
  for (const auto& layer : parsed.layers) all.insert(all.end(), layer.begin(), layer.end());
  all.insert(all.end(), parsed.samplers.begin(), parsed.samplers.end());
  if (spec == "none") all.push_back({"none", {}});
  std::set<std::string_view> told;
  if (const CombinationEntry* joined = find_combination(parsed.combination.name); joined != combinations()[0])
    describe(*joined), fmt::print("\n");
  for (const Named& named : all) {
    if (!told.empty() && !told.contains(named.name)) fmt::print("\n");
    if (told.insert(named.name).second) describe(find_encoding(named.name));
  }
}

// As it is written, so that a column of sites and one of titles stand beside the name.
void list(const std::vector<const Entry*>& entries) {
  TextTable table({"encoding", "acts on", "year", "title"});
  table.words(1).words(2).words(3);
  for (const Entry* e : entries)
    table.add({std::string(e->name), site_names(e->acts), text(e->year), std::string(e->title)});
  fmt::print("{}", table.print());
}

void list_combinations() {
  TextTable table({"combination", "title"});
  table.words(1);
  for (const CombinationEntry* e : combinations()) table.add({std::string(e->name), std::string(e->title)});
  fmt::print("\n{}", table.print());
}

EncodingFilter filter_of(const EncodingsOptions& o) {
  EncodingFilter filter = o.filter;
  for (const std::string& site : o.acts) filter.acts |= site_named(site);
  return filter;
}

}  // namespace

int encodings(const EncodingsOptions& o) {
  const EncodingFilter filter = filter_of(o);
  const bool asked = !o.search.empty() || filter != EncodingFilter{};
  if (asked && (!o.name.empty() || o.markdown))
    throw Error(Fault::usage, "encodings: a search takes no NAME and no --markdown");
  if (o.markdown) {
    fmt::print("{}", pages::encodings_markdown());
    return 0;
  }
  const std::vector<const Entry*> found = search_encodings(o.search, filter);
  if (o.json) {
    fmt::print("{}\n", o.name.empty() ? pages::encodings_json(found) : pages::encoding_json(o.name));
    return 0;
  }
  if (const CombinationEntry* combination = find_combination(o.name)) {
    describe(*combination);
  } else if (!o.name.empty()) {
    describe_all(o.name);
  } else {
    list(found);
    if (asked) {
      fmt::print("{} of {} encodings\n", found.size(), gnomon::encodings().size());
      return 0;
    }
    list_combinations();
    fmt::print("\n{}\n",
               wrapped("Write encodings as a spec: sinusoidal, 'rope(theta=500)', 'concat(sinusoidal, "
                       "width=16)' or rope+alibi. '[rope+window(size=64), none]' repeats a list "
                       "over the layers. `gnomon encodings NAME` lists the options."));
  }
  return 0;
}

}  // namespace gnomon::cli
