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
          {"paper", e.paper},
          {"year", e.year},
          {"acts", site_names(e.acts)},
          {"relative", e.relative},
          {"options", options_json(e.options)}};
}

void describe_options(const std::vector<OptionSpec>& options) {
  for (const auto& o : options) {
    fmt::print("  {} = {}\n      {}\n      allowed: {}\n", o.name, o.standard, o.help, allowed(o));
  }
}
void describe(const Entry& e) {
  fmt::print("{}: {}\n  {} ({})\n  acts on: {}\n  a common shift of all positions {}\n", e.name, e.title,
             e.paper, e.year, site_names(e.acts), e.relative ? "changes nothing" : "changes the result");
  if (!e.options.empty()) fmt::print("options and their standard:\n");
  describe_options(e.options);
}
void describe(const CombinationEntry& e) {
  fmt::print("{}: {}\n  {}\n  used as: {}(ENCODING)\n", e.name, e.title, e.paper, e.name);
  if (!e.options.empty()) fmt::print("options and their standard:\n");
  describe_options(e.options);
}

}  // namespace

int encodings(const EncodingsOptions& o) {
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
  fmt::print("{:<12} {:<7} {}  {}\n", "encoding", "acts on", "year", "title");
  for (const Entry* e : gnomon::encodings())
    fmt::print("{:<12} {:<7} {}  {}\n", e->name, site_names(e->acts), e->year, e->title);
  fmt::print("\n{:<12} {}\n", "joined by", "title");
  for (const CombinationEntry* e : combinations()) fmt::print("{:<12} {}\n", e->name, e->title);
  fmt::print(
      "\nA spec names them: sinusoidal, 'rope(theta=500)', 'concat(sinusoidal, width=16)', "
      "rope+alibi.\n`gnomon encodings NAME` lists the options.\n");
  return 0;
}

}  // namespace gnomon::cli
