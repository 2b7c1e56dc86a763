// Tasks of a user's own: lines of question and answer, their parts, their windows.
#include "gnomon/study/data/lines.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <numeric>

#include "gnomon/core/text.h"
#include "gnomon/files/sha256.h"
#include "gnomon/kernels/loss.h"
#include "tests/support/door.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

using Part = Lines::Part;
constexpr Part kParts[] = {Part::training, Part::validation, Part::test};

class LinesTest : public Files {
 protected:
  Path file(const std::string& bytes) const {
    std::filesystem::remove(folder_ / "t.tsv");
    std::ofstream(folder_ / "t.tsv", std::ios::binary) << bytes;
    return folder_ / "t.tsv";
  }
  // Why these lines, before good ones, are refused, without the path; empty: they are not.
  std::string why(const std::string& bytes, std::int64_t T = 32) const {
    const Path path = file(bytes + sums(100, 0));
    try {
      const Lines lines(path, T);
      return "";
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input);
      const std::string message = e.what();
      EXPECT_EQ(message.find(path.string() + ": "), 0u) << message;
      return message.substr(path.string().size() + 2);
    }
  }
  // The lines from+0=..., from+1=..., n of them.
  static std::string sums(int n, int from) {
    std::string all;
    for (int k = 0; k < n; ++k) all += text(from, "+", k, "=\t", from + k, "\n");
    return all;
  }
};

std::map<std::string, Part> where(const Lines& lines) {
  std::map<std::string, Part> parts;
  for (const Part part : kParts) {
    for (const Example& e : lines.part(part)) {
      EXPECT_EQ(parts.try_emplace(e.question, part).first->second, part) << e.question << " is in two parts";
    }
  }
  return parts;
}

TEST_F(LinesTest, EveryQuestionIsInOnePartAndStaysThere) {
  std::string again = sums(1000, 5);  // other answers to the same questions
  for (std::size_t at = 0; (at = again.find('\t', at)) != std::string::npos; ++at)
    again.insert(at + 1, "about ");
  const Lines few(file(sums(1000, 5)), 32), many(file(sums(10'000, 0) + sums(1000, 5) + again), 32);
  const auto before = where(few), after = where(many);
  EXPECT_EQ(before.size(), 1000u);
  EXPECT_EQ(after.size(), 11'000u);
  for (const auto& [question, part] : before) EXPECT_EQ(after.at(question), part) << question;
  std::map<Part, double> questions;
  for (const auto& [question, part] : after) ++questions[part];
  // 5 % of 11,000 are 550; binomial: ± 4·√(11000·0.05·0.95) = 91.
  EXPECT_NEAR(questions[Part::validation], 550, 91);
  EXPECT_NEAR(questions[Part::test], 550, 91);
  std::size_t lines = 0;
  for (const Part part : kParts) lines += many.part(part).size();
  EXPECT_EQ(lines, 12'000u);
  EXPECT_NE(few.sha256(), many.sha256());
}

TEST_F(LinesTest, TheLastLineEndMayBeMissingAndWindowsHasItsOwn) {
  const std::string unix_lines = sums(100, 3);
  std::string windows_lines;
  for (const char c : unix_lines) windows_lines += c == '\n' ? "\r\n" : std::string(1, c);
  const Lines plain(file(unix_lines), 32), open(file(unix_lines.substr(0, unix_lines.size() - 1)), 32);
  const Lines windows(file(windows_lines), 32);
  EXPECT_TRUE(plain.notes().empty());
  ASSERT_EQ(windows.notes().size(), 1u);
  EXPECT_NE(windows.notes()[0].find("t.tsv: 100 Windows line ends (CRLF) were read as LF"),
            std::string::npos);
  EXPECT_EQ(plain.sha256(), windows.sha256());
  EXPECT_EQ(plain.sha256(), gnomon::sha256(unix_lines));
  EXPECT_EQ(where(plain), where(open));
  EXPECT_EQ(where(plain), where(windows));
  for (const Part part : kParts) {
    for (std::size_t n = 0; n < plain.part(part).size(); ++n)
      EXPECT_EQ(plain.part(part)[n].answer, windows.part(part)[n].answer);
  }
}

TEST_F(LinesTest, LinesThatAreNoQuestionAndAnswerAreRefused) {
  EXPECT_EQ(why("a b\tc\n"), "");
  EXPECT_EQ(why("a\tb\nno tab\n"),
            "line 2: found 0 tabs in \"no tab\"; allowed is a question, one tab and an answer");
  EXPECT_EQ(why("a\tb\tc\n"),
            "line 1: found 2 tabs in \"a\\x09b\\x09c\"; allowed is a question, one tab and an answer");
  EXPECT_EQ(why("a\tb\n\nc\td\n"), "line 2: found nothing; allowed is a question, one tab and an answer");
  EXPECT_EQ(why("\n"), "line 1: found nothing; allowed is a question, one tab and an answer");
  EXPECT_EQ(why("\tb\n"),
            "line 1: found no question in \"\\x09b\"; allowed is a question, one tab and an answer");
  EXPECT_EQ(why("a\t\n"),
            "line 1: found no answer in \"a\\x09\"; allowed is a question, one tab and an answer");
  EXPECT_EQ(why("a\t\r\n"),
            "line 1: found no answer in \"a\\x09\"; allowed is a question, one tab and an answer");
  EXPECT_EQ(why(std::string(27, 'q') + "\tans\n"), "");
  EXPECT_EQ(why(std::string(28, 'q') + "\tans\n"),
            "line 1: found a question of 28 bytes and an answer of 3, 33 tokens with tab and line end; a "
            "window holds 32");
  EXPECT_EQ(why(std::string("a\tb\nc\0\td\n", 9)).find("byte 5 (line 2, byte 2 of it): found a NUL byte"),
            0u);
  EXPECT_EQ(why("a\tb\nc\xff\td\n").find("byte 5 (line 2, byte 2 of it): found 0xFF, which is not UTF-8"),
            0u);
  EXPECT_EQ(why("\xEF\xBB\xBFq\ta\n"), "line 1: found a byte order mark; save the text without one");
  EXPECT_LT(why(std::string(100'000, 'x') + "\n").size(), 300u);

  const auto short_file = [&](const std::string& bytes) {
    try {
      const Lines lines(file(bytes), 32);
      return std::string();
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::input);
      return std::string(e.what());
    }
  };
  EXPECT_NE(short_file("").find("line 1: found nothing"), std::string::npos);
  EXPECT_NE(short_file("a\tb\n").find("found 1 line: "), std::string::npos) << short_file("a\tb\n");
  EXPECT_NE(short_file("a\tb\n").find("every part needs one"), std::string::npos);
  try {
    Lines(folder_ / "none", 32);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::resource);
  }
}

TEST(WindowsOfExamples, AskForTheAnswerAndItsEnd) {
  const std::vector<Example> examples{{"ab", "cd"}, {"x", "y"}, {"né", "z"}};
  const std::vector<std::int64_t> which{1, 0, 2};
  const std::int32_t o = kUnscored;
  const Sample causal = windows_of(examples, which, 6, true);
  EXPECT_EQ(causal.T, 6);
  EXPECT_EQ(causal.inputs, (std::vector<std::int32_t>{'x', '\t', 'y', '\n', '\n', '\n',  //
                                                      'a', 'b', '\t', 'c', 'd', '\n',    //
                                                      'n', 0xC3, 0xA9, '\t', 'z', '\n'}));
  EXPECT_EQ(causal.targets, (std::vector<std::int32_t>{o, 'y', '\n', o, o, o,    //
                                                       o, o, 'c', 'd', '\n', o,  //
                                                       o, o, o, 'z', '\n', o}));
  causal.check();
  const Sample masked = windows_of(examples, which, 6, false);
  EXPECT_EQ(masked.inputs, (std::vector<std::int32_t>{'x', '\t', 0, '\n', '\n', '\n',  //
                                                      'a', 'b', '\t', 0, 0, '\n',      //
                                                      'n', 0xC3, 0xA9, '\t', 0, '\n'}));
  EXPECT_EQ(masked.targets, (std::vector<std::int32_t>{o, o, 'y', o, o, o,    //
                                                       o, o, o, 'c', 'd', o,  //
                                                       o, o, o, o, 'z', o}));
  refused("tokens of an example is 6; allowed are 0 to 5", [&] { windows_of(examples, which, 5, true); });
  refused("example is 3; allowed are 0 to 2",
          [&] { windows_of(examples, std::vector<std::int64_t>{3}, 6, true); });
  refused("example is -1", [&] { windows_of(examples, std::vector<std::int64_t>{-1}, 6, true); });
}

// What is asked for is the answer and nothing else, whatever the example; an encoder never sees it.
TEST(WindowsOfExamples, HoldForAnyExample) {
  Dice dice("examples");
  const auto word = [&] {
    std::string letters;
    for (std::int64_t n = 1 + dice.below(9); n > 0; --n) letters += char(1 + dice.below(255));
    return letters;
  };
  for (int n = 0; n < 500; ++n) {
    const std::vector<Example> one{{word(), word()}};
    const std::int64_t T = one[0].tokens() + dice.below(5), zero = 0;
    for (const bool causal : {true, false}) {
      const Sample s = windows_of(one, std::span(&zero, 1), T, causal);
      s.check();
      std::string asked, seen;
      for (std::size_t t = 0; t < std::size_t(T); ++t) {
        if (s.targets[t] != kUnscored) asked += char(s.targets[t]);
        seen += char(s.inputs[t]);
      }
      EXPECT_EQ(asked, one[0].answer + (causal ? "\n" : ""));
      const std::string shown = causal ? one[0].answer : std::string(one[0].answer.size(), '\0');
      EXPECT_EQ(seen.substr(0, std::size_t(one[0].tokens())), one[0].question + '\t' + shown + '\n');
    }
  }
}

}  // namespace
}  // namespace gnomon
