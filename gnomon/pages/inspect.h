#pragma once
#include <string>
#include <vector>

#include "gnomon/models/inspect/inspect.h"

namespace gnomon::pages {

// "0.123 ± 0.004", or "0.123" where there is no interval.
std::string within(double value, double half_width, int digits);
// What is scored of an encoder, in a sentence; empty for others.
std::string how_masked(const Inspection& found);
// Of a model with an encoder and a decoder, which of them was read and how, in sentences; empty for others.
std::string what_was_read(const Inspected& inspected);
// What was found, in sentences, the most important first.
std::vector<std::string> inspect_words(const Inspected& inspected);
// All of it as JSON.
std::string inspect_json(const Inspected& inspected);
// As a page: the sentences, then a section for each part with its figure, and what was left out and why.
std::string inspect_page(const Inspected& inspected);

}  // namespace gnomon::pages
