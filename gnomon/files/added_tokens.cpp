#include "gnomon/files/added_tokens.h"

#include <algorithm>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/unicode.h"

namespace gnomon {
namespace {

std::size_t blanks_at_begin(std::string_view text) {
  std::size_t bytes = 0;
  for (std::size_t width = 0; bytes < text.size(); bytes += width) {
    for (width = 1; bytes + width < text.size() && ((unsigned char)text[bytes + width] & 0xC0) == 0x80;)
      ++width;
    if (!is_blank(characters(text.substr(bytes, width))[0])) break;
  }
  return bytes;
}

std::size_t blanks_at_end(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0) {
    std::size_t at = begin - 1;
    while (((unsigned char)text[at] & 0xC0) == 0x80) --at;
    if (!is_blank(characters(text.substr(at, begin - at))[0])) break;
    begin = at;
  }
  return text.size() - begin;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, std::string_view where)
    : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (std::size_t n = 0; n < tokens_.size(); ++n) {
    const std::string& content = tokens_[n].content;
    if (content.empty() || content.size() > kLongest)
      throw Error(Fault::input, text(where, ": an added token of ", content.size(), " bytes, ",
                                     excerpt(content), "; allowed are 1 to ", kLongest));
    if (n > 0 && content == tokens_[n - 1].content)
      throw Error(Fault::input, text(where, ": the added token ", excerpt(content), " appears twice"));
  }
}

// Byte by byte: in order, all tokens with a common beginning stand together.
const AddedToken* AddedTokens::longest_at(std::string_view text) const {
  const AddedToken* longest = nullptr;
  auto first = tokens_.begin(), last = tokens_.end();
  for (std::size_t n = 0; n < text.size() && first != last; ++n) {
    const auto byte_at = [n](const AddedToken& t) {
      return n < t.content.size() ? int((unsigned char)t.content[n]) : -1;
    };
    const int byte = (unsigned char)text[n];
    first = std::partition_point(first, last, [&](const AddedToken& t) { return byte_at(t) < byte; });
    last = std::partition_point(first, last, [&](const AddedToken& t) { return byte_at(t) <= byte; });
    if (first != last && first->content.size() == n + 1) longest = &*first;
  }
  return longest;
}

std::vector<AddedTokens::Piece> AddedTokens::split(std::string_view text) const {
  std::vector<Piece> pieces;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* const token = longest_at(text.substr(at));
    if (!token) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + token->content.size();
    at = end;
    if (token->takes_blanks_before) begin = std::max(begin - blanks_at_end(text.substr(0, begin)), done);
    if (token->takes_blanks_after) end += blanks_at_begin(text.substr(end));
    if (done < begin) pieces.push_back({text.substr(done, begin - done), nullptr});
    pieces.push_back({text.substr(begin, end - begin), token});
    done = end;
  }
  if (done < text.size()) pieces.push_back({text.substr(done), nullptr});
  return pieces;
}

}  // namespace gnomon
