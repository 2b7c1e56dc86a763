#include "gnomon/study/data/vocabulary.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/sha256.h"

namespace gnomon {
namespace {

constexpr std::string_view kFormat = "gnomon byte pairs 1";
constexpr std::int64_t kBytes = 256, kLeastCount = 2;

enum class Kind { letter, digit, blank, other };
Kind kind(char c) {
  const auto byte = (unsigned char)c;
  if (byte >= 0x80 || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')) return Kind::letter;
  if (byte >= '0' && byte <= '9') return Kind::digit;
  return byte == ' ' || (byte >= '\t' && byte <= '\r') ? Kind::blank : Kind::other;
}

std::size_t run_end(std::string_view text, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < text.size() && kind(text[end]) == kind(text[begin])) ++end;
  return end;
}

std::string_view take_piece(std::string_view& rest) {
  const std::string_view piece = first_piece(rest);
  rest.remove_prefix(piece.size());
  return piece;
}

// Pieces cut into symbols that grow. The number of a symbol stands in its first and its last cell, so that both neighbours of
// a symbol are found by its width; around and between pieces is a border.
class Cells {
 public:
  static constexpr std::int32_t kBorder = -1, kInside = -2;
  using Place = std::int32_t;  // the first cell of a symbol

  explicit Cells(const std::vector<std::string>& bytes) : bytes_(bytes) {}
  void append(std::string_view piece) {
    for (const char c : piece) cells_.push_back(std::int32_t((unsigned char)c));
    cells_.push_back(kBorder);
  }
  Place end() const { return Place(cells_.size()); }

  std::int32_t at(Place p) const { return cells_[std::size_t(p)]; }
  std::int32_t before(Place p) const { return at(p - 1); }
  Place next(Place p) const { return p + width(at(p)); }
  Place previous(Place p) const { return p - width(before(p)); }

  // Whether the pair, which was here once, still is: a symbol that was joined leaves its place to one with a greater number.
  bool holds(Place p, Merge pair) const { return at(p) == pair.left && at(next(p)) == pair.right; }
  void join(Place p, std::int32_t symbol) {
    const Place right = next(p), end = next(right);
    cells_[std::size_t(right - 1)] = cells_[std::size_t(right)] = kInside;
    cells_[std::size_t(p)] = cells_[std::size_t(end - 1)] = symbol;
  }

 private:
  Place width(std::int32_t symbol) const { return Place(bytes_[std::size_t(symbol)].size()); }

  const std::vector<std::string>& bytes_;
  std::vector<std::int32_t> cells_{kBorder};
};

// The distinct pieces of texts with how often each is there, and all pairs in them: a merge touches only the places of its pair.
class Pairs {
 public:
  Pairs(std::span<const std::string_view> texts, const std::vector<std::string>& bytes)
      : bytes_(bytes), cells_(bytes) {
    count_pieces(texts);
    for (Cells::Place p = 1; p + 1 < cells_.end(); ++p) {
      if (cells_.at(p) != Cells::kBorder && cells_.at(p + 1) != Cells::kBorder)
        gain({cells_.at(p), cells_.at(p + 1)}, p);
    }
    propose_new();
  }

  // The pair to merge next; none if no pair is there twice.
  std::optional<Merge> most_frequent() {
    while (!candidates_.empty()) {
      const Candidate top = candidates_.top();
      const std::int64_t now = count(top.pair);
      if (now == top.count) return top.pair;
      candidates_.pop();  // counts only fall: the others are below what they say, too
      propose({now, top.pair});
    }
    return std::nullopt;
  }

  // Everywhere, from left to right in each piece.
  void join(Merge pair, std::int32_t symbol) {
    const std::vector<Cells::Place> places = std::move(pairs_.at(pair).places);
    for (const Cells::Place p : places) {
      if (!cells_.holds(p, pair)) continue;  // one of three equal symbols in a row
      const std::int32_t before = cells_.before(p), after = cells_.at(cells_.next(cells_.next(p)));
      if (before != Cells::kBorder) {
        lose({before, pair.left}, p);
        gain({before, symbol}, cells_.previous(p));
      }
      cells_.join(p, symbol);
      if (after != Cells::kBorder) {
        lose({pair.right, after}, p);
        gain({symbol, after}, p);
      }
    }
    pairs_.erase(pair);
    propose_new();
  }

 private:
  struct Seen {
    std::int64_t count = 0;
    std::vector<Cells::Place> places;  // also those where it was
  };
  struct Candidate {
    std::int64_t count;
    Merge pair;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void count_pieces(std::span<const std::string_view> texts) {
    std::unordered_map<std::string_view, std::size_t> index;
    std::vector<std::pair<std::string_view, std::int32_t>> pieces;  // in the order in which they come
    for (std::string_view rest : texts) {
      while (!rest.empty()) {
        const std::string_view piece = take_piece(rest);
        if (piece.size() == 1) continue;  // no pair
        const auto [at, is_new] = index.try_emplace(piece, pieces.size());
        if (is_new) pieces.emplace_back(piece, 0);
        ++pieces[at->second].second;
      }
    }
    for (const auto& [piece, count] : pieces) {
      cells_.append(piece);
      times_.resize(std::size_t(cells_.end()), count);
    }
  }

  std::int64_t count(Merge pair) const {
    const auto found = pairs_.find(pair);
    return found == pairs_.end() ? 0 : found->second.count;
  }
  void gain(Merge pair, Cells::Place p) {
    const auto width = [&](std::int32_t symbol) { return bytes_[std::size_t(symbol)].size(); };
    if (width(pair.left) + width(pair.right) > std::size_t(Vocabulary::kLongest)) return;
    const auto [seen, is_new] = pairs_.try_emplace(pair);
    if (is_new) new_.push_back(pair);
    seen->second.count += times_[std::size_t(p)];
    seen->second.places.push_back(p);
  }
  void lose(Merge pair, Cells::Place p) {
    const auto seen = pairs_.find(pair);
    if (seen == pairs_.end()) return;
    seen->second.count -= times_[std::size_t(p)];
    if (seen->second.count == 0) pairs_.erase(seen);
  }
  void propose(const Candidate& c) {
    if (c.count >= kLeastCount) candidates_.push(c);
  }
  void propose_new() {
    for (const Merge pair : new_) propose({count(pair), pair});
    new_.clear();
  }

  const std::vector<std::string>& bytes_;
  Cells cells_;
  std::vector<std::int32_t> times_;  // of every cell: how often its piece is there
  std::unordered_map<Merge, Seen, MergeHash> pairs_;
  std::vector<Merge> new_;  // not among the candidates yet
  std::priority_queue<Candidate> candidates_;
};

void check_length(std::int64_t bytes) {
  if (bytes > Vocabulary::kMostText)
    throw Error(Fault::input, text("found a text of ", bytes, " bytes; byte-pair encoding takes up to ",
                                   Vocabulary::kMostText));
}

}  // namespace

std::string_view first_piece(std::string_view text) {
  if (kind(text[0]) != Kind::blank) return text.substr(0, run_end(text, 0));
  const std::size_t end = run_end(text, 0);
  if (end == text.size() || text[end - 1] != ' ') return text.substr(0, end);
  return text.substr(0, end == 1 ? run_end(text, 1) : end - 1);
}

Vocabulary::Vocabulary() {
  for (std::int64_t byte = 0; byte < kBytes; ++byte) bytes_.emplace_back(1, char(byte));
}

void Vocabulary::add(Merge merge) {
  joins_.add(merge, std::int32_t(size()));
  merges_.push_back(merge);
  bytes_.push_back(bytes_[std::size_t(merge.left)] + bytes_[std::size_t(merge.right)]);
}

Vocabulary Vocabulary::learn(std::span<const std::string_view> texts, std::int64_t size) {
  check_extents("vocabulary", {{"size", size, kLeast, kMost}});
  std::int64_t bytes = 0;
  for (const std::string_view text : texts) bytes += std::int64_t(text.size());
  check_length(bytes);
  Vocabulary v;
  Pairs pairs(texts, v.bytes_);
  while (v.size() < size) {
    const auto pair = pairs.most_frequent();
    if (!pair)
      throw Error(Fault::input, text("a vocabulary of ", size, " symbols: the text has only ", v.size(),
                                     ", because after these no pair of symbols occurs twice"));
    v.add(*pair);
    pairs.join(*pair, std::int32_t(v.size() - 1));
  }
  return v;
}

std::string_view Vocabulary::bytes(std::int32_t symbol) const {
  check_extents("vocabulary", {{"symbol", symbol, 0, size() - 1}});
  return bytes_[std::size_t(symbol)];
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text) const {
  check_length(std::int64_t(text.size()));
  struct Range {
    std::size_t begin, end;
  };
  std::unordered_map<std::string_view, Range> written;  // where the symbols of a piece stand already
  std::vector<std::int32_t> symbols;
  while (!text.empty()) {
    const std::string_view piece = take_piece(text);
    const auto [same, is_new] = written.try_emplace(piece, Range{symbols.size(), 0});
    auto& [begin, end] = same->second;
    if (is_new) {
      encode_piece(piece, symbols);
      end = symbols.size();
    } else {
      for (std::size_t n = begin; n < end; ++n) symbols.push_back(symbols[n]);
    }
  }
  return symbols;
}

void Vocabulary::encode_piece(std::string_view piece, std::vector<std::int32_t>& to) const {
  std::vector<std::int32_t> symbols;
  for (const char c : piece) symbols.push_back(std::int32_t((unsigned char)c));
  joins_.join(symbols);
  to.insert(to.end(), symbols.begin(), symbols.end());
}

std::string Vocabulary::decode(std::span<const std::int32_t> symbols) const {
  std::string text;
  for (const std::int32_t symbol : symbols) text += bytes(symbol);
  return text;
}

std::string Vocabulary::print() const {
  StrictJson merges = StrictJson::array();
  for (const Merge& m : merges_) merges.push_back({m.left, m.right});
  return sealed(StrictJson{{"format", kFormat}, {"merges", merges}}.dump());
}

std::string Vocabulary::sha256() const { return gnomon::sha256(print()); }

Vocabulary Vocabulary::read(const Path& path) {
  const std::string file = read_file(path);
  const StrictJson json = parse_sealed_json(file, path.string());
  const JsonValue top(json, path.string()), format = top.member("format"), merges = top.member("merges");
  if (format.text() != kFormat) format.wrong(excerpt(kFormat));
  const auto list = merges.list();
  if (list.empty() || std::int64_t(list.size()) > kMost - kBytes)
    merges.wrong(text("a list of 1 to ", kMost - kBytes));
  Vocabulary v;
  std::set<std::string> taken;
  for (const JsonValue& m : list) {
    const auto both = m.list(2);
    const Merge merge{std::int32_t(both[0].whole(0, v.size() - 1)),
                      std::int32_t(both[1].whole(0, v.size() - 1))};
    if (std::int64_t(v.bytes(merge.left).size() + v.bytes(merge.right).size()) > kLongest)
      m.wrong(text("two symbols of at most ", kLongest, " bytes together"));
    v.add(merge);
    if (!taken.insert(v.bytes_.back()).second) m.wrong("two symbols that no earlier merge has joined");
  }
  if (v.print() != file)
    throw Error(Fault::input, text(path.string(), ": not in the form in which gnomon writes a vocabulary"));
  return v;
}

}  // namespace gnomon
