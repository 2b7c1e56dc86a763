// Any bytes as the result.json of a run: read, or refused as malformed. What was read is a fixed point of
// writing and reading.
#include "gnomon/core/error.h"
#include "gnomon/files/sha256.h"
#include "gnomon/study/run/run.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {
namespace {

bool reads(std::string_view bytes) {
  try {
    const std::string written = result_json(result_from_json(file_with(bytes)));
    require(result_json(result_from_json(file_with(written))) == written,
            "what was written reads back equal");
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is malformed input, and nothing else");
    return false;
  }
}

// The same content under a seal of its own, as result_json ends: what lies behind the seal is tested too.
std::string sealed(std::string_view bytes) {
  constexpr std::string_view seal = ",\n \"sha256\": \"", end = "\n}\n";
  if (bytes.ends_with(end)) bytes.remove_suffix(end.size());
  const std::string content(bytes.substr(0, bytes.rfind(seal)));
  return text(content, seal, sha256(content), "\"", end);
}

}  // namespace

bool accepts(std::string_view bytes) { return reads(bytes) || reads(sealed(bytes)); }

}  // namespace gnomon::fuzz
