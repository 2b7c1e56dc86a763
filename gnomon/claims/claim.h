#pragma once
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/claims/models/experiment.h"
#include "gnomon/claims/sentence.h"
#include "gnomon/claims/verdict.h"
#include "gnomon/core/prose.h"
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

// A picture of position vectors (rows, channels), which an archive keeps as their spec. Throws as position_table() does.
report::HeatMap picture_of_table(std::string title, std::string note, std::string_view spec, std::size_t rows,
                                 std::size_t channels);

// What a verdict rests on. An argument or a citation gives the recorded verdict as long as what is asked of the numbers
// comes out; models that were trained beside it are shown and move nothing.
enum class Basis { measurement, argument, citation };
std::string_view name(Basis b);  // "measurement", "argument", "citation"

// The sentences of a claim: a record of the text of its question, named by the claim's id, with these fields.
struct ClaimText {
  std::string_view says;       // the claim, in our words
  std::string_view method;     // how it is measured
  std::string_view expects;    // what must come out, and why
  std::string_view advice;     // what a user should do about it
  std::string_view condition;  // what "holds if" goes on with: asked for where a rule gives it
  std::string_view
      settles;  // what would close the claim and what that costs: asked for where it may stay open
  std::string_view because;  // the argument, or what is cited, where no measurement decides
  std::string_view
      amended;  // when the rule was changed after numbers had been seen, and why; told with the verdict
  std::string_view answer;  // one or two sentences, as a form (sentence.h) over the finding's own numbers
};
template <std::size_t N, std::size_t M>
consteval ClaimText claim_text(const Prose<N, M>& file, std::string_view id) {
  file.only(id,
            {"says", "method", "expects", "advice", "condition", "settles", "because", "amended", "answer"});
  return {.says = file.at(id, "says"),
          .method = file.at(id, "method"),
          .expects = file.at(id, "expects"),
          .advice = file.at(id, "advice"),
          .condition = file.if_any(id, "condition"),
          .settles = file.if_any(id, "settles"),
          .because = file.if_any(id, "because"),
          .amended = file.if_any(id, "amended"),
          .answer = checked_form(file.at(id, "answer"))};
}

struct Question;

// One statement or question of the texts.
struct Claim {
  Question* question;   // that it answers
  std::string_view id;  // text and number: "000-01"
  ClaimText text;
  Verdict recorded;                        // what a full run found
  std::vector<VerdictRule> verdicts = {};  // which verdict follows from which checks; the first that applies
  Basis rests_on = Basis::measurement;     // an argument or a citation has no rules
  std::vector<Recipe> (*recipes)(const Experiment&) = nullptr;  // the models it needs
  Finding (*measure)(Experiment&) = nullptr;
};

// The sentences of a question: the record [question] of its text. Answer and evidence are forms (sentence.h) over {ID|KEY},
// a number as found, and {SOURCE|KEY}, one of a record (recorded.h). What the literature found stands in
// evidence/literature.json.
struct QuestionText {
  std::string_view title;
  std::string_view lead;    // the claim that is shown first, and whose first figure shows the answer
  std::string_view answer;  // two sentences that rest on all evidence and say where it disagrees
  // What the answer rests on, apart.
  std::string_view algebra;          // proved, or checked in double precision
  std::string_view models;           // what the models show that were trained here
  std::string_view real;             // what published models show
  std::string_view change_our_mind;  // which finding would turn the answer
  std::size_t records = 0;           // of its file: itself and each claim
};
template <std::size_t N, std::size_t M>
consteval QuestionText question_text(const Prose<N, M>& file) {
  file.only("question", {"title", "lead", "answer", "algebra", "models", "real", "change_our_mind"});
  return {.title = file.at("question", "title"),
          .lead = file.at("question", "lead"),
          .answer = checked_form(file.at("question", "answer")),
          .algebra = checked_form(file.at("question", "algebra")),
          .models = checked_form(file.at("question", "models")),
          .real = checked_form(file.at("question", "real")),
          .change_our_mind = checked_form(file.at("question", "change_our_mind")),
          .records = file.records()};
}

// What people ask, and the claims that answer it: a file of questions/, and its text beside it.
struct Question {
  std::string_view key;  // the name of its file
  QuestionText text;
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
