#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/claims/conduct.h"
#include "gnomon/claims/recorded.h"

// What the page of claims, its markdown and its JSON say: sentences and the order of things, without a tag.
namespace gnomon::pages {

std::string asked(const claims::FoundNumber& n);  // "2 to 3", "= 4", "≥ 1"; empty: nothing is asked of it

// A form (claims/sentence.h) with the numbers that claims found and records have: {ID|KEY}, {SOURCE|KEY}. What it takes of a
// claim that was not measured, or could not be, is missing. Throws Error(bug) for an unknown claim, source or key.
claims::Said told_of(std::string_view form, const std::vector<claims::Answered>& answers,
                     std::span<const claims::NumberSource> sources);
// The same as a sentence. Where numbers are missing, or are not what was asked for, it says so of their claims and nothing
// else: "Not measured in this run: 001-04, 002-03."
std::string interpolated(std::string_view form, const std::vector<claims::Answered>& answers,
                         std::span<const claims::NumberSource> sources);

// How many verdicts of a run have a p value: the family of Holm's correction.
std::size_t statistical(const std::vector<claims::Answered>& answers);
bool survives(const claims::Answered& a);  // its p after the correction is below 5 %
// How sure a verdict is, in one sentence, by what it came from.
std::string how_sure(const claims::Answered& a, std::size_t family);
// A verdict of a rule that looks at intervals leans where it is not carried: Holm's correction over the run does not leave it,
// it is only that of every other case, or another text gave another. Where values decided, other texts alone.
bool leans(const claims::Answered& a, const claims::ClaimsSummary& s);
// The verdict in words, "leaning: wrong" where it leans.
std::string reading(const claims::Answered& a, const claims::ClaimsSummary& s);
// How the verdicts that rest on intervals stand beside those of other texts, which their rules had not seen, and which are
// others there. Empty in a quick run, and where there is no other text.
std::string of_other_texts(const claims::ClaimsSummary& s);
// What became of it on other texts (claims/recorded.h), in a sentence each; empty where intervals do not decide it. A run on one
// of them is not compared with itself.
std::string on_other_texts(const claims::Answered& a, const claims::ClaimsSummary& s);

// The answers to a question, its leading claim first; their verdicts, "5 hold, 2 wrong; 1 of them leaning".
std::vector<const claims::Answered*> of_question(const claims::Question& q,
                                                 const std::vector<claims::Answered>& answers);
std::string verdicts(const std::vector<const claims::Answered*>& answers, const claims::ClaimsSummary& s);

// What became of a question, for people and for the style sheet.
struct State {
  std::string told;
  std::string_view kind;
};
std::string_view kind_of(claims::Verdict v);  // the same of a verdict
State state_of(const claims::Question& q, const claims::ClaimsSummary& s);

// What an answer rests on, one layer of evidence after the other; those of which nothing is known are left out.
struct Layer {
  std::string title;
  std::string sentences;                             // with their numbers
  std::vector<std::string> taken;                    // the numbers that they may take
  std::vector<const claims::NumberSource*> sources;  // the records that some are from
  std::vector<const claims::Paper*> papers;
};
std::vector<Layer> layers(const claims::Question& q, const std::vector<claims::Answered>& answers);

// The texts that the claims are from; how many there are, in a word.
std::span<const std::string_view> texts();
std::string_view how_many_texts();
// Whether a run has every claim.
bool is_whole(const claims::ClaimsSummary& s);
std::string text_name(const claims::ClaimsSummary& s);
// Paragraphs: what was trained, on what, for how long, what ± and p cover, what "as recorded" means.
std::vector<std::string> how_it_was_run(const claims::ClaimsSummary& s);
std::string version();

// SHA-256 of rules_json(), by which a reader sees what a page was judged by.
std::string rules_sha256();

}  // namespace gnomon::pages
