#include "gnomon/files/tokenizer_parts.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/tokenizer.h"
#include "gnomon/files/unicode.h"

namespace gnomon {
namespace {

// Bytes that are printable characters of Latin-1 are written as these; the n-th other one as character 256 + n.
struct ByteNames {
  std::array<char32_t, 256> of_byte;
  std::array<std::int16_t, 512> byte_of;  // -1: none
  ByteNames() {
    byte_of.fill(-1);
    char32_t next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      of_byte[byte] = printable ? char32_t(byte) : next++;
      byte_of[of_byte[byte]] = std::int16_t(byte);
    }
  }
};
const ByteNames& byte_names() {
  static const ByteNames names;
  return names;
}

std::vector<std::string_view> cut(const Split& split, std::string_view text) {
  std::vector<std::string_view> pieces;
  const auto keep = [&](std::size_t begin, std::size_t end, bool wanted) {
    if (wanted && begin < end) pieces.push_back(text.substr(begin, end - begin));
  };
  std::size_t done = 0;
  for (const auto& [begin, end] : split.regex.matches(text)) {
    keep(done, begin, split.keeps_rest);
    keep(begin, end, split.keeps_matches);
    done = end;
  }
  keep(done, text.size(), split.keeps_rest);
  return pieces;
}

}  // namespace

const std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::string name_of_byte(unsigned char byte) {
  return utf8(std::u32string_view(&byte_names().of_byte[byte], 1));
}

std::optional<std::string> bytes_of_name(std::string_view name) {
  std::string bytes;
  for (const char32_t c : characters(name)) {
    if (c >= byte_names().byte_of.size() || byte_names().byte_of[c] < 0) return std::nullopt;
    bytes += char(byte_names().byte_of[c]);
  }
  return bytes;
}

void BytePairs::encode(std::string_view text, std::vector<std::int32_t>& to) const {
  std::vector<std::string_view> pieces{text};
  for (const Split& split : splits) {
    std::vector<std::string_view> finer;
    for (const std::string_view piece : pieces) {
      const auto parts = cut(split, piece);
      finer.insert(finer.end(), parts.begin(), parts.end());
    }
    pieces = std::move(finer);
  }
  for (const std::string_view piece : pieces) {
    const bool lacks_space = space_first && piece.front() != ' ';
    const std::string spaced = lacks_space ? " " + std::string(piece) : "";
    const std::string_view whole = lacks_space ? std::string_view(spaced) : piece;
    if (!last) {
      encode_word(whole, to);
      continue;
    }
    for (const std::string_view word : cut(*last, whole)) encode_word(word, to);
  }
}

void BytePairs::encode_word(std::string_view word, std::vector<std::int32_t>& to) const {
  if (const auto found = whole_words.find(word); found != whole_words.end())
    return to.push_back(found->second);
  std::vector<std::int32_t> symbols;
  bool after_unknown = false;
  for (const char c : word) {
    const auto& token = bytes[(unsigned char)c];
    if (token)
      symbols.push_back(*token);
    else if (unknown && !(fuses_unknown && after_unknown))
      symbols.push_back(*unknown);
    after_unknown = !token;
  }
  merges.join(symbols);
  to.insert(to.end(), symbols.begin(), symbols.end());
}

void TokenizerParts::add_name(const std::string& name, std::int64_t id, std::string_view where) {
  if (id < 0 || id >= Tokenizer::kMostTokens || std::int64_t(name.size()) > Tokenizer::kLongestToken)
    throw Error(Fault::input,
                text(where, ": the token ", excerpt(name), " of ", name.size(), " bytes has the id ", id,
                     "; allowed are at most ", Tokenizer::kLongestToken, " bytes and ids from 0 to ",
                     Tokenizer::kMostTokens - 1));
  if (const auto [at, is_new] = names.emplace(std::int32_t(id), name); !is_new)
    throw Error(Fault::input, text(where, ": the tokens ", excerpt(at->second), " and ", excerpt(name),
                                   " have the same id ", id));
}

void TokenizerParts::add_to_vocabulary(const std::string& name, std::int64_t id, std::string_view where) {
  add_name(name, id, where);
  if (!vocabulary.emplace(name, std::int32_t(id)).second)
    throw Error(Fault::input, text(where, ": the token ", excerpt(name), " appears twice"));
}

void TokenizerParts::add_token(const std::string& content, std::int64_t id, bool is_special,
                               std::string_view where) {
  if (const auto found = vocabulary.find(content); found == vocabulary.end())
    add_name(content, id, where);
  else if (found->second != id)
    throw Error(Fault::input, text(where, ": the added token ", excerpt(content), " has the id ", id, " but ",
                                   found->second, " in the vocabulary"));
  added.emplace(content, std::int32_t(id));
  if (is_special) special.insert(std::int32_t(id));
}

std::optional<std::int32_t> TokenizerParts::id(std::string_view name) const {
  for (const IdsByText* ids : {&added, &vocabulary}) {
    if (const auto found = ids->find(name); found != ids->end()) return found->second;
  }
  return std::nullopt;
}
bool TokenizerParts::is_added(std::int32_t id) const {
  const auto name = names.find(id);
  return name != names.end() && added.count(name->second) != 0;
}

std::string TokenizerParts::normal(std::string_view text) const {
  if (std::holds_alternative<FormC>(normalizer)) return utf8(composed(characters(text)));
  const auto* const bert = std::get_if<BertNormalizer>(&normalizer);
  return bert ? (*bert)(text) : std::string(text);
}

Merges merges_of(const TokenizerParts& parts, const std::vector<NamedMerge>& merges, std::string_view where) {
  Merges all;
  for (const NamedMerge& m : merges) {
    const auto wrong = [&](std::string_view what) {
      return Error(Fault::input,
                   text(where, "[", all.size(), "]: ", excerpt(m.left), " and ", excerpt(m.right), what));
    };
    const auto id = [&](std::string_view name) {
      const auto found = parts.vocabulary.find(name);
      if (found == parts.vocabulary.end())
        throw wrong(text(" need a token ", excerpt(name), " that is not in the vocabulary"));
      return found->second;
    };
    if (std::int64_t(m.left.size() + m.right.size()) > Tokenizer::kLongestToken)
      throw wrong(text(" make a token of ", m.left.size() + m.right.size(), " bytes"));
    const Merge pair{id(m.left), id(m.right)};
    if (!all.add(pair, id(std::string(m.left) + std::string(m.right)))) throw wrong(" are merged twice");
  }
  return all;
}

void fill_bytes(BytePairs& model, const TokenizerParts& parts, bool whole_words) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto found = parts.vocabulary.find(name_of_byte((unsigned char)byte));
    if (found != parts.vocabulary.end()) model.bytes[byte] = found->second;
  }
  if (!whole_words) return;
  for (const auto& [name, id] : parts.vocabulary) {
    if (auto bytes = bytes_of_name(name); bytes && !bytes->empty())
      model.whole_words.emplace(std::move(*bytes), id);
  }
}

}  // namespace gnomon
