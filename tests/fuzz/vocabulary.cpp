// Any bytes as a vocabulary: read, or refused as malformed. What was read prints as the file, and brings any bytes back.
#include "gnomon/study/data/vocabulary.h"

#include "gnomon/core/error.h"
#include "gnomon/files/json-inl.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {
namespace {

bool reads(std::string_view bytes) {
  try {
    const Vocabulary v = Vocabulary::read(file_with(bytes));
    require(v.print() == bytes, "what was read prints as the file");
    require(v.decode(v.encode(bytes)) == bytes, "what was encoded decodes equal");
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is malformed input, and nothing else");
    return false;
  }
}

}  // namespace

// The same content under a seal of its own, too: so what lies behind the seal is tested.
bool accepts(std::string_view bytes) {
  return reads(bytes) || reads(sealed(text(bytes.substr(0, bytes.rfind(",\n \"sha256\"")), "}")));
}

}  // namespace gnomon::fuzz
