// Any bytes as a stranger's config.json: refused as malformed, or all rules look at it, and the line of each finding is one of
// the file's. The keys of a GGUF file may stand in it as well.
#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/models/lint/context.h"
#include "gnomon/models/resolve/place.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {

bool accepts(std::string_view bytes) {
  try {
    const LintContext context(Config::parse(bytes, "config.json"));
    const auto lines = std::size_t(std::count(bytes.begin(), bytes.end(), '\n')) + 1;
    for (const LintResult& result : lint(context))
      require(line_of(bytes, result.finding.key) <= lines, "a finding stands in a line of the file");
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is an input error, and nothing else");
    return false;
  }
}

}  // namespace gnomon::fuzz
