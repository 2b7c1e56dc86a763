#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "gnomon/combine/spec.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string allowed(const OptionSpec& o) {
  if (!o.words.empty()) return join(o.words, " | ");
  return fmt::format("{}{} to {}", o.whole ? "whole, " : "", shortest(o.least), shortest(o.most));
}

Json options_json(const std::vector<OptionSpec>& options) {
  Json all = Json::array();
  for (const auto& o : options) {
    Json j{{"name", o.name}, {"help", o.help}, {"standard", o.standard}};
    if (o.words.empty()) {
      j["least"] = o.least, j["most"] = o.most, j["whole"] = o.whole;
    } else {
      j["words"] = o.words;
    }
    all.push_back(j);
  }
  return all;
}
Json entry_json(const Entry& e) {
  return {{"name", e.name},
          {"title", e.title},
          {"formula", e.formula},
          {"paper", e.paper},
          {"year", e.year},
          {"acts", site_names(e.acts)},
          {"relative", e.relative},
          {"causal_only", e.causal_only},
          {"extrapolates", e.extrapolates},
          {"pitfall", e.pitfall},
          {"options", options_json(e.options)}};
}

void describe_options(const std::vector<OptionSpec>& options) {
  for (const auto& o : options) {
    fmt::print("  {} = {}\n      {}\n      allowed: {}\n", o.name, o.standard, o.help, allowed(o));
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

// --- docs/encodings.md

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}
// What a site costs in attention over T tokens with heads of D channels.
std::string cost(unsigned acts) {
  std::vector<std::string_view> parts;
  if (acts & kInput) parts.push_back("a vector a token, once");
  if (acts & kQk) parts.push_back("a map of q and k, O(T*D) a head");
  if (acts & kLogits) parts.push_back("an addition a pair");
  if (acts & kCross) parts.push_back("D multiply-adds a pair and term");
  if (acts & kValue) parts.push_back("a map or a term of the values");
  if (acts & kRows) parts.push_back("a sum, a network or a second product a pair");
  if (acts & kMask) parts.push_back("less: hidden keys are not computed");
  if (acts & kPositions) parts.push_back("none in attention");
  return parts.empty() ? "none" : join(parts, "; ");
}
std::string extrapolates(const Entry& e, const Encoding& encoding) {
  if (encoding.positions_end()) return "no value beyond its table";
  return e.extrapolates ? "yes, by its authors" : "defined, not claimed";
}
void print_options(const std::vector<OptionSpec>& options) {
  for (const auto& o : options)
    fmt::print("- `{}={}`: {} ({})\n", o.name, o.standard, o.help,
               o.words.empty() ? allowed(o) : join(o.words, ", "));
}

int markdown() {
  const Shape shape{128, 4, 32, 128, true};
  fmt::print(
      "# Encodings\n\nMade from the registry by `gnomon encodings --markdown`; a test compares. Parameters "
      "are counted for "
      "width 128, 4 heads and a window of 128 tokens, for one layer where each layer has its own. None "
      "allocates (T, T): "
      "attention goes in tiles. Measured cost and precision: "
      "[costs.md](costs.md).\n\n"
      "| encoding | acts on | year | parameters | beyond the trained length | cost "
      "|\n|---|---|---|---|---|---|\n");
  for (const Entry* e : gnomon::encodings()) {
    const auto made = make_encoding(e->name, shape);
    fmt::print("| [{0}](#{0}) | {1} | {2} | {3}{4} | {5} | {6} |\n", e->name, site_names(e->acts), e->year,
               made->param_count(), made->per_layer() && made->param_count() ? " a layer" : "",
               extrapolates(*e, *made), cost(e->acts));
  }
  for (const Entry* e : gnomon::encodings()) {
    fmt::print(
        "\n## {}\n\n{}. [Source]({}), {}.\n\n`{}`\n\nActs on: {}. A common shift of all positions {}.{} "
        "Beware: {}.\n",
        e->name, e->title, e->paper, e->year, cell(e->formula), site_names(e->acts),
        e->relative ? "changes nothing" : "changes the result",
        e->causal_only ? " For causal models only." : "", e->pitfall);
    if (!e->options.empty()) fmt::print("\n");
    print_options(e->options);
  }
  fmt::print("\n# Ways of joining word and position\n");
  for (const CombinationEntry* e : combinations()) {
    fmt::print("\n## {}\n\n{}. [Source]({}).\n\n`{}`\n\n", e->name, e->title, e->paper, cell(e->formula));
    print_options(e->options);
  }
  return 0;
}

}  // namespace

int encodings(const EncodingsOptions& o) {
  if (o.markdown) return markdown();
  if (!o.name.empty()) {
    const CombinationEntry* combination = find_combination(o.name);
    if (o.json) {
      fmt::print("{}\n", (combination ? Json{{"name", combination->name},
                                             {"title", combination->title},
                                             {"paper", combination->paper},
                                             {"options", options_json(combination->options)}}
                                      : entry_json(find_encoding(o.name)))
                             .dump(1));
    } else {
      combination ? describe(*combination) : describe(find_encoding(o.name));
    }
    return 0;
  }
  if (o.json) {
    Json all = Json::array();
    for (const Entry* e : gnomon::encodings()) all.push_back(entry_json(*e));
    fmt::print("{}\n", all.dump(1));
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
