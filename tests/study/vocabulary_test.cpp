// Byte-pair encoding against Hugging Face's (tests/golden/make_vocabulary.py) and against counting everything anew; its file.
#include "gnomon/study/data/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"
#include "gnomon/files/sha256.h"
#include "tests/support/door.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

using Json = nlohmann::json;
using Symbols = std::vector<std::int32_t>;
using Merges = std::vector<Merge>;

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t n = 0; n < digits.size(); n += 2)
    bytes += char(std::stoi(digits.substr(n, 2), nullptr, 16));
  return bytes;
}

std::vector<std::string> pieces_of(std::string_view rest) {
  std::vector<std::string> pieces;
  while (!rest.empty()) {
    pieces.emplace_back(first_piece(rest));
    rest.remove_prefix(pieces.back().size());
  }
  return pieces;
}

Merges merges_of(const Json& json) {
  Merges merges;
  for (const Json& m : json) merges.push_back({m.at(0), m.at(1)});
  return merges;
}
Merges merges_of(const Vocabulary& v) { return {v.merges().begin(), v.merges().end()}; }

// n bytes out of an alphabet.
std::string drawn(std::uint64_t seed, std::string_view alphabet, std::size_t n) {
  const Random random(seed, "bytes");
  std::string bytes;
  while (bytes.size() < n) bytes += alphabet[std::size_t(random.below(bytes.size(), alphabet.size()))];
  return bytes;
}
std::string any_bytes(std::uint64_t seed, std::size_t n) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += char(byte);
  return drawn(seed, all, n);
}

TEST(Vocabulary, IsThatOfHuggingFaceAndOfThePaper) {
  const Json golden = Json::parse(read_file(Path(GNOMON_TESTS) / "golden" / "vocabulary.json"));
  int controls = 0;
  for (const Json& c : golden.at("cases")) {
    const std::string name = c.at("name"), text = from_hex(c.at("text_hex")),
                      other = from_hex(c.at("other_hex"));
    const Vocabulary v = Vocabulary::learn(text, c.at("size"));
    EXPECT_EQ(merges_of(v), merges_of(c.at("merges"))) << name;
    EXPECT_EQ(v.encode(text), c.at("ids").get<Symbols>()) << name;
    EXPECT_EQ(v.encode(other), c.at("other_ids").get<Symbols>()) << name;
    std::vector<std::size_t> lengths;
    for (const std::string& piece : pieces_of(text)) lengths.push_back(piece.size());
    EXPECT_EQ(lengths, c.at("pieces").get<std::vector<std::size_t>>()) << name;
    EXPECT_THROW(Vocabulary::learn(text, std::int64_t(c.at("all")) + 257), Error)
        << name;  // one more than there are
    for (const auto& [convention, wrong] : c.at("wrong").items()) {
      EXPECT_NE(merges_of(v), merges_of(wrong)) << name << ", " << convention;
      ++controls;
    }
  }
  EXPECT_GE(controls, 20);
}

// A merge everywhere in a row of symbols, from left to right.
Symbols joined(const Symbols& row, Merge pair, std::int32_t symbol) {
  Symbols out;
  for (std::size_t n = 0; n < row.size(); ++n) {
    const bool here = n + 1 < row.size() && Merge{row[n], row[n + 1]} == pair;
    out.push_back(here ? symbol : row[n]);
    n += here;
  }
  return out;
}

std::vector<Symbols> bytes_in_pieces(const std::string& text) {
  std::vector<Symbols> rows;
  for (const std::string& piece : pieces_of(text)) {
    rows.emplace_back();
    for (const char c : piece) rows.back().push_back((unsigned char)c);
  }
  return rows;
}

// The most frequent pair of rows, the smallest of equals; a count of 0 where there is none.
std::pair<std::int64_t, Merge> counted_anew(const std::vector<Symbols>& rows) {
  std::map<Merge, std::int64_t> counts;
  for (const Symbols& row : rows) {
    for (std::size_t n = 0; n + 1 < row.size(); ++n) ++counts[{row[n], row[n + 1]}];
  }
  std::pair<std::int64_t, Merge> best{0, {}};
  for (const auto& [pair, count] : counts) {
    if (count > best.first) best = {count, pair};
  }
  return best;
}

TEST(Vocabulary, CountsAreThoseOfCountingAnew) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::string_view alphabet = std::string_view("aab ").substr(0, 2 + seed % 3);
    const std::string text = drawn(seed, alphabet, 20 + 7 * seed), other = drawn(seed + 1000, "aab b", 300);
    std::vector<Symbols> rows = bytes_in_pieces(text), others = bytes_in_pieces(other);
    Merges merges;
    for (;;) {
      const auto [count, pair] = counted_anew(rows);
      if (count < 2) break;
      const auto symbol = std::int32_t(256 + merges.size());
      for (auto* all : {&rows, &others}) {
        for (Symbols& row : *all) row = joined(row, pair, symbol);
      }
      merges.push_back(pair);
    }
    const Vocabulary v = Vocabulary::learn(text, 256 + std::int64_t(merges.size()));
    ASSERT_EQ(merges_of(v), merges) << text;
    Symbols expected;
    for (const Symbols& row : others) expected.insert(expected.end(), row.begin(), row.end());
    ASSERT_EQ(v.encode(other), expected) << text << " | " << other;
  }
}

TEST(Vocabulary, AnyBytesComeBack) {
  const Vocabulary v =
      Vocabulary::learn(drawn(1, "the cat sat on a mat. ", 5000) + any_bytes(2, 20'000), 600);
  EXPECT_EQ(v.encode(""), Symbols());
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string bytes = any_bytes(seed, 997) + drawn(seed, "the cat. \n", 500);
    const Symbols symbols = v.encode(bytes);
    EXPECT_LT(symbols.size(), bytes.size());
    EXPECT_EQ(v.decode(symbols), bytes);
  }
  std::set<std::string> all;
  for (std::int32_t symbol = 0; symbol < v.size(); ++symbol) {
    EXPECT_TRUE(all.insert(std::string(v.bytes(symbol))).second) << symbol;
    EXPECT_EQ(v.decode(Symbols{symbol}), v.bytes(symbol));
  }
  refused("symbol is 600", [&] { v.bytes(600); });
  refused("symbol is -1", [&] { v.decode(Symbols{7, -1}); });
}

TEST(Vocabulary, TextsAreLearnedFromTogetherAndEndForThemselves) {
  const std::vector<std::string_view> texts{"xy", "xy", "", "xy"};
  EXPECT_EQ(merges_of(Vocabulary::learn(texts, 257)), (Merges{{'x', 'y'}}));
  EXPECT_THROW(Vocabulary::learn(texts, 258), Error);  // "xyxyxy" would have more
  const std::string prose = drawn(1, "the cat sat on a mat. ", 3000);
  const std::string_view parts[] = {std::string_view(prose).substr(0, 1000),
                                    std::string_view(prose).substr(1000)};
  EXPECT_NE(merges_of(Vocabulary::learn(parts, 300)), merges_of(Vocabulary::learn(parts[0], 300)));
  EXPECT_NE(merges_of(Vocabulary::learn(parts, 300)), merges_of(Vocabulary::learn(parts[1], 300)));
}

// Pairs that are looked for from the beginning at every merge would take hours here.
TEST(Vocabulary, APieceMayBeAsLongAsTheText) {
  const std::string dna = drawn(5, "ACGT", 500'000);
  ASSERT_EQ(first_piece(dna).size(), dna.size());
  const Vocabulary v = Vocabulary::learn(dna, 1000);
  EXPECT_EQ(v.decode(v.encode(dna)), dna);
}

TEST(Vocabulary, WhatATextCannotGiveIsRefused) {
  const std::string prose = drawn(1, "the cat sat on a mat. ", 2000);
  for (const std::int64_t size : {-1L, 0L, 256L, 65'537L})
    refused(text("size is ", size, "; allowed are 257 to 65536"), [&] { Vocabulary::learn(prose, size); });
  const auto why = [](const std::string& bytes, std::int64_t size) -> std::string {
    try {
      return text(Vocabulary::learn(bytes, size).size());
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input);
      return e.what();
    }
  };
  EXPECT_EQ(
      why("", 257),
      "a vocabulary of 257 symbols: the text has only 256, because after these no pair of symbols occurs "
      "twice");
  EXPECT_NE(why("abcdefg", 257).find("has only 256,"), std::string::npos);
  EXPECT_NE(why("abab", 258).find("has only 257,"), std::string::npos);
  EXPECT_EQ(why("abab", 257), "257");
  EXPECT_NE(why(prose, 65'536).find("the text has only "), std::string::npos);
  const std::string run(257, 'x');  // 8 doublings; the last letter would make a symbol of 257
  EXPECT_NE(why(run + "\n" + run + "\n", 265).find("has only 264,"), std::string::npos);
}

class VocabularyFile : public Files {
 protected:
  // As it is, or why not: only ever as malformed input, and in a short sentence that names the file.
  std::string read(const std::string& bytes) {
    std::filesystem::remove(path_);
    std::ofstream(path_ = folder_ / "v.json", std::ios::binary) << bytes;
    try {
      const Vocabulary v = Vocabulary::read(path_);
      EXPECT_EQ(v.print(), bytes);
      return "accepted";
    } catch (const Error& e) {
      const std::string why = e.what();
      EXPECT_EQ(e.fault(), Fault::input);
      EXPECT_EQ(why.find(path_.string()), 0u) << why;
      EXPECT_LT(why.size(), 600u);
      return why.substr(path_.string().size());
    }
  }
  std::string forged(const std::string& merges) {
    return read(sealed("{\"format\":\"gnomon byte pairs 1\",\"merges\":[" + merges + "]}"));
  }
  Path path_ = folder_ / "v.json";
};

TEST_F(VocabularyFile, ReadsBackAsItWas) {
  const std::string words = drawn(1, "the cat sat on a mat. ", 2000);
  const Vocabulary v = Vocabulary::learn(words, 300), other = Vocabulary::learn(words, 299);
  EXPECT_EQ(read(v.print()), "accepted");
  const Vocabulary again = Vocabulary::read(path_);
  EXPECT_EQ(merges_of(again), merges_of(v));
  EXPECT_EQ(again.encode(words), v.encode(words));
  EXPECT_EQ(again.sha256(), v.sha256());
  EXPECT_EQ(v.sha256(), gnomon::sha256(read_file(path_)));
  EXPECT_NE(v.sha256(), other.sha256());
}

TEST_F(VocabularyFile, EveryBitCounts) {
  const std::string kUnsealed = ": the content does not match the SHA-256 at its end";
  const std::string whole = Vocabulary::learn("abcabcabc", 258).print();
  ASSERT_EQ(read(whole), "accepted");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = char(flipped[bit / 8] ^ 1 << bit % 8);
    ASSERT_EQ(read(flipped), kUnsealed) << "bit " << bit;
  }
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    ASSERT_EQ(read(whole.substr(0, cut)), kUnsealed) << cut;
  EXPECT_EQ(read(whole + "\n"), kUnsealed);
}

// With a digest that matches, the content still has to be a vocabulary.
TEST_F(VocabularyFile, AForgedOneIsRefused) {
  EXPECT_EQ(forged("[97,98],[256,99]"), "accepted");
  EXPECT_EQ(forged("[97,98],[257,99]"),
            ", \"merges\"[1][0]: found 257, allowed is a whole number from 0 to 256");
  EXPECT_EQ(forged("[97,98],[99,257]"),
            ", \"merges\"[1][1]: found 257, allowed is a whole number from 0 to 256");
  EXPECT_NE(forged("[97,-1]").find("\"merges\"[0][1]: found -1"), std::string::npos);
  EXPECT_NE(forged("[97,1.5]").find("found 1.5"), std::string::npos);
  EXPECT_NE(forged("[97,98,99]").find("allowed is a list of 2"), std::string::npos);
  EXPECT_NE(
      forged("[97,98],[98,97],[97,98]").find("\"merges\"[2]: found a list of 2, allowed is two symbols that"),
      std::string::npos);
  EXPECT_NE(forged("[97,98],[98,99],[256,99],[97,257]").find("\"merges\"[3]"),
            std::string::npos);  // abc twice
  EXPECT_NE(forged("").find("allowed is a list of 1 to 65280"), std::string::npos);
  EXPECT_NE(forged("[97, 98]").find("not in the form in which gnomon writes a vocabulary"),
            std::string::npos);
  std::string doubled = "[97,97]", many = "[0,0]";
  for (int n = 0; n < 60; ++n) doubled += text(",[", 256 + n, ",", 256 + n, "]");  // 2^61 letters
  EXPECT_NE(
      forged(doubled).find("\"merges\"[8]: found a list of 2, allowed is two symbols of at most 256 bytes"),
      std::string::npos);
  for (int n = 1; n < 65'280; ++n) many += text(",[", n >> 8, ",", n & 255, "]");
  EXPECT_EQ(forged(many), "accepted");  // the largest that there is
  many += ",[255,0]";
  EXPECT_NE(forged(many).find("found a list of 65281"), std::string::npos);
  EXPECT_NE(
      read(sealed("{\"format\":\"gnomon byte pairs 2\",\"merges\":[[97,98]]}")).find("\"format\": found"),
      std::string::npos);
  EXPECT_NE(read(sealed("{\"merges\":[[97,98]]}")).find("there is no key \"format\""), std::string::npos);
}

// Random edits under a seal of their own: refused, or a vocabulary that prints as the file.
TEST_F(VocabularyFile, EditsAreRefusedOrRead) {
  const std::string whole = Vocabulary::learn(drawn(1, "the cat sat on a mat. ", 500), 290).print();
  const std::string content = whole.substr(0, whole.rfind(",\n \"sha256\""));
  const Random random(1, "edits");
  std::map<bool, int> found;
  for (std::uint64_t n = 0; n < 4000; ++n) {
    std::string edited = content;
    for (std::uint64_t k = 0; k <= random.below(n << 8, 3); ++k) {
      const auto draw = [&](std::uint64_t what, std::uint64_t limit) {
        return std::size_t(random.below((n << 8) + 8 * k + what + 1, limit));
      };
      const std::size_t at = draw(0, edited.size());
      const std::string_view letters = "0123456789,[]{}\":-.e \xff";
      switch (draw(1, 3)) {
        case 0:
          edited[at] = letters[draw(2, letters.size())];
          break;
        case 1:
          edited.erase(at, draw(2, 8));
          break;
        default:
          edited.insert(at, edited.substr(draw(2, edited.size()), draw(3, 12)));
      }
    }
    ++found[read(sealed(edited + "}")) == "accepted"];
  }
  EXPECT_GT(found[true], 100);
  EXPECT_GT(found[false], 100);
}

}  // namespace
}  // namespace gnomon
