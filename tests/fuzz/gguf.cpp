// Any bytes as a GGUF file: opened, or refused as malformed. Of what was opened, every key has a kind, every number can be
// read, and rows are those of the whole.
#include "gnomon/files/gguf.h"

#include "tests/fuzz/stored.h"

namespace gnomon::fuzz {
namespace {

template <class Ask>
bool answers(const Ask& ask) {
  try {
    require(ask().has_value(), "a key that is there has a value");
    return true;
  } catch (const Error& e) {
    require(e.fault() == Fault::input, "a key of another kind is malformed input");
    return false;
  }
}

void ask_all(const Gguf& gguf) {
  for (const auto& [key, value] : gguf.entries()) {
    const std::string& k = key;
    const int scalars = answers([&] { return gguf.number(k); }) + answers([&] { return gguf.flag(k); }) +
                        answers([&] { return gguf.text(k); });
    const int lists = answers([&] { return gguf.numbers(k); }) + answers([&] { return gguf.texts(k); });
    const bool flags = std::holds_alternative<std::vector<bool>>(value);
    require(scalars + lists == (flags ? 0 : 1), "a value is of one kind");
    require(!answers([&] { return gguf.whole(k); }) || answers([&] { return gguf.number(k); }),
            "a whole number is a number");
    require(!answers([&] { return gguf.wholes(k); }) || answers([&] { return gguf.numbers(k); }),
            "whole numbers are numbers");
  }
}

}  // namespace

bool accepts(std::string_view bytes) {
  const auto weights = opened(file_with(bytes));
  if (!weights) return false;
  if (weights->gguf()) ask_all(*weights->gguf());
  read_all(*weights);
  return true;
}

}  // namespace gnomon::fuzz
