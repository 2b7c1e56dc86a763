// Any bytes as the result.json of a run: read, or refused as malformed. What was read is a fixed point of
// writing and reading.
#include "gnomon/core/error.h"
#include "gnomon/lab/run.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {
namespace {

bool reads(std::string_view bytes, std::string& complaint) {
  try {
    const std::string written = result_json(result_from_json(file_with(bytes)));
    require(result_json(result_from_json(file_with(written))) == written,
            "what was written reads back equal");
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is malformed input, and nothing else");
    complaint = e.what();
    return false;
  }
}

}  // namespace

bool accepts(std::string_view bytes) {
  std::string complaint;
  if (reads(bytes, complaint)) return true;
  const std::string mended = with_its_checksum(bytes, complaint);
  return !mended.empty() && reads(mended, complaint);
}

}  // namespace gnomon::fuzz
