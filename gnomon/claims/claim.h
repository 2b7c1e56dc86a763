#pragma once
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/claims/models/desk.h"
#include "gnomon/claims/sentence.h"
#include "gnomon/claims/verdict.h"
#include "gnomon/report/figure.h"

namespace gnomon::claims {

// What a measurement found. It is data: the claim's rules make the verdict of it, the report draws it.
struct Finding {
  std::vector<FoundNumber> numbers;
  std::vector<report::Figure> figures;

  // They throw Error(bug) for a key that is taken.
  FoundNumber& number(std::string key, std::string name, double value, int digits = 4);
  void near(std::string key, std::string name, double value, double expected, double tolerance,
            int digits = 4);
  void between(std::string key, std::string name, double value, double low, double high, int digits = 4);
  FoundNumber& estimate(std::string key, std::string name, const Estimate& e, int digits = 3);
  FoundNumber& share(std::string key, std::string name, const ShareEstimate& e, int digits = 4);
  bool fits() const;  // every number that was asked for something
};

// What a verdict rests on. An argument or a citation gives the recorded verdict as long as what is asked of the numbers
// comes out; models that were trained beside it are shown and move nothing.
struct Basis {
  enum class Kind { measurement, argument, citation };
  Kind kind = Kind::measurement;
  std::string_view because = {};  // the argument, or what is cited
};
inline Basis argument(std::string_view because) { return {Basis::Kind::argument, because}; }
inline Basis citation(std::string_view because) { return {Basis::Kind::citation, because}; }
std::string_view name(Basis::Kind k);  // "measurement", "argument", "citation"

struct Question;

// One statement or question of the texts.
struct Claim {
  Question* question;               // that it answers
  std::string_view id;              // text and number: "000-01"
  std::string_view says;            // the claim, in our words
  std::string_view method;          // how it is measured
  std::string_view expects;         // what must come out, and why
  std::string_view advice;          // what a user should do about it
  Verdict recorded;                 // what a full run found
  std::string_view condition = {};  // what "holds if" goes on with: asked for where a rule gives it
  std::string_view settles =
      {};  // what would close the claim and what that costs: asked for where it may stay open
  std::vector<VerdictRule> verdicts = {};  // which verdict follows from which checks; the first that applies
  Basis rests_on = {};                     // an argument or a citation has no rules
  std::string_view amended =
      {};  // when the rule was changed after numbers had been seen, and why; told with the verdict
  std::vector<Recipe> (*recipes)(const Desk&) = nullptr;  // the models it needs
  Finding (*measure)(Desk&) = nullptr;
  std::string answer = {};  // one or two sentences, as a form (sentence.h) over the finding's own numbers
};

// What the answer to a question rests on, apart: forms (sentence.h) over {ID|KEY}, a number as found, and {SOURCE|KEY}, one
// of a record (recorded.h). What the literature found stands in evidence/literature.json.
struct Evidence {
  std::string_view algebra;          // proved, or checked in double precision
  std::string_view models;           // what the models show that were trained here
  std::string_view real;             // what published models show
  std::string_view change_our_mind;  // which finding would turn the answer
};

// What people ask, and the claims that answer it: a file of questions/.
struct Question {
  std::string_view key;  // the name of its file
  std::string_view title;
  std::string_view lead;  // the claim that is shown first, and whose first figure shows the answer
  std::string_view
      answer;  // two sentences that rest on all evidence and say where it disagrees; numbers as in Evidence
  Evidence evidence = {};
  std::deque<Claim> claims = {};
};
// Puts a claim under its question: it is written once, beside its measurement, and in no other list.
struct Record {
  Record(Claim claim);
};

std::span<const Question* const> questions();  // in the order of questions/list.def
std::span<const Claim* const> all_claims();    // in the order of their ids
// Those named by ids ("000-05"), texts ("000") or "all". Throws Error(usage).
std::vector<const Claim*> select_claims(std::span<const std::string> names);

// Throws Error(bug) for a claim that cannot decide: one that rests on measurement and declares no check, or gives a
// verdict that no rule has; one that rests on an argument or a citation and does not tell it; one that may hold under a
// condition or stay open and does not say under which, or what would settle it.
void require_decidable(const Claim& claim);
// The verdict on what was found. `differs` where a number is not what was asked for; a quick run of rules that look at
// intervals gives no inference.
Verdict judge(const Claim& claim, const Finding& finding, bool quick);
// The answer with what was found. Where a number is not what was asked for, which, instead of an answer.
std::string answer_of(const Claim& claim, const Finding& finding);
// The verdict in words: "holds if the position is loud enough".
std::string told(const Claim& claim, Verdict verdict);

}  // namespace gnomon::claims
