// Any bytes as a study.toml, or as a file of several studies: read and checked, or refused as a usage error. What was read, printed and read again is equal.
#include "gnomon/core/error.h"
#include "gnomon/study/suite.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {

void check_printing(StudyConfig& config) {
  if (config.text_path.empty()) config.text_path = "text";
  settle(config);
  const std::string printed = print_toml(config);
  StudyConfig again;
  try {
    read_toml(again, file_with(printed));
  } catch (const Error& e) {
    require(false, text("what was printed reads back: ", e.what(), "\n", printed));
  }
  require(print_toml(again) == printed, "what was printed reads back equal");
}

bool accepts(std::string_view bytes) {
  try {
    for (Part& part : read_suite({}, toml_in(file_with(bytes)))) check_printing(part.config);
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::usage, "a wrong configuration is a usage error, and nothing else");
    return false;
  }
}

}  // namespace gnomon::fuzz
