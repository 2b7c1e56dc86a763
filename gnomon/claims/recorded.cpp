#include "gnomon/claims/recorded.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace gnomon::claims {
namespace {

using Json = nlohmann::json;

struct Embedded {
  std::string_view name, json;
};
constexpr Embedded kEvidence[] = {
#include "evidence.inc"
};
constexpr std::string_view kLiterature = "literature", kSecondText = "second-text";

Number number_of(const Json& j) {
  Number n{.key = j.at("key"), .name = j.at("name"), .value = j.at("value")};
  if (!j.at("half_width").is_null()) n.half_width = j.at("half_width");
  n.n = j.at("n"), n.digits = j.at("digits");
  return n;
}

std::vector<Source> read_sources() {
  std::vector<Source> all;
  for (const Embedded& e : kEvidence) {
    if (e.name == kLiterature || e.name == kSecondText) continue;
    const Json j = Json::parse(e.json);
    Source s{std::string(e.name), j.at("what"), j.at("command"), {}};
    for (const Json& n : j.at("numbers")) s.numbers.push_back(number_of(n));
    all.push_back(std::move(s));
  }
  return all;
}

SecondText read_second_text() {
  SecondText s;
  for (const Embedded& e : kEvidence) {
    if (e.name != kSecondText) continue;
    const Json j = Json::parse(e.json);
    s = {j.at("what"), j.at("command"), j.at("text_sha256"), {}};
    for (const Json& c : j.at("claims")) s.claims.push_back({c.at("id"), c.at("verdict"), c.at("decides")});
  }
  return s;
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

const SecondText::Found* SecondText::find(std::string_view claim) const {
  const auto at =
      std::find_if(claims.begin(), claims.end(), [&](const Found& f) { return f.claim == claim; });
  return at == claims.end() ? nullptr : &*at;
}
const SecondText& second_text() {
  static const SecondText one = read_second_text();
  return one;
}

std::span<const Paper> literature() {
  static const std::vector<Paper> all = read_papers();
  return all;
}

}  // namespace gnomon::claims
