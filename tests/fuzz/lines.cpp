// Any bytes as lines of question and answer: read, or refused as malformed. What was read makes windows that are whole.
#include "gnomon/study/data/lines.h"

#include "gnomon/core/error.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {

bool accepts(std::string_view bytes) {
  constexpr std::int64_t T = 24;
  try {
    const Lines lines(file_with(bytes), T);
    for (const auto part : {Lines::Part::training, Lines::Part::validation, Lines::Part::test}) {
      std::vector<std::int64_t> all;
      for (const Example& e : lines.part(part)) {
        require(!e.question.empty() && !e.answer.empty() && e.tokens() <= T, "an example is whole and fits");
        all.push_back(std::int64_t(all.size()));
      }
      for (const bool causal : {true, false}) windows_of(lines.part(part), all, T, causal).check();
    }
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is malformed input, and nothing else");
    return false;
  }
}

}  // namespace gnomon::fuzz
