#include "gnomon/pages/encodings.h"

#include <fmt/core.h>

#include "cli/commands.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

void describe_options(const std::vector<OptionSpec>& options) {
  for (const auto& o : options) {
    fmt::print("  {} = {}\n      {}\n      allowed: {}\n", o.name, o.standard, o.help, pages::allowed(o));
  }
}
void describe(const Entry& e) {
  fmt::print("{}: {}\n  {}\n  {} ({})\n  acts on: {}\n  a common shift of all positions {}\n", e.name,
             e.title, e.formula, e.paper, e.year, site_names(e.acts),
             e.relative ? "changes nothing" : "changes the result");
  if (e.causal_only) fmt::print("  for causal models only\n");
  fmt::print("  beware: {}\n", e.pitfall);
  if (!e.options.empty()) fmt::print("options and their standard:\n");
  describe_options(e.options);
}
void describe(const CombinationEntry& e) {
  fmt::print("{}: {}\n  {}\n  {}\n  used as: {}(ENCODING)\n", e.name, e.title, e.formula, e.paper, e.name);
  if (!e.options.empty()) fmt::print("options and their standard:\n");
  describe_options(e.options);
}

}  // namespace

int encodings(const EncodingsOptions& o) {
  if (o.markdown) {
    fmt::print("{}", pages::encodings_markdown());
    return 0;
  }
  if (o.json) {
    fmt::print("{}\n", o.name.empty() ? pages::encodings_json() : pages::encoding_json(o.name));
    return 0;
  }
  if (!o.name.empty()) {
    const CombinationEntry* combination = find_combination(o.name);
    combination ? describe(*combination) : describe(find_encoding(o.name));
    return 0;
  }
  fmt::print("{:<18} {:<13} {}  {}\n", "encoding", "acts on", "year", "title");
  for (const Entry* e : gnomon::encodings())
    fmt::print("{:<18} {:<13} {}  {}\n", e->name, site_names(e->acts), e->year, e->title);
  fmt::print("\n{:<18} {}\n", "joined by", "title");
  for (const CombinationEntry* e : combinations()) fmt::print("{:<18} {}\n", e->name, e->title);
  fmt::print(
      "\nA spec names them: sinusoidal, 'rope(theta=500)', 'concat(sinusoidal, width=16)', "
      "rope+alibi,\nand for each layer its own, cycled: '[rope+window(size=64), none]'.\n`gnomon encodings "
      "NAME` lists the options.\n");
  return 0;
}

}  // namespace gnomon::cli
