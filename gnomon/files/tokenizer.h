#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/file.h"

namespace gnomon {

class Gguf;
struct TokenizerParts;

// The tokeniser of a stranger's model: byte-level BPE (Radford et al. 2019, section 2.2) or WordPiece, from a tokenizer.json
// (github.com/huggingface/tokenizers) or the metadata of a GGUF file. It gives the ids that the package `tokenizers` 0.23
// gives, or refuses the file: what is not in this list is Error(input) "unsupported ...; pass token ids".
//   byte-level BPE: added tokens (not `single_word`); normalizer NFC or none; pre_tokenizer Digits, Split by a regular
//     expression (files/regex.h; Isolated or Removed), and ByteLevel at the end; ignore_merges; no dropout, byte_fallback,
//     prefix or suffix; decoder ByteLevel or none
//   WordPiece: added tokens; BertNormalizer or none; BertPreTokenizer; decoder WordPiece or none
//   post_processor: TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, a Sequence of these, or none
//   GGUF: tokenizer.ggml.model gpt2 with tokenizer.ggml.pre gpt-2, smollm, qwen2 (with NFC, which the file does not say and
//     llama.cpp leaves out) or llama-bpe
// `truncation` and `padding` of tokenizer.json are not obeyed: a text gives all of its ids and no others.
// Equality was measured on characters of Unicode 14. One that is newer counts as a symbol: no letter, digit or mark.
class Tokenizer {
 public:
  static constexpr std::int64_t kMostText = 1 << 28;      // bytes to encode at once
  static constexpr std::int64_t kMostTokens = 1 << 22;    // of a vocabulary
  static constexpr std::int64_t kLongestToken = 1 << 16;  // bytes

  // Throw Error(input) that names the file, the place, what was found and what is allowed. parse() takes the bytes of a
  // tokenizer.json, and `where` for the file's name.
  static Tokenizer read(const Path& path);  // also Error(resource)
  static Tokenizer parse(std::string_view json, std::string_view where);
  static Tokenizer from(const Gguf& file);

  // One more than the largest id: the rows that an embedding has to have.
  std::int64_t size() const;
  std::optional<std::int32_t> id(
      std::string_view token) const;              // by its name in the file, as "Ġthe" or "##ing"
  std::string_view token(std::int32_t id) const;  // that name; empty for an id that names none
  bool is_special(std::int32_t id) const;         // as the file says: [CLS], <|endoftext|> ...
  // What stands for a masked token: the special token [MASK] (BERT) or <mask> (RoBERTa). Nothing where the file has neither, or
  // both.
  std::optional<std::int32_t> mask() const;

  enum class Ends {
    as_the_model,
    bare
  };  // with what the model has before and after a text ([CLS] and [SEP]), or without
  // Names of added tokens within the text become these tokens. Throws Error(input) for a text that is not UTF-8 (it names the
  // byte) or is longer than kMostText. O(n log n) in the length of the longest word.
  std::vector<std::int32_t> encode(std::string_view text, Ends ends = Ends::as_the_model) const;

  // What stands for these ids: the bytes of byte-level tokens, which need not be UTF-8 when ids are cut; with WordPiece,
  // words with a space between them, as its decoder in `tokenizers` does. Special tokens by their name. Throws Error(usage)
  // for an id that names no token.
  std::string decode(std::span<const std::int32_t> ids) const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const TokenizerParts> parts_;
};

}  // namespace gnomon
