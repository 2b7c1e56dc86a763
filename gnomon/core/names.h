#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/error.h"

// Names that a user types, and what is said where there is none of that name. Names are written in one way: another case, or
// another name of the field, is suggested and never taken, so that a spec or a configuration reads the same everywhere.
namespace gnomon {

struct Name {
  std::string_view name;
  std::vector<std::string_view> aliases = {};  // what else the field calls it
};

// The candidate with the least edit distance to `word`; empty when none is near (more than half of it wrong).
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// What `word` probably means, at most three names: those that differ from it in case and hyphens alone, or have it as an
// alias; else the nearest, where at most a third of it is wrong; else those that it is a part of.
std::vector<std::string> meant(std::string_view word, std::span<const Name> names);

// "did you mean 'a', 'b' or 'c'?"; empty without suggestions.
std::string did_you_mean(std::span<const std::string> suggestions);

// The error for a wrong name: "unknown encoding 'ROPE': did you mean 'rope'?", and then the names. Where they are many, and
// something lists them (`lister`, a clause as "`gnomon encodings` lists them"), they are left to it.
Error unknown(std::string_view kind, std::string_view word, std::span<const Name> names,
              std::string_view lister = {});
Error unknown(std::string_view kind, std::string_view word, std::span<const std::string_view> names,
              std::string_view lister = {});

}  // namespace gnomon
