#include "gnomon/study/data/token_text.h"

#include "gnomon/core/error.h"
#include "gnomon/core/readable.h"

namespace gnomon {

TokenText::TokenText(const Path& path, std::int64_t id_bytes, std::int64_t vocabulary, std::int64_t longest)
    : file_(path, id_bytes, vocabulary), sha256_(file_.sha256()) {
  const std::int64_t least = 30 * (longest + 2);
  if (file_.size() < least)
    throw Error(Fault::input,
                text("the file has ", file_.size(), " tokens; windows of ", longest, " tokens need at least ",
                     least, "; shorten model.length or evaluate.lengths, or take a longer file"));
  parts_ = cut(file_.size(), longest);
}

std::string TokenText::print() const { return text("tokens ", sha256_, " of ", file_.vocabulary()); }

std::int32_t TokenText::symbol(std::int64_t at) const {
  std::int32_t id = 0;
  file_.copy(at, {&id, 1});
  return id;
}

Sample TokenText::training(const StepBatch& batch) const {
  return training_windows(
      parts_, [&](std::int64_t at) { return symbol(at); }, batch);
}

Sample TokenText::held_out(const Windows& windows) const {
  return held_out_windows(
      parts_, [&](std::int64_t at) { return symbol(at); }, windows);
}

namespace {
[[noreturn]] void no_words() {
  throw Error(Fault::usage,
              "the study learned token ids without their text, so it cannot read or write text");
}
}  // namespace

std::vector<std::int32_t> TokenText::encode(std::string_view) const { no_words(); }
std::string TokenText::decode(std::span<const std::int32_t>) const { no_words(); }

std::vector<std::string> TokenText::describe() const {
  const std::int64_t training = parts_.training_tokens();
  return {text(
      grouped(double(file_.size())), " tokens from a vocabulary of ", file_.vocabulary(), ", SHA-256 ",
      sha256_, "; ", grouped(double(training)), " for training, ", grouped(double(file_.size() - training)),
      " held out in evenly spaced blocks. Losses are per token, because the text of a token is not known.")};
}

}  // namespace gnomon
