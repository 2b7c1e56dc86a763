// What a run found, read back from its claims.json, to be told in the words of today.
#include <algorithm>

#include "gnomon/claims/page/page.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/report/figure_json-inl.h"

namespace gnomon::pages {
namespace {

using namespace claims;

constexpr std::int64_t kMost = 1'000'000'000;
constexpr std::size_t kMostOfATable = 4096;

FoundNumber number_of(const JsonValue& j) {
  FoundNumber n{.key = j.member("key").text(),
                .name = j.member("name").text(),
                .value = j.member("value").number_or_nan()};
  n.half_width = j.member("half_width").number_or_nan();
  n.from = j.member("from").number_or_nan(), n.to = j.member("to").number_or_nan();
  n.n = j.member("n").whole(0, kMost), n.digits = int(j.member("digits").whole(0, 20));
  if (!j.member("low").null()) n.low = j.member("low").number();
  if (!j.member("high").null()) n.high = j.member("high").number();
  return n;
}

Verdict verdict_of(const JsonValue& j) {
  for (int v = 0; v <= int(Verdict::differs); ++v) {
    if (name(Verdict(v)) == j.text()) return Verdict(v);
  }
  j.wrong("the name of a verdict");
}

report::Figure figure_of(const JsonValue& j) {
  report::Figure figure = report::figure_of(j);
  const auto map = std::get_if<report::HeatMap>(&figure);
  if (map == nullptr || map->encoding.empty()) return figure;
  if (map->rows > kMostOfATable || map->columns > kMostOfATable) j.wrong("a table of at most 4096 by 4096");
  return picture_of_table(map->title, map->note, map->encoding, map->rows, map->columns);
}

// A rule that has not changed keeps its verdict and its p value; by another one, or by an argument, the numbers are judged again.
Answered answered(const JsonValue& j, bool quick) {
  const Claim* claim = select_claims(std::vector{j.member("id").text()}).front();
  Answered a{claim, {}, verdict_of(j.member("verdict")), 0};
  for (const JsonValue& n : j.member("numbers").list()) a.finding.numbers.push_back(number_of(n));
  for (const JsonValue& f : j.member("figures").list()) a.finding.figures.push_back(figure_of(f));
  if (a.verdict == Verdict::unmeasurable) {
    a.answer = j.member("answer").text();
    return a;
  }
  const bool by_intervals = needs_seeds(claim->verdicts) && !quick;
  const bool same_rule =
      claim->rests_on == Basis::measurement && j.member("decides").text() == explained(claim->verdicts, {});
  if (same_rule) {
    if (by_intervals) a.p = j.member("p").number_or_nan();
  } else {
    a.verdict = judge(*claim, a.finding, quick);
    if (by_intervals && a.verdict != Verdict::differs) a.p = p_value(claim->verdicts, a.finding.numbers);
  }
  a.answer = answer_of(*claim, a.finding);
  return a;
}

Recipe recipe_of(const JsonValue& j, std::int64_t seeds) {
  Recipe r{.data = "text", .spec = "none"};
  const auto whole = [&](const char* key) { return j.member(key).whole(1, kMost); };
  r.layers = whole("layers"), r.width = whole("width"), r.length = whole("length"), r.batch = whole("batch"),
  r.steps = whole("steps"), r.seeds = seeds;
  return r;
}

}  // namespace

Again claims_again(std::string_view bytes, std::string_view where, std::vector<Answered> later) {
  const StrictJson json = parse_json(bytes, where);
  const JsonValue all(json, std::string(where));
  const std::int64_t seeds = all.member("seeds").whole(1, 1000);
  Again again;
  ClaimsSummary& s = again.summary;
  s.config.quick = all.member("quick").flag(), s.config.text_path = all.member("text").text();
  s.text_sha256 = all.member("text_sha256").text(), s.seeds = seeds;
  s.causal = recipe_of(all.member("budgets").member("causal"), seeds);
  s.masked = recipe_of(all.member("budgets").member("encoder"), seeds);
  s.causal.learning_rate = all.member("rate").number();
  for (const auto& [spec, rate] : all.member("rates").members()) s.rates[std::string(spec)] = rate.number();
  s.rules = all.member("rules").text();
  s.minutes = all.member("minutes").number(), s.trained = all.member("trained").whole(0, kMost);
  for (const JsonValue& run : all.member("diverged").list()) s.diverged.push_back(run.text());
  if (const auto measured_again = all.find("again")) {
    for (const JsonValue& id : measured_again->list()) s.again.push_back(id.text());
  }
  for (const Answered& a : later) s.again.emplace_back(a.claim->id);
  std::sort(s.again.begin(), s.again.end());
  s.again.erase(std::unique(s.again.begin(), s.again.end()), s.again.end());
  for (const JsonValue& claim : all.member("claims").list()) {
    const auto since = std::find_if(later.begin(), later.end(), [&](const Answered& a) {
      return a.claim->id == claim.member("id").text();
    });
    s.answers.push_back(since == later.end() ? answered(claim, s.config.quick) : std::move(*since));
    s.config.chosen.push_back(s.answers.back().claim);
  }
  correct(s.answers);
  s.differing = std::size_t(
      std::count_if(s.answers.begin(), s.answers.end(), [](const Answered& a) { return !a.as_recorded(); }));
  // Said once, of a file whose words were written again, too.
  const std::string machine(all.member("machine").text()),
      again_from = text(", words written again from ", Path(where).filename().string());
  again.how = {all.member("command").text(), machine.ends_with(again_from) ? machine : machine + again_from};
  return again;
}

}  // namespace gnomon::pages
