// Random numbers, files, text.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdio>

#include "gnomon/core/names.h"
#include "gnomon/core/random.h"
#include "gnomon/core/readable.h"
#include "gnomon/core/text.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

// Known answers of the authors: Random123, tests/kat_vectors, philox4x32 10.
TEST(Random, PhiloxGivesTheKnownAnswers) {
  using Four = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, StreamsHaveTheirMomentsAndAreIndependent) {
  const Random a(1, "a"), b(1, "b"), c(2, "a");
  double mean = 0, square = 0, ab = 0, ac = 0, uniform = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = a.normal(std::uint64_t(i));
    mean += x / n, square += x * x / n, ab += x * b.normal(std::uint64_t(i)) / n,
        ac += x * c.normal(std::uint64_t(i)) / n;
    uniform += a.uniform(std::uint64_t(i)) / n;
    ASSERT_LT(a.below(std::uint64_t(i), 7), 7u);
  }
  EXPECT_NEAR(mean, 0, 0.015);
  EXPECT_NEAR(square, 1, 0.02);
  EXPECT_NEAR(ab, 0, 0.015);
  EXPECT_NEAR(ac, 0, 0.015);
  EXPECT_NEAR(uniform, 0.5, 0.005);
  EXPECT_EQ(Random(1, "a").bits(5), a.bits(5));
}

TEST(Text, NumbersRoundTrip) {
  EXPECT_EQ(shortest(10000), "10000");
  EXPECT_EQ(shortest(0.25), "0.25");
  EXPECT_EQ(shortest(1e-5), "1e-05");
  EXPECT_EQ(number(shortest(0.1), ""), 0.1);
  EXPECT_THROW(number("1x", "n"), Error);
  EXPECT_THROW(integer("1.5", "n"), Error);
  EXPECT_EQ(fixed(7.4851662, 6), "7.485166");
  EXPECT_EQ(fixed(-0.0001, 2), "0.00");
  EXPECT_EQ(grouped(858880), "858,880");
  EXPECT_EQ(grouped(100), "100");
  EXPECT_EQ(grouped(-1234567.891, 2), "−1,234,567.89");
  EXPECT_EQ(grouped(-0.0001, 2), "0.00");
  EXPECT_EQ(grouped(999.96, 1), "1,000.0");
  EXPECT_EQ(grouped(std::nan(""), 1), "–");
  const std::pair<std::int64_t, const char*> places[] = {
      {1, "1st"},   {2, "2nd"},   {3, "3rd"},   {4, "4th"}, {11, "11th"},  {12, "12th"},
      {13, "13th"}, {21, "21st"}, {22, "22nd"}, {0, "0th"}, {112, "112th"}};
  for (const auto& [n, said] : places) EXPECT_EQ(ordinal(n), said);
}

// The oracle is a shell.
TEST(Text, AShellReadsAWordBack) {
  for (const std::string word : {"study", "a/b-c_d=1,2:%+@.x", "", "two words", "it's", "''", "$HOME", "`id`",
                                 "a\\b", "\"", "*", "~", "line\nline", "{a,b}", "!", "#", "ä"}) {
    FILE* shell = ::popen(("printf %s. " + shell_word(word)).c_str(), "r");
    ASSERT_TRUE(shell);
    char said[100] = {};
    const std::size_t n = std::fread(said, 1, sizeof said, shell);
    EXPECT_EQ(::pclose(shell), 0);
    EXPECT_EQ(std::string(said, n), word + ".");
  }
  EXPECT_EQ(shell_word("study.seeds=5"), "study.seeds=5");  // no quotes where none are needed
}

TEST(Text, Utf8IsToldFromWhatIsNot) {
  EXPECT_EQ(first_invalid_utf8("plain, äöü, 漢字, 🙂"), std::string_view::npos);
  EXPECT_EQ(first_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(first_invalid_utf8("a\xc3"), 1u);             // cut short
  EXPECT_EQ(first_invalid_utf8("\xc0\xaf"), 0u);          // overlong
  EXPECT_EQ(first_invalid_utf8("ab\xed\xa0\x80"), 2u);    // a surrogate
  EXPECT_EQ(first_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // past U+10FFFF
}

TEST_F(Files, WritingReplacesWholeFilesAndLeavesNothingElse) {
  const Path path = folder_ / "a";
  write_file(path, "one");
  write_file(path, "two");
  EXPECT_EQ(read_file(path), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  EXPECT_THROW(write_file(folder_ / "no" / "where", "x"), Error);
  EXPECT_THROW(read_file(folder_ / "missing"), Error);
}

// A full disk, played by a limit on the size of files.
TEST_F(Files, AFullDiskLeavesTheOldContent) {
  const Path path = folder_ / "a";
  write_file(path, "old");
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before {
  }, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file(path, std::string(5000, 'x')), Error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

// What somebody else put where the temporary file goes: nothing is written through it, and nothing waits.
TEST_F(Files, WritingFollowsNoLinks) {
  const Path path = folder_ / "a", temporary = folder_ / "a.partial", victim = folder_ / "victim";
  const auto why = [&](const Path& written) -> std::string {
    try {
      write_file(written, "new");
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::resource);
      return e.what();
    }
    return "";
  };
  write_file(path, "old");
  write_file(victim, "precious");
  std::filesystem::create_symlink(victim, temporary);
  EXPECT_NE(why(path).find("a.partial: found a symbolic link; a regular file is needed"), std::string::npos);
  std::filesystem::remove(temporary);
  std::filesystem::create_symlink(folder_ / "absent", temporary);
  EXPECT_NE(why(path).find("found a symbolic link"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "absent"));
  std::filesystem::remove(temporary);
  std::filesystem::create_hard_link(victim, temporary);
  EXPECT_NE(why(path).find("found a file with 2 names (hard links)"), std::string::npos);
  std::filesystem::remove(temporary);
  ASSERT_EQ(mkfifo(temporary.c_str(), 0600), 0);
  EXPECT_NE(why(path).find("found a pipe (FIFO)"), std::string::npos);
  EXPECT_THROW(FileLock(temporary, "a test"), Error);
  std::filesystem::remove(temporary);
  std::filesystem::create_directory(temporary);
  EXPECT_NE(why(path).find("found a folder"), std::string::npos);
  std::filesystem::remove(temporary);
  EXPECT_EQ(read_file(victim), "precious");
  EXPECT_EQ(read_file(path), "old");
  // What a killed writer left is no such thing, and a link at the final name is replaced, not followed.
  write_file(temporary, "half");
  std::filesystem::remove(path);
  std::filesystem::create_symlink(victim, path);
  EXPECT_EQ(why(path), "");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(read_file(victim), "precious");
  EXPECT_FALSE(std::filesystem::exists(temporary));
  // A lock is made where it is asked for, not where a link leads.
  std::filesystem::create_symlink(folder_ / "absent", folder_ / "lock");
  EXPECT_THROW(FileLock(folder_ / "lock", "a test"), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "absent"));
}

TEST(Names, AreSuggestedByCaseAliasDistanceAndPart) {
  const std::vector<Name> names{
      {"dry-run"}, {"quiet", {"silent"}}, {"kerple_log"}, {"kerple_power"}, {"json"}, {"jsan"}};
  using Words = std::vector<std::string>;
  EXPECT_EQ(meant("DRY_RUN", names), Words{"dry-run"});
  EXPECT_EQ(meant("dryrun", names), Words{"dry-run"});
  EXPECT_EQ(meant("Silent", names), Words{"quiet"});
  EXPECT_EQ(meant("quite", names), Words{"quiet"});  // neighbours changed places: one mistake
  EXPECT_EQ(meant("kerple", names), (Words{"kerple_log", "kerple_power"}));
  EXPECT_EQ(meant("jsin", names), (Words{"json", "jsan"}));
  EXPECT_EQ(meant("xyzzy", names), Words{});
  EXPECT_EQ(meant("", names), Words{});
  std::vector<std::string_view> many;
  for (const std::string_view name : {"aa1", "aa2", "aa3", "aa4"}) many.insert(many.end(), 5, name);
  const Error error = unknown("thing", "aa9", many, "`things` lists them");
  EXPECT_STREQ(error.what(), "unknown thing 'aa9': did you mean 'aa1', 'aa1' or 'aa1'? `things` lists them.");
  EXPECT_STREQ(unknown("thing", "b", std::vector<std::string_view>{"json", "text"}).what(),
               "unknown thing 'b'. Allowed: json, text");
}

TEST(Errors, KeepTheirPartsWhereAPlaceIsAdded) {
  const Error inner = unknown("word", "of", std::vector<std::string_view>{"on", "off"}).at("option 'scale'");
  const Error error = inner.at("line 3");
  EXPECT_STREQ(error.what(),
               "line 3: option 'scale': unknown word 'of': did you mean 'on' or 'off'? Allowed: on, off");
  EXPECT_EQ(error.fault(), Fault::usage);
  EXPECT_EQ(error.details().place, "line 3: option 'scale'");
  EXPECT_EQ(error.details().found, "of");
  EXPECT_EQ(error.details().allowed, "on, off");
  EXPECT_EQ(error.details().suggestions, (std::vector<std::string>{"on", "off"}));
}

TEST_F(Files, ALockIsHeldOnce) {
  const FileLock lock(folder_ / "lock", "the study");
  EXPECT_THROW(FileLock(folder_ / "lock", "the study"), Error);
}

}  // namespace
}  // namespace gnomon
