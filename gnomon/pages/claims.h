#pragma once
#include <string>
#include <vector>

#include "gnomon/claims/conduct.h"
#include "gnomon/pages/made_by.h"

namespace gnomon::pages {

// What was measured of claims: one self-contained HTML page; the same as markdown, which is docs/claims.md, and as JSON.
std::string claims_page(const claims::ClaimsSummary& summary, const MadeBy& how);
std::string claims_markdown(const claims::ClaimsSummary& summary, const MadeBy& how);
std::string claims_json(const claims::ClaimsSummary& summary, const MadeBy& how);

// What is written down of every claim before it is measured, and the verdict on record: a list of objects.
std::string records_json();

// The question's answer with the numbers that were found put in for {ID|KEY}; "…" for one that was not measured.
std::string answer_of(const claims::Question& question, const std::vector<claims::Answered>& answers);

}  // namespace gnomon::pages
