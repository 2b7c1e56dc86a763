// Files of token ids as nanoGPT and llm.c write them, and what may be wrong with them.
#include "gnomon/study/data/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "gnomon/core/text.h"
#include "gnomon/files/sha256.h"
#include "tests/support/door.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

using Ids = std::vector<std::int32_t>;

class TokenFiles : public Files {
 protected:
  Path file(const std::string& bytes) const {
    std::filesystem::remove(folder_ / "ids.bin");
    std::ofstream(folder_ / "ids.bin", std::ios::binary) << bytes;
    return folder_ / "ids.bin";
  }
  static Ids all(const TokenFile& tokens) {
    Ids ids(std::size_t(tokens.size()));
    tokens.copy(0, ids);
    return ids;
  }
  std::string why(const std::string& bytes, std::int64_t id_bytes, std::int64_t vocabulary,
                  Fault fault = Fault::input) const {
    return why(file(bytes), id_bytes, vocabulary, fault);
  }
  std::string why(const Path& path, std::int64_t id_bytes, std::int64_t vocabulary, Fault fault) const {
    try {
      const TokenFile tokens(path, id_bytes, vocabulary);
      return "";
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), fault) << e.what();
      const std::string message = e.what(), name = path.string() + ": ";
      return message.find(name) == 0 ? message.substr(name.size()) : message;
    }
  }
};

// int32 numbers as the machine of everyone who trains writes them.
std::string int32s(std::initializer_list<std::int32_t> numbers) {
  std::string bytes;
  for (const std::int32_t number : numbers) {
    for (int shift = 0; shift < 32; shift += 8) bytes += char(std::uint32_t(number) >> shift & 255);
  }
  return bytes;
}
std::string header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  return int32s({magic, version, count}) + std::string(1012, '\0');
}

TEST_F(TokenFiles, AreLittleEndian) {
  const std::string two("\x01\x02\x00\x00\x50\xC3\xFF\x00", 8), four("\x01\x02\x03\x00\xFF\xFF\xFF\x7F", 8);
  const TokenFile small(file(two), 2, 50'001);
  EXPECT_EQ(small.size(), 4);
  EXPECT_EQ(small.vocabulary(), 50'001);
  EXPECT_EQ(all(small), (Ids{0x0201, 0, 50'000, 255}));
  EXPECT_EQ(small.sha256(), gnomon::sha256(two));
  Ids part(2);
  small.copy(1, part);
  EXPECT_EQ(part, (Ids{0, 50'000}));
  const TokenFile large(file(four), 4, std::int64_t{1} << 31);
  EXPECT_EQ(all(large), (Ids{0x030201, 0x7FFFFFFF}));
  EXPECT_EQ(all(TokenFile(file("\xFF\xFF"), 2, 65'536)), Ids{65'535});
}

TEST_F(TokenFiles, OfLlmCHaveAHeader) {
  const std::string two = int32s({7 | 8 << 16, 9}).substr(0, 6), four = int32s({70'000, 0, 128'255});
  const TokenFile gpt2(file(header(20240520, 1, 3) + two), 2, 50'257),
      llama(file(header(20240801, 7, 3) + four), 4, 128'256);
  EXPECT_EQ(all(gpt2), (Ids{7, 8, 9}));
  EXPECT_EQ(all(llama), (Ids{70'000, 0, 128'255}));
  EXPECT_EQ(gpt2.sha256(), gnomon::sha256(two));

  const std::string place = "in the header of llm.c (20240520): found ";
  EXPECT_EQ(why(header(20240520, 2, 3) + two, 2, 50'257), place + "version 2, allowed is 1");
  EXPECT_EQ(why(header(20240520, 1, 3) + two, 4, 50'257), place + "ids of 2 bytes, expected are ids of 4");
  EXPECT_EQ(
      why(header(20240520, 1, 4) + two, 2, 50'257),
      place + "a count of 4 ids, and 6 bytes after the 1024 of the header; expected are 2 bytes per id");
  EXPECT_NE(why(header(20240520, 1, -3) + two, 2, 50'257).find("a count of -3 ids"), std::string::npos);
  EXPECT_NE(why(header(20240520, 1, -506).substr(0, 12), 2, 50'257).find("a count of -506 ids"),
            std::string::npos);
  EXPECT_EQ(why(header(20240520, 1, 0), 2, 50'257), "found no ids; at least one is needed");
}

TEST_F(TokenFiles, WhatIsNoFileOfIdsIsRefused) {
  const std::string three("\x00\x00\x01\x00\x02\x00", 6);
  EXPECT_EQ(why(three, 2, 3), "");
  EXPECT_EQ(why(three, 2, 2), "id 2 (from 0): found 2, allowed is 0 to 1");
  EXPECT_EQ(why(three, 4, 100'000), "found 6 bytes, allowed are multiples of the 4 bytes of an id");
  EXPECT_EQ(why(three + "x", 2, 3), "found 7 bytes, allowed are multiples of the 2 bytes of an id");
  EXPECT_EQ(why("x", 2, 3), "found 1 byte, allowed are multiples of the 2 bytes of an id");
  EXPECT_EQ(why("", 2, 3), "found no ids; at least one is needed");
  EXPECT_EQ(why("\xFF\xFF\xFF\xFF", 4, std::int64_t{1} << 31),
            "id 0 (from 0): found 4294967295, allowed is 0 to 2147483647");

  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(why(folder_ / "pipe", 2, 3, Fault::resource), "found a pipe (FIFO); a regular file is needed");
  EXPECT_EQ(why(folder_, 2, 3, Fault::resource), "found a folder; a regular file is needed");
  EXPECT_EQ(why(Path("/dev/zero"), 2, 3, Fault::resource), "found a device; a regular file is needed");
  EXPECT_EQ(why(folder_ / "none", 2, 3, Fault::resource), "cannot open: No such file or directory");

  const Path good = file(three);
  for (const std::int64_t width :
       {kLeast, std::int64_t{-2}, std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, std::int64_t{8}, kMost})
    refused("allowed are 2 and 4", [&] { TokenFile(good, width, 3); });
  for (const std::int64_t vocabulary : {kLeast, std::int64_t{0}, (std::int64_t{1} << 31) + 1, kMost})
    refused("vocabulary is ", [&] { TokenFile(good, 2, vocabulary); });
}

TEST_F(TokenFiles, IdsThatAreNotThereAreRefused) {
  const TokenFile tokens(file(std::string("\x00\x00\x01\x00\x02\x00", 6)), 2, 3);
  Ids two(2), four(4);
  tokens.copy(1, two);
  EXPECT_EQ(two, (Ids{1, 2}));
  tokens.copy(3, {});
  refused("first of them is 2; allowed are 0 to 1", [&] { tokens.copy(2, two); });
  for (const std::int64_t begin : {kLeast, std::int64_t{-1}, std::int64_t{4}, kMost})
    refused("first of them is", [&] { tokens.copy(begin, two); });
  refused("ids to copy is 4; allowed are 0 to 3", [&] { tokens.copy(0, four); });
}

// Any bytes are ids or are refused, and no byte beyond them is read.
TEST_F(TokenFiles, HoldForAnyBytes) {
  Dice dice("bytes");
  int accepted = 0;
  for (int n = 0; n < 2000; ++n) {
    std::string bytes = dice.below(3) ? ""
                                      : header(dice.below(2) ? 20240520 : 20240801, dice.below(2) ? 1 : 7,
                                               std::int32_t(dice.below(4)));
    for (std::int64_t k = dice.below(12); k > 0; --k)
      bytes += char(dice.below(4) ? dice.below(3) : dice.below(256));
    if (dice.below(4) == 0) bytes.resize(std::size_t(dice.below(std::int64_t(bytes.size()) + 1)));
    const std::int64_t width = 2 + 2 * dice.below(2), vocabulary = 1 + dice.below(70'000);
    if (!why(bytes, width, vocabulary).empty()) continue;
    ++accepted;
    const TokenFile tokens(file(bytes), width, vocabulary);
    for (const std::int32_t id : all(tokens)) ASSERT_TRUE(id >= 0 && id < vocabulary);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 1900);
}

}  // namespace
}  // namespace gnomon
