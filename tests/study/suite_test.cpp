// Several studies in one file: what each says is read with its place, and stands over what all share.
#include "gnomon/study/suite.h"

#include <gtest/gtest.h>

#include "gnomon/core/error.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

const Toml kTwo{R"toml(
[study]
seeds = 4
minutes = 6
[[prediction]]
says = "of all"
measure = "loss"
arm = "rope"
above = 0

[[part]]
name = "a"
[part.study]
minutes = 2

[[part]]
name = "b-2"
[part.model]
width = 48
[[part.prediction]]
says = "of b"
measure = "loss"
arm = "rope"
above = 0
)toml",
                "two.toml"};

TEST(Suite, APartIsWhatAllShareAndWhatItSays) {
  const Suite suite = read_suite({}, kTwo);
  ASSERT_EQ(suite.size(), 2u);
  EXPECT_EQ(suite[0].name, "a");
  EXPECT_EQ(suite[1].name, "b-2");
  EXPECT_EQ(suite[0].config.seeds, 4);
  EXPECT_EQ(suite[1].config.seeds, 4);
  EXPECT_EQ(suite[0].config.minutes, 2);
  EXPECT_EQ(suite[1].config.minutes, 6);
  EXPECT_EQ(suite[0].config.model.width, StudyConfig().model.width);
  EXPECT_EQ(suite[1].config.model.width, 48);
  ASSERT_EQ(suite[0].config.predictions.size(), 1u);
  EXPECT_EQ(suite[0].config.predictions[0].says, "of all");
  ASSERT_EQ(suite[1].config.predictions.size(), 1u);
  EXPECT_EQ(suite[1].config.predictions[0].says, "of b");
}

TEST(Suite, AFileStandsOverEveryPartOfAPreset) {
  const Toml plain{"[study]\nseeds = 7\n", "plain.toml"};
  for (const Part& part : read_suite(kTwo, plain)) EXPECT_EQ(part.config.seeds, 7);
  const Suite alone = read_suite(plain, {});
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].name, "");
  EXPECT_EQ(alone[0].config.seeds, 7);
  EXPECT_THROW(read_suite(kTwo, kTwo), Error);
  ASSERT_EQ(read_suite({}, {}).size(), 1u);
}

TEST(Suite, MinutesAreSharedOutAsThePartsHaveThem) {
  Suite suite = read_suite({}, kTwo);
  set_minutes(suite, 4);
  EXPECT_DOUBLE_EQ(suite[0].config.minutes, 1);
  EXPECT_DOUBLE_EQ(suite[1].config.minutes, 3);
}

TEST(Suite, WhatIsNoPartIsRefusedWithItsPlace) {
  const auto why = [](const std::string& content) {
    try {
      read_suite({}, Toml{content, "a.toml"});
    } catch (const Error& e) {
      EXPECT_EQ(e.fault(), Fault::usage);
      return std::string(e.what());
    }
    return std::string("fine");
  };
  const std::string part = "\n[[part]]\nname = 'a'\n";
  EXPECT_EQ(why(part), "fine");
  EXPECT_EQ(why(part + part), "a.toml, line 6: part.name: 'a' is there twice");
  EXPECT_EQ(why("[part]\nname = 'a'\n"), "a.toml, line 1: part must be tables, each under [[part]]");
  EXPECT_EQ(why("part = 3\n"), "a.toml, line 1: part must be tables, each under [[part]]");
  EXPECT_EQ(why("\n[[part]]\n").rfind("a.toml, line 2: part.name is missing", 0), 0u);
  for (const char* name : {"", "..", "a/b", "A", "a b", "-\\u0000"})
    EXPECT_NE(why("[[part]]\nname = \"" + std::string(name) + "\"\n").find("allowed are a to z"),
              std::string::npos)
        << name;
  EXPECT_EQ(why("[[part]]\nname = 'a'\n[part.stduy]\nseeds = 1\n")
                .rfind("a.toml, line 4: unknown key 'stduy.seeds'", 0),
            0u);
  EXPECT_EQ(why("[[part]]\nname = 'a'\n[part.study]\n\nseed = 1\n")
                .rfind("a.toml, line 5: unknown key 'study.seed'", 0),
            0u);
  EXPECT_NE(why("[[part]]\nname = 'a'\n[[part.part]]\nname = 'b'\n").find("allowed is one study"),
            std::string::npos);
  StudyConfig one;
  EXPECT_THROW(read_toml(fields(one), kTwo), Error);
}

using SuiteFiles = Files;

TEST_F(SuiteFiles, AFolderKnowsItsPartsAndKeepsThem) {
  const SuiteFolder folder{folder_ / "s"};
  EXPECT_EQ(folder.parts(), std::vector<std::string>{""});
  const Suite suite = read_suite({}, kTwo), alone = read_suite({}, {});
  folder.begin(suite, false);
  EXPECT_EQ(folder.parts(), (std::vector<std::string>{"a", "b-2"}));
  EXPECT_EQ(folder.part("a").folder, folder.folder / "a");
  EXPECT_EQ(folder.part("").folder, folder.folder);
  folder.begin(suite, false);
  EXPECT_THROW(folder.begin(alone, false), Error);
  folder.begin(alone, true);
  EXPECT_EQ(folder.parts(), std::vector<std::string>{""});
  write_file(StudyFolder{folder.folder}.config(), "");
  EXPECT_THROW(folder.begin(suite, false), Error);
  folder.begin(suite, true);
  write_file(folder.names(), "[suite]\nparts = [\"../x\"]\n");
  EXPECT_THROW(folder.parts(), Error);
}

}  // namespace
}  // namespace gnomon
