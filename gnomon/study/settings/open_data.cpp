#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/study/data/corpus.h"
#include "gnomon/study/data/image_data.h"
#include "gnomon/study/data/line_data.h"
#include "gnomon/study/data/symbol_text.h"
#include "gnomon/study/data/task_data.h"
#include "gnomon/study/data/token_text.h"
#include "gnomon/study/settings/config.h"

namespace gnomon {
namespace {

// The tokens of a file, of which none can be a mask.
std::unique_ptr<Data> tokens_of(const StudyConfig& c, std::int64_t longest) {
  if (!c.model.is_causal())
    throw Error(
        Fault::usage,
        text("study.data ", c.data,
             ": found an encoder, allowed are decoders: an encoder masks with 0, which is a token here"));
  return std::make_unique<TokenText>(c.text_path, c.data == "ids16" ? 2 : 4, c.model.vocabulary, longest);
}

}  // namespace

std::unique_ptr<Data> open_data(const StudyConfig& c) {
  const std::int64_t longest = c.longest() + 1;
  if (c.data == "bytes") return std::make_unique<Corpus>(c.text_path, longest);
  if (c.data == "symbols")
    return std::make_unique<SymbolText>(Corpus(c.text_path, longest), c.model.vocabulary, longest);
  if (c.data == "ids16" || c.data == "ids32") return tokens_of(c, longest);
  if (c.data == "lines") return std::make_unique<LineData>(Lines(c.text_path, c.model.length));
  if (c.data == "images" && c.model.is_causal())
    throw Error(Fault::usage,
                "study.data images: found a decoder, allowed are encoders: set model.causal = false");
  if (c.data == "images") return std::make_unique<ImageData>(c.text_path);
  return std::make_unique<TaskData>(find_task(c.data), c.model.is_causal());
}

}  // namespace gnomon
