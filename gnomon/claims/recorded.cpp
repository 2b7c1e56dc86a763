#include "gnomon/claims/recorded.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace gnomon::claims {
namespace {

using Json = nlohmann::json;

struct Embedded {
  std::string_view name, json;
};
constexpr Embedded kEvidence[] = {
#include "evidence.inc"
};
constexpr std::string_view kLiterature = "literature";

Number number_of(const Json& j) {
  Number n{.key = j.at("key"), .name = j.at("name"), .value = j.at("value")};
  if (!j.at("half_width").is_null()) n.half_width = j.at("half_width");
  n.n = j.at("n"), n.digits = j.at("digits");
  return n;
}

std::vector<Source> read_sources() {
  std::vector<Source> all;
  for (const Embedded& e : kEvidence) {
    if (e.name == kLiterature) continue;
    const Json j = Json::parse(e.json);
    Source s{std::string(e.name), j.at("what"), j.at("command"), {}};
    for (const Json& n : j.at("numbers")) s.numbers.push_back(number_of(n));
    all.push_back(std::move(s));
  }
  return all;
}

std::vector<Paper> read_papers() {
  std::vector<Paper> all;
  for (const Embedded& e : kEvidence) {
    if (e.name != kLiterature) continue;
    for (const Json& j : Json::parse(e.json))
      all.push_back(
          {j.at("questions"), j.at("author"), j.at("year"), j.at("title"), j.at("finding"), j.at("link")});
  }
  return all;
}

}  // namespace

std::span<const Source> recorded() {
  static const std::vector<Source> all = read_sources();
  return all;
}

std::span<const Paper> literature() {
  static const std::vector<Paper> all = read_papers();
  return all;
}

}  // namespace gnomon::claims
