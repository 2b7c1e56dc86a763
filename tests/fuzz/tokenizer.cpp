// Any bytes as a tokenizer.json: read, or refused as malformed. What was read makes tokens that it knows of any text.
#include "gnomon/files/tokenizer.h"

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {

bool accepts(std::string_view bytes) {
  try {
    const Tokenizer t = Tokenizer::parse(bytes, "file");
    for (const std::string_view words :
         {bytes, std::string_view("ab a\tb \xC3\xA9\xCC\x81 12345\r\n <end>x  ab'S")}) {
      if (first_invalid_utf8(words) != words.npos) continue;
      for (const std::int32_t id : t.encode(words)) {
        require(id >= 0 && id < t.size(), "an id is below the size");
        t.decode(std::span(&id, 1));
      }
    }
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is malformed input, and nothing else");
    return false;
  }
}

}  // namespace gnomon::fuzz
