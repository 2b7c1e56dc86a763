#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/claims/conduct.h"
#include "gnomon/pages/made_by.h"

namespace gnomon::pages {

// What was measured of claims: one self-contained HTML page; the same as markdown, which is docs/claims.md, and as JSON.
std::string claims_page(const claims::ClaimsSummary& summary, const MadeBy& how);
std::string claims_markdown(const claims::ClaimsSummary& summary, const MadeBy& how);
std::string claims_json(const claims::ClaimsSummary& summary, const MadeBy& how);
// The essays of pages/NAME.md with the numbers of the run and of the records, as markdown: docs/NAME.md. Without those that
// tell what the run did not measure; none of a quick run.
struct Essay {
  std::string_view name;
  std::string markdown;
};
std::vector<Essay> essays(const claims::ClaimsSummary& summary);
// Their forms (claims/sentence.h).
std::vector<Essay> essay_forms();

// What a run found, read from its claims.json: to be told again after words have changed, without training. A rule that is another one than that run's judges its numbers anew. Throws Error(input).
struct Again {
  claims::ClaimsSummary summary;
  MadeBy how;
};
// `later`: what was measured since, which takes the place of what the file has of these claims.
Again claims_again(std::string_view json, std::string_view where, std::vector<claims::Answered> later = {});

// What is written down of every claim, and the verdict on record: a list of objects.
std::string records_json();
// The same without anything that a run found: what stood before it (docs/claims-rules.json).
std::string rules_json();

}  // namespace gnomon::pages
