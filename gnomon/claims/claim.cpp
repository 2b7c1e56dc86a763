#include "gnomon/claims/claim.h"

#include <algorithm>
#include <cmath>

#include "gnomon/core/error.h"
#include "gnomon/core/names.h"
#include "gnomon/core/text.h"
#include "gnomon/lens/table.h"

namespace gnomon::claims {

#define QUESTION(name) extern Question question_##name;
#include "gnomon/claims/questions/list.def"
#undef QUESTION

std::span<const Question* const> questions() {
  static const Question* const all[] = {
#define QUESTION(name) &question_##name,
#include "gnomon/claims/questions/list.def"
#undef QUESTION
  };
  return all;
}

report::HeatMap picture_of_table(std::string title, std::string note, std::string_view spec, std::size_t rows,
                                 std::size_t channels) {
  const auto T = std::int64_t(rows), C = std::int64_t(channels);
  Matrix table = position_table(spec, {C, 1, C, T, true}, T);
  return {std::move(title), std::move(note),         "channel",        "position", rows,
          channels,         std::move(table.values), std::string(spec)};
}

Record::Record(Claim claim) { claim.question->claims.push_back(std::move(claim)); }

std::span<const Claim* const> all_claims() {
  static const std::vector<const Claim*> all = [] {
    std::vector<const Claim*> out;
    for (const Question* q : questions()) {
      for (const Claim& c : q->claims) out.push_back(&c);
    }
    std::sort(out.begin(), out.end(), [](const Claim* a, const Claim* b) { return a->id < b->id; });
    return out;
  }();
  return all;
}

std::vector<const Claim*> select_claims(std::span<const std::string> names) {
  std::vector<const Claim*> out;
  std::vector<std::string_view> known{"all"};
  for (const Claim* c : all_claims()) known.push_back(c->id);
  for (const std::string& wanted : names) {
    bool found = false;
    for (const Claim* c : all_claims()) {
      const bool meant =
          wanted == "all" || c->id == wanted || (wanted.size() == 3 && c->id.substr(0, 3) == wanted);
      found |= meant;
      if (meant && std::find(out.begin(), out.end(), c) == out.end()) out.push_back(c);
    }
    if (!found)
      throw unknown("claim", wanted, known,
                    text("`gnomon claims` lists them; ", all_claims().front()->id.substr(0, 3), " to ",
                         all_claims().back()->id.substr(0, 3), " mean all claims of a text"));
  }
  return out;
}

FoundNumber& Finding::number(std::string key, std::string what, double value, int digits) {
  if (std::any_of(numbers.begin(), numbers.end(), [&](const FoundNumber& n) { return n.key == key; }))
    throw Error(Fault::bug, text("two numbers of a finding have the key '", key, "'"));
  return numbers.emplace_back(FoundNumber{std::move(key), std::move(what), value, std::nan(""), 1, digits});
}
void Finding::near(std::string key, std::string what, double value, double expected, double tolerance,
                   int digits) {
  between(std::move(key), std::move(what), value, expected - tolerance, expected + tolerance, digits);
}
void Finding::between(std::string key, std::string what, double value, double low, double high, int digits) {
  FoundNumber& n = number(std::move(key), std::move(what), value, digits);
  n.low = low, n.high = high;
}
FoundNumber& Finding::estimate(std::string key, std::string what, const Estimate& e, int digits) {
  FoundNumber& n = number(std::move(key), std::move(what), e.mean, digits);
  n.half_width = e.half_width, n.n = e.n;
  return n;
}
FoundNumber& Finding::share(std::string key, std::string what, const ShareEstimate& e, int digits) {
  FoundNumber& n = number(std::move(key), std::move(what), e.share, digits);
  n.from = e.low, n.to = e.high, n.n = e.n;
  return n;
}
bool Finding::fits() const {
  return std::all_of(numbers.begin(), numbers.end(), [](const FoundNumber& n) { return n.fits(); });
}

std::string_view name(Basis b) {
  return b == Basis::measurement ? "measurement" : b == Basis::argument ? "argument" : "citation";
}

void require_decidable(const Claim& c) {
  const auto refuse = [&](const char* why) { throw Error(Fault::bug, text("claim ", c.id, " ", why)); };
  const bool measured = c.rests_on == Basis::measurement;
  const auto may_be = [&](Verdict v) {
    const auto gives = [&](const VerdictRule& r) { return r.verdict == v; };
    return c.recorded == v || std::any_of(c.verdicts.begin(), c.verdicts.end(), gives);
  };
  if (may_be(Verdict::holds_if) == c.text.condition.empty())
    refuse("must have a condition if, and only if, it may hold under one");
  if (may_be(Verdict::open) == c.text.settles.empty())
    refuse("must say what would settle it if, and only if, it may stay open");
  if (measured != c.text.because.empty())
    refuse("must have an argument or a citation if, and only if, it rests on one");
  if (!measured && !c.verdicts.empty()) refuse("rests on no measurement but has rules");
  if (!measured) return;
  if (c.verdicts.empty() || c.verdicts.front().checks.empty())
    refuse("rests on measurement but declares no check");
  const auto gives = [&](const VerdictRule& r) { return r.verdict == c.recorded; };
  if (std::none_of(c.verdicts.begin(), c.verdicts.end(), gives))
    refuse("records a verdict that no rule gives");
  for (const VerdictRule& r : c.verdicts) {
    if (r.checks.empty() && &r != &c.verdicts.back()) refuse("has rules after the rule for every other case");
  }
}

Verdict judge(const Claim& c, const Finding& f, bool quick) {
  require_decidable(c);
  if (!f.fits()) return Verdict::differs;
  if (c.rests_on != Basis::measurement) return c.recorded;
  const Verdict found = decide(c.verdicts, f.numbers);
  return quick && needs_seeds(c.verdicts) ? Verdict::no_inference : found;
}

std::string answer_of(const Claim& c, const Finding& f) {
  for (const FoundNumber& n : f.numbers) {
    if (!n.fits())
      return text("No answer: “", n.name, "” came out as ", shown(n), ", which is not what was asked for.");
  }
  const Said s = said(c.text.answer, [&](std::string_view from, std::string_view key) -> const FoundNumber* {
    const auto at =
        std::find_if(f.numbers.begin(), f.numbers.end(), [&](const FoundNumber& n) { return n.key == key; });
    return from.empty() && at != f.numbers.end() ? &*at : nullptr;
  });
  if (!s.missing.empty())
    throw Error(Fault::bug, text("the answer of claim ", c.id, " uses the number '", s.missing.front(),
                                 "', which the measurement did not find"));
  return s.text;
}

std::string told(const Claim& c, Verdict v) {
  return v == Verdict::holds_if ? text(name(v), " ", c.text.condition) : std::string(name(v));
}

}  // namespace gnomon::claims
