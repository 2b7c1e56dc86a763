#include "gnomon/pages/encodings.h"

#include <nlohmann/json.hpp>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/spec/scheme.h"

namespace gnomon::pages {

std::string allowed(const OptionSpec& o) {
  if (!o.words.empty()) return join(o.words, " | ");
  return text(o.whole ? "whole, " : "", shortest(o.least), " to ", shortest(o.most));
}

namespace {

using Json = nlohmann::ordered_json;

Json options_json(const std::vector<OptionSpec>& options) {
  Json all = Json::array();
  for (const auto& o : options) {
    Json j{{"name", o.name}, {"help", o.help}, {"standard", o.standard}};
    if (o.words.empty()) {
      j["least"] = o.least, j["most"] = o.most, j["whole"] = o.whole, j["list"] = o.list;
    } else {
      j["words"] = o.words;
    }
    all.push_back(j);
  }
  return all;
}
Json entry_json(const Entry& e) {
  return {{"name", e.name},
          {"aliases", e.aliases},
          {"title", e.title},
          {"formula", e.formula},
          {"latex", e.latex},
          {"paper", e.paper},
          {"year", e.year},
          {"acts", site_names(e.acts)},
          {"relative", e.relative},
          {"causal_only", e.causal_only},
          {"extrapolates", e.extrapolates},
          {"pitfall", e.pitfall},
          {"options", options_json(e.options)}};
}
Json entry_json(const CombinationEntry& c) {
  return {{"name", c.name},
          {"aliases", c.aliases},
          {"title", c.title},
          {"formula", c.formula},
          {"paper", c.paper},
          {"needs_position", c.needs_position},
          {"options", options_json(c.options)}};
}

}  // namespace

std::string encodings_json(const std::vector<const Entry*>& entries) {
  Json all = Json::array();
  for (const Entry* e : entries) all.push_back(entry_json(*e));
  return all.dump(1);
}

std::string combinations_json() {
  Json all = Json::array();
  for (const CombinationEntry* c : combinations()) all.push_back(entry_json(*c));
  return all.dump(1);
}

std::string encoding_json(std::string_view name) {
  if (const CombinationEntry* c = find_combination(name)) return entry_json(*c).dump(1);
  return entry_json(find_encoding(name)).dump(1);
}

namespace {

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}
// What a site costs in attention over T tokens with heads of D channels.
std::string cost(unsigned acts) {
  std::vector<std::string_view> parts;
  if (acts & kInput) parts.push_back("one vector per token, once");
  if (acts & kQk) parts.push_back("one map of q and k, O(T*D) per head");
  if (acts & kLogits) parts.push_back("one addition per pair");
  if (acts & kCross) parts.push_back("D multiply-adds per pair and term");
  if (acts & kValue) parts.push_back("one map or one term of the values");
  if (acts & kRows) parts.push_back("a sum, a network or a second product per pair");
  if (acts & kMask) parts.push_back("less: hidden keys are not computed");
  if (acts & kPositions) parts.push_back("none in attention");
  return parts.empty() ? "none" : join(parts, "; ");
}
std::string extrapolates(const Entry& e, const Encoding& encoding) {
  if (encoding.positions_end()) return "none beyond its table";
  return e.extrapolates ? "yes, by its authors" : "defined, but not claimed";
}
std::string list(const std::vector<OptionSpec>& options) {
  std::string all;
  for (const auto& o : options)
    all += text("- `", o.name, "=", o.standard, "`: ", o.help, " (",
                o.words.empty() ? allowed(o) : join(o.words, ", "), ")\n");
  return all;
}

std::string called(const std::vector<std::string_view>& aliases) {
  return aliases.empty() ? "" : text(" Also called ", join(aliases, ", "), ".");
}

std::string section(const Entry& e) {
  return text("\n## ", e.name, "\n\n", e.title, ". [Source](", e.paper, "), ", e.year, ".", called(e.aliases),
              "\n\n`", cell(e.formula), "`\n\nActs on: ", site_names(e.acts),
              ". A common shift of all positions ", e.relative ? "changes nothing" : "changes the result",
              ".", e.causal_only ? " For causal models only." : "", " Beware: ", e.pitfall, ".\n",
              e.options.empty() ? "" : "\n", list(e.options));
}

}  // namespace

std::string encodings_markdown() {
  const Shape shape{128, 4, 32, 128, true};
  std::string out =
      "# Encodings\n\nGenerated from the registry by `gnomon encodings --markdown`; a test compares the two. "
      "Parameters are counted for width 128, 4 heads and a window of 128 tokens; if each layer has its own, "
      "for one layer. No encoding allocates a (T, T) matrix, because attention works in tiles. Measured cost "
      "and precision: "
      "[costs.md](costs.md).\n\n"
      "| encoding | acts on | year | parameters | beyond the trained length | cost "
      "|\n|---|---|---|---|---|---|\n";
  for (const Entry* e : encodings()) {
    const auto made = make_encoding(e->name, shape);
    out += text("| [", e->name, "](#", e->name, ") | ", site_names(e->acts), " | ", e->year, " | ",
                made->param_count(), made->per_layer() && made->param_count() ? " per layer" : "", " | ",
                extrapolates(*e, *made), " | ", cost(e->acts), " |\n");
  }
  for (const Entry* e : encodings()) out += section(*e);
  out += "\n# Ways to combine word and position\n";
  for (const CombinationEntry* e : combinations()) {
    out += text("\n## ", e->name, "\n\n", e->title, ". [Source](", e->paper, ").", called(e->aliases),
                "\n\n`", cell(e->formula), "`\n\n", list(e->options));
  }
  return out;
}

}  // namespace gnomon::pages
