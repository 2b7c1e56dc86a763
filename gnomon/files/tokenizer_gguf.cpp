#include <algorithm>
#include <utility>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/gguf.h"
#include "gnomon/files/tokenizer.h"
#include "gnomon/files/tokenizer_parts.h"

// github.com/ggml-org/ggml, docs/gguf.md, "GGML", and github.com/ggml-org/llama.cpp, src/llama-vocab.cpp.
namespace gnomon {
namespace {

// What stands behind a value of tokenizer.ggml.pre: the expressions of llm_tokenizer_bpe. Written as in the tokenizer.json of the
// models that they come from, which llama.cpp quotes beside its own.
struct Cut {
  std::string_view name, first, second;  // `second` may be empty
  bool form_c, whole_words, begins;      // NFC, ignore_merges, a first token unless the file says no
};
constexpr std::string_view kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const Cut kCuts[] = {
    {"gpt-2", kGpt2Words, "", false, false, false},
    {"smollm", "\\p{N}", kGpt2Words, false, false, false},
    {"llama-bpe", kLlama3Words, "", false, true, true},
    {"qwen2", kQwen2Words, "", true, false, false},
};

enum TokenType { kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5 };

class Reader {
 public:
  explicit Reader(const Gguf& file) : file_(file) {}

  std::shared_ptr<const TokenizerParts> parts() {
    const std::string model = text_at("tokenizer.ggml.model");
    if (model != "gpt2") unsupported("tokenizer.ggml.model", model);
    const Cut& cut = find_cut();
    if (file_.flag("tokenizer.ggml.add_space_prefix").value_or(false))
      unsupported("tokenizer.ggml.add_space_prefix", "true");
    auto parts = std::make_shared<TokenizerParts>();
    if (cut.form_c) parts->normalizer = FormC{};
    read_tokens(*parts);
    BytePairs pairs;
    for (const std::string_view expression : {cut.first, cut.second}) {
      if (!expression.empty())
        pairs.splits.push_back({Regex(expression, place("tokenizer.ggml.pre")), true, true});
    }
    pairs.merges = read_merges(*parts);
    fill_bytes(pairs, *parts, cut.whole_words);
    parts->model = std::move(pairs);
    read_end(*parts, parts->first, "bos", cut.begins);
    read_end(*parts, parts->last, "eos", false);
    return parts;
  }

 private:
  std::string place(std::string_view key) const { return text(file_.file().string(), ": ", key); }
  [[noreturn]] void unsupported(std::string_view key, std::string_view value) const {
    throw Error(Fault::input, text(place(key), ": unsupported: ", excerpt(value), "; pass token ids"));
  }
  [[noreturn]] void missing(std::string_view key) const {
    throw Error(Fault::input, text(file_.file().string(), ": there is no key ", key));
  }
  std::string text_at(std::string_view key) const {
    const auto found = file_.text(key);
    if (!found) missing(key);
    return *found;
  }
  std::vector<std::string> texts_at(std::string_view key) const {
    auto found = file_.texts(key);
    if (!found) missing(key);
    return *std::move(found);
  }

  const Cut& find_cut() const {
    const std::string name = text_at("tokenizer.ggml.pre");
    const auto found =
        std::find_if(std::begin(kCuts), std::end(kCuts), [&](const Cut& c) { return c.name == name; });
    if (found == std::end(kCuts)) unsupported("tokenizer.ggml.pre", name);
    return *found;
  }

  void read_tokens(TokenizerParts& parts) const {
    const auto names = texts_at("tokenizer.ggml.tokens");
    const auto types = file_.wholes("tokenizer.ggml.token_type");
    if (!types) missing("tokenizer.ggml.token_type");
    if (types->size() != names.size())
      throw Error(Fault::input, text(place("tokenizer.ggml.token_type"), ": ", types->size(), " types for ",
                                     names.size(), " tokens"));
    const std::string where = place("tokenizer.ggml.tokens");
    std::vector<AddedToken> literal, normalized;
    for (std::size_t n = 0; n < names.size(); ++n) {
      const auto id = std::int64_t(n), type = (*types)[n];
      if (first_invalid_utf8(names[n]) != std::string::npos)
        throw Error(Fault::input, text(where, "[", n, "]: ", excerpt(names[n]), " is not UTF-8"));
      if (type == kNormal) {
        parts.add_to_vocabulary(names[n], id, where);
        continue;
      }
      if (type != kControl && type != kUserDefined && type != kUnused)
        unsupported("tokenizer.ggml.token_type", text("the type ", type, " of token ", n));
      parts.add_token(names[n], id, type == kControl, where);
      if (type == kControl) literal.push_back({names[n], std::int32_t(n)});
      if (type == kUserDefined) normalized.push_back({parts.normal(names[n]), std::int32_t(n)});
    }
    parts.literal = AddedTokens(std::move(literal), where);
    parts.normalized = AddedTokens(std::move(normalized), where);
  }

  Merges read_merges(const TokenizerParts& parts) const {
    const auto lines = texts_at("tokenizer.ggml.merges");
    std::vector<NamedMerge> merges;
    for (const std::string& line : lines) {
      const auto words = split(line, ' ');
      if (words.size() != 2)
        throw Error(Fault::input, text(place("tokenizer.ggml.merges"), "[", merges.size(), "]: found ",
                                       excerpt(line), ", allowed is two tokens with a space between them"));
      merges.push_back({words[0], words[1]});
    }
    return merges_of(parts, merges, place("tokenizer.ggml.merges"));
  }

  // end: bos or eos.
  void read_end(const TokenizerParts& parts, std::vector<std::int32_t>& ids, std::string_view end,
                bool standard) const {
    if (!file_.flag(text("tokenizer.ggml.add_", end, "_token")).value_or(standard)) return;
    const std::string key = text("tokenizer.ggml.", end, "_token_id");
    const auto id = file_.whole(key);
    if (!id) missing(key);
    if (*id < 0 || *id >= Tokenizer::kMostTokens || !parts.names.count(std::int32_t(*id)))
      throw Error(Fault::input, text(place(key), ": no token has the id ", *id));
    ids = {std::int32_t(*id)};
  }

  const Gguf& file_;
};

}  // namespace

Tokenizer Tokenizer::from(const Gguf& file) { return Tokenizer(Reader(file).parts()); }

}  // namespace gnomon
