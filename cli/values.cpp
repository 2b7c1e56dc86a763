#include "cli/values.h"

#include <algorithm>

#include "cli/completion.h"
#include "gnomon/bench/case.h"
#include "gnomon/claims/claim.h"
#include "gnomon/core/error.h"
#include "gnomon/models/explain/differences.h"
#include "gnomon/models/extend/extend.h"
#include "gnomon/models/lint/lint.h"
#include "gnomon/models/resolve/resolved.h"
#include "gnomon/models/run/architecture.h"
#include "gnomon/spec/combination.h"
#include "gnomon/study/settings/presets.h"

namespace gnomon::cli {
namespace {

using Words = std::vector<std::string>;

template <class List, class Get>
Words each(const List& list, const Get& get) {
  Words all;
  for (const auto& item : list) all.emplace_back(get(item));
  return all;
}
Words same(std::span<const std::string_view> words) { return {words.begin(), words.end()}; }

Words encoding_words() {
  Words all = each(encoding_names(), [](const Name& n) { return n.name; });
  for (const Name& joining : combination_names()) all.emplace_back(joining.name);
  return all;
}
Words spec_words() {
  Words all = each(encoding_names(), [](const Name& n) { return n.name; });
  for (const Name& joining : combination_names()) all.push_back(std::string(joining.name) + "(");
  return all;
}
Words claim_words() {
  Words all{"all"};
  for (const claims::Claim* claim : claims::all_claims()) {
    const std::string text(claim->id.substr(0, 3));
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
  }
  for (const claims::Claim* claim : claims::all_claims()) all.emplace_back(claim->id);
  return all;
}
Words setting_words() {
  StudyConfig config;
  return each(fields(config), [](const Field& f) { return std::string(f.key) + "="; });
}

const ValueKind kKinds[] = {
    {"FILE", Offered::files},
    {"DIR", Offered::folders},
    {"TEXT"},
    {"INT"},
    {"UINT"},
    {"FLOAT"},
    {"BYTES"},
    {"N"},
    {"PART"},
    {"ENCODING", Offered::words, encoding_words},
    {"SPEC", Offered::words, spec_words, "+([,"},
    {"KEY=VALUE", Offered::words, setting_words},
    {"PRESET", Offered::words, [] { return each(presets(), [](const Preset& p) { return p.name; }); }},
    {"BENCH", Offered::words,
     [] { return each(bench::bench_cases(1), [](const bench::BenchCase& c) { return c.name; }); }},
    {"CLAIM", Offered::words, claim_words},
    {"RULE", Offered::words, [] { return each(lint_rules(), [](const LintRule* r) { return r->id; }); }},
    {"QUANTITY", Offered::words, [] { return Words(quantity_words().begin(), quantity_words().end()); }},
    {"LEVEL", Offered::words,
     [] {
       return Words{"error", "warning", "note"};
     }},
    {"COMPONENT", Offered::words, [] { return same(component_names()); }},
    {"READER", Offered::words, [] { return same(reader_names()); }},
    {"WAY", Offered::words,
     [] { return each(extension_methods(), [](const ExtensionMethod& m) { return m.name; }); }},
    {"SITE", Offered::words, [] { return same(sites()); }},
    {"SHELL", Offered::words, [] { return each(shells(), [](const Shell& s) { return s.name; }); }},
    {"COMMAND", Offered::commands},
};

}  // namespace

std::span<const ValueKind> value_kinds() { return kKinds; }

const ValueKind& kind_of(const Option& option) {
  for (const ValueKind& kind : kKinds) {
    if (option.kind == kind.name) return kind;
  }
  throw Error(Fault::bug, "no kind of value is called " + option.kind);
}

}  // namespace gnomon::cli
