// Any bytes as a file of token ids, of either width: read, or refused as malformed. What was read is within its vocabulary.
#include <vector>

#include "gnomon/core/error.h"
#include "gnomon/study/data/token_file.h"
#include "tests/fuzz/fuzz.h"

namespace gnomon::fuzz {
namespace {

bool reads(std::string_view bytes, std::int64_t id_bytes) {
  constexpr std::int64_t vocabulary = 50'257;
  try {
    const TokenFile tokens(file_with(bytes), id_bytes, vocabulary);
    std::vector<std::int32_t> ids(std::size_t(tokens.size()));
    tokens.copy(0, ids);
    for (const std::int32_t id : ids) require(id >= 0 && id < vocabulary, "an id is of the vocabulary");
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a wrong file is malformed input, and nothing else");
    return false;
  }
}

}  // namespace

bool accepts(std::string_view bytes) {
  const bool small = reads(bytes, 2), large = reads(bytes, 4);
  return small || large;
}

}  // namespace gnomon::fuzz
