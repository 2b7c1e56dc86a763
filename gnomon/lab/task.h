#pragma once
#include <cstdint>
#include <string_view>

#include "gnomon/nn/trained.h"

namespace gnomon {

// Small tasks that ask for one thing each. Sequences of bytes; only the answers have targets.
//   order      "A bites B ?" → A          pairs of windows hold both orders of the same two names
//   binding    "3 oranges 4 bananas oranges?" → 3   (as five symbols)
//   majority   nine letters out of three, "?" → the most frequent; order does not matter
//   previous   at every token the one before it; "lengths" is the same, trained on windows of 8 to `length` tokens
//   offset8    at every token the one eight before it
// Windows 2n and 2n+1 of `order` and `binding` are the two orders of the same content.
Sample make_task(std::string_view task, std::int64_t T, std::int64_t windows, const Random& random);
std::int64_t task_length(
    std::string_view task);  // tokens of a window; 0 = any. Throws Error(bug) for other names

}  // namespace gnomon
