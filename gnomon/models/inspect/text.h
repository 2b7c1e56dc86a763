#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/files/tokenizer.h"
#include "gnomon/nn/trained.h"

namespace gnomon {

// What a model reads, as tokens of its own tokeniser.
struct ModelText {
  std::vector<std::int32_t> ids;                      // bare
  std::vector<std::int32_t> before = {}, after = {};  // what the model has around a text, as [CLS] and [SEP]
  std::optional<Tokenizer> tokenizer = {};            // of the model, where there is one that gnomon reads

  bool is_word(std::int32_t id) const { return !tokenizer || !tokenizer->is_special(id); }
};

// A UTF-8 file, by the tokeniser in the model's folder or GGUF file. Throws Error(input) for a tokeniser that gnomon does not read
// and for what is not UTF-8, Error(resource) for files that cannot be read.
ModelText read_text(const Path& model, const Path& file);
// A file of token ids, whole numbers with spaces between them, which may be of a tokeniser that gnomon does not read. Throws
// Error(input) for others, and Error(resource).
ModelText read_ids(const Path& model, const Path& file);

// Windows of T tokens one after the other, as many as there are up to `most`. A decoder predicts the next token. An encoder gets
// what it has around a text in every window; its targets are the words of the text, of which it is asked those that are masked.
// Throws Error(usage) for a text that is shorter than a window.
Sample windows_of_text(const ModelText& text, bool causal, std::int64_t T, std::int64_t most);

// Windows of a decoder beside an encoder. The encoder reads T tokens with what the model has around a text, the decoder writes the
// T tokens of the text that follow: it reads `start` and all but the last of them. Throws as windows_of_text().
struct PairedWindows {
  std::vector<std::int32_t> encoder;  // count·T
  Sample decoder;
};
PairedWindows paired_windows_of_text(const ModelText& text, std::int32_t start, std::int64_t T,
                                     std::int64_t most);

}  // namespace gnomon
