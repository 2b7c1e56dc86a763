#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/claims/verdict.h"

namespace gnomon::claims {

// What the library has in it from measurements that take models or hours: evidence/KEY.json, written by scripts/evidence.
struct NumberSource {
  std::string key;                   // "minilm"
  std::string what, command;         // of what it was measured, and how
  std::vector<FoundNumber> numbers;  // no key twice
};
std::span<const NumberSource> recorded();

// What full runs on other texts found, of the claims that intervals decide: evidence/text-NAME.json, written by scripts/evidence.
struct OtherText {
  struct Found {
    std::string claim, verdict;  // its id; the verdict's name
    std::string decides;         // explained() of the rules that gave it: of younger ones it says nothing
  };
  std::string what, command, text_sha256;
  std::vector<Found> claims;
  const Found* find(std::string_view claim) const;  // null: intervals do not decide it
};
std::span<const OtherText> other_texts();

// What a full run found before the rules of today were written: evidence/earlier-run.json, read once from the page of that
// run. Questions were judged as statements then.
struct EarlierRun {
  struct Found {
    std::string claim, verdict;
  };
  std::string what;  // the text
  std::vector<Found> claims;
  const Found* find(std::string_view claim) const;
};
const EarlierRun& earlier_run();

// What others found, one sentence each: evidence/literature.json, written by hand and checked.
struct Paper {
  std::vector<std::string> questions;  // keys of those that it speaks to
  std::string author;
  int year;
  std::string title, finding, link;
};
std::span<const Paper> literature();

}  // namespace gnomon::claims
