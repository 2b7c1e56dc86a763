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
constexpr std::string_view kLiterature = "literature", kOtherText = "text-", kEarlier = "earlier-run";

FoundNumber number_of(const Json& j) {
  FoundNumber n{.key = j.at("key"), .name = j.at("name"), .value = j.at("value")};
  if (!j.at("half_width").is_null()) n.half_width = j.at("half_width");
  n.n = j.at("n"), n.digits = j.at("digits");
  return n;
}

std::vector<NumberSource> read_sources() {
  std::vector<NumberSource> all;
  for (const Embedded& e : kEvidence) {
    if (e.name == kLiterature || e.name.starts_with(kOtherText) || e.name == kEarlier) continue;
    const Json j = Json::parse(e.json);
    NumberSource s{std::string(e.name), j.at("what"), j.at("command"), {}};
    for (const Json& n : j.at("numbers")) s.numbers.push_back(number_of(n));
    all.push_back(std::move(s));
  }
  return all;
}

std::vector<OtherText> read_other_texts() {
  std::vector<OtherText> all;
  for (const Embedded& e : kEvidence) {
    if (!e.name.starts_with(kOtherText)) continue;
    const Json j = Json::parse(e.json);
    OtherText& t = all.emplace_back(OtherText{j.at("what"), j.at("command"), j.at("text_sha256"), {}});
    for (const Json& c : j.at("claims")) t.claims.push_back({c.at("id"), c.at("verdict"), c.at("decides")});
  }
  return all;
}

EarlierRun read_earlier_run() {
  EarlierRun r;
  for (const Embedded& e : kEvidence) {
    if (e.name != kEarlier) continue;
    const Json j = Json::parse(e.json);
    r.what = j.at("what");
    for (const Json& c : j.at("claims")) r.claims.push_back({c.at("id"), c.at("verdict")});
  }
  return r;
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

std::span<const NumberSource> recorded() {
  static const std::vector<NumberSource> all = read_sources();
  return all;
}

namespace {
// In a list of what a run found of claims.
template <class Found>
const Found* of_claim(const std::vector<Found>& all, std::string_view claim) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Found& f) { return f.claim == claim; });
  return at == all.end() ? nullptr : &*at;
}
}  // namespace

const OtherText::Found* OtherText::find(std::string_view claim) const { return of_claim(claims, claim); }
const EarlierRun::Found* EarlierRun::find(std::string_view claim) const { return of_claim(claims, claim); }
const EarlierRun& earlier_run() {
  static const EarlierRun one = read_earlier_run();
  return one;
}
std::span<const OtherText> other_texts() {
  static const std::vector<OtherText> all = read_other_texts();
  return all;
}

std::span<const Paper> literature() {
  static const std::vector<Paper> all = read_papers();
  return all;
}

}  // namespace gnomon::claims
