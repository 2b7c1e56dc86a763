#include "gnomon/files/tokenizer.h"

#include <utility>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/tokenizer_parts.h"
#include "gnomon/files/unicode.h"

namespace gnomon {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// tokenizers, decoders/wordpiece.rs, cleanup(): token by token, in this order.
void clean_up(std::string& token) {
  constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kReplaced) replace_all(token, from, to);
}

}  // namespace

std::int64_t Tokenizer::size() const {
  return parts_->names.empty() ? 0 : std::int64_t(parts_->names.rbegin()->first) + 1;
}

std::optional<std::int32_t> Tokenizer::id(std::string_view token) const { return parts_->id(token); }

std::string_view Tokenizer::token(std::int32_t id) const {
  const auto found = parts_->names.find(id);
  return found == parts_->names.end() ? std::string_view() : found->second;
}

bool Tokenizer::is_special(std::int32_t id) const { return parts_->special.count(id) != 0; }

std::optional<std::int32_t> Tokenizer::mask() const {
  std::optional<std::int32_t> found;
  for (const std::string_view name : {"[MASK]", "<mask>"}) {
    const auto here = id(name);
    if (!here || !is_special(*here)) continue;
    if (found) return std::nullopt;
    found = here;
  }
  return found;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view words, Ends ends) const {
  if (std::int64_t(words.size()) > kMostText)
    throw Error(Fault::input, text("the text has ", words.size(), " bytes; allowed are at most ", kMostText));
  if (const std::size_t at = first_invalid_utf8(words); at != words.npos)
    throw Error(Fault::input, text("byte ", at, " of the text is not UTF-8"));
  const TokenizerParts& parts = *parts_;
  std::vector<std::int32_t> ids;
  if (ends == Ends::as_the_model) ids = parts.first;
  for (const auto& [outer, literal] : parts.literal.split(words)) {
    if (literal) {
      ids.push_back(literal->id);
      continue;
    }
    const std::string normal = parts.normal(outer);
    for (const auto& [inner, token] : parts.normalized.split(normal)) {
      if (token)
        ids.push_back(token->id);
      else if (const auto* const pairs = std::get_if<BytePairs>(&parts.model))
        pairs->encode(inner, ids);
      else
        std::get<WordPieces>(parts.model).encode(inner, parts.vocabulary, ids);
    }
  }
  if (ends == Ends::as_the_model) ids.insert(ids.end(), parts.last.begin(), parts.last.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string whole;
  const auto* const pieces = std::get_if<WordPieces>(&parts_->model);
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const auto found = parts_->names.find(ids[n]);
    if (found == parts_->names.end())
      throw Error(Fault::usage, text("no token has the id ", ids[n], "; the number of tokens is ", size()));
    const std::string& name = found->second;
    if (pieces) {
      const bool goes_on = name.compare(0, pieces->prefix.size(), pieces->prefix) == 0;
      std::string token = n == 0 ? name : goes_on ? name.substr(pieces->prefix.size()) : " " + name;
      if (parts_->cleans_up) clean_up(token);
      whole += token;
    } else {
      const auto bytes = parts_->is_added(ids[n]) ? std::nullopt : bytes_of_name(name);
      whole += bytes ? *bytes : name;
    }
  }
  return whole;
}

}  // namespace gnomon
