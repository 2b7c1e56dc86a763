#pragma once
#include <span>
#include <string>
#include <vector>

#include "gnomon/claims/verdict.h"

namespace gnomon::claims {

// What the library has in it from measurements that take models or hours: evidence/KEY.json, written by scripts/evidence.
struct Source {
  std::string key;              // "minilm"
  std::string what, command;    // of what it was measured, and how
  std::vector<Number> numbers;  // no key twice
};
std::span<const Source> recorded();

// What others found, one sentence each: evidence/literature.json, written by hand and checked.
struct Paper {
  std::vector<std::string> questions;  // keys of those that it speaks to
  std::string author;
  int year;
  std::string title, finding, link;
};
std::span<const Paper> literature();

}  // namespace gnomon::claims
