#pragma once
#include <string_view>
#include <vector>

#include "gnomon/claims/verdict.h"
#include "gnomon/lens/inspection.h"

namespace gnomon::claims {

// What a real model says of one question of the texts.
struct RealNumbers {
  std::string_view question;  // its key
  std::vector<FoundNumber> numbers;
};

// The numbers of an inspection under short keys, none of them twice, each under the question that it speaks to. In the order of
// questions/list.def, without questions that nothing was found of: a model without a table of positions says nothing of tables.
// Of streams, "input" is what enters the first layer, "last" what leaves the last, and a number what enters that layer.
std::vector<RealNumbers> real_numbers(const Inspection& found);

}  // namespace gnomon::claims
