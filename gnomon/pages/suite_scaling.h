#pragma once
#include <string>
#include <vector>

#include "gnomon/study/results/scaling.h"

namespace gnomon::pages {

// One kind of model in several sizes: what becomes of every difference with size and training, the law of every arm, and what the
// smaller sizes foretold of the largest. As sections of the page of a suite, and the first of it in sentences.
std::string scaling_html(const Scaling& scaling);
std::vector<std::string> scaling_answers(const Scaling& scaling);

}  // namespace gnomon::pages
