// Many files at once: which files paths mean, what keeps rules from a file, and what exceptions except.
#include "gnomon/models/lint/context.h"
#include "gnomon/models/lint/exceptions.h"
#include "gnomon/models/lint/targets.h"
#include "tests/support/files.h"

namespace gnomon {
namespace {

constexpr std::string_view kGood =
    R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2,
 "max_position_embeddings": 4096, "rope_theta": 10000})";
// One error: scaling-type-unknown.
constexpr std::string_view kWrong =
    R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2,
 "max_position_embeddings": 4096, "rope_theta": 10000,
 "rope_scaling": {"rope_type": "no-such", "factor": 2.0}})";

class GateTest : public Files {
 protected:
  Path write(const std::string& name, std::string_view content) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, content);
    return folder_ / name;
  }
  // Paths of files seen from the test's folder.
  std::vector<std::string> names(const std::vector<LintTarget>& targets) const {
    std::vector<std::string> all;
    for (const LintTarget& t : targets) all.push_back(t.file.lexically_relative(folder_).string());
    return all;
  }
  std::vector<LintTarget> targets(const std::vector<Path>& paths) const { return lint_targets(paths).files; }
};
using Names = std::vector<std::string>;

std::vector<std::string> ids(const LintedFile& file) {
  std::vector<std::string> all;
  for (const LintResult& result : file.results) all.emplace_back(result.rule->id);
  return all;
}

TEST(PathMatches, StarsStayInAFolderAndTwoDoNot) {
  for (const auto& [pattern, path] :
       std::vector<std::pair<std::string, std::string>>{{"a/config.json", "a/config.json"},
                                                        {"*/config.json", "a/config.json"},
                                                        {"**/config.json", "a/b/config.json"},
                                                        {"**/config.json", "config.json"},
                                                        {"**", "a/b/c"},
                                                        {"a", "a/b/config.json"},
                                                        {"a/", "a/b/config.json"},
                                                        {"a/**", "a/b/config.json"},
                                                        {"a/**/config.json", "a/config.json"},
                                                        {"a/**/c", "a/x/y/c"},
                                                        {"a?c", "abc"},
                                                        {"*", "a/b"},
                                                        {"mod*.json", "model.json"},
                                                        {"a*", "a*"},
                                                        {"../x/*.gguf", "../x/m.gguf"},
                                                        {"**/a*c", "b/abc"}})
    EXPECT_TRUE(path_matches(pattern, path)) << pattern << " " << path;
  for (const auto& [pattern, path] :
       std::vector<std::pair<std::string, std::string>>{{"*.json", "a/config.json"},
                                                        {"a/config.json", "a/config.jso"},
                                                        {"a/config", "a/config.json"},
                                                        {"a", "ab/config.json"},
                                                        {"a?c", "a/c"},
                                                        {"**/config.json", "a/xconfig.json"},
                                                        {"", "a"},
                                                        {"a/**/c", "a/xc"},
                                                        {"a/*/c", "a/b/b/c"},
                                                        {"config.json", "a/config.json"}})
    EXPECT_FALSE(path_matches(pattern, path)) << pattern << " " << path;
  EXPECT_FALSE(path_matches(std::string(2000, '*') + "x", std::string(2000, 'a')));
}

TEST(Place, LinesAndColumnsAreCountedAsEditorsDo) {
  const auto at = [](std::string_view text, std::size_t byte) {
    const TextPlace place = place_of_byte(text, byte);
    return std::pair(place.line, place.column);
  };
  EXPECT_EQ(at("abc", 0), std::pair(std::size_t(1), std::size_t(1)));
  EXPECT_EQ(at("a\nbcd", 4), std::pair(std::size_t(2), std::size_t(3)));
  EXPECT_EQ(at("\u00e9\u00e9x", 4), std::pair(std::size_t(1), std::size_t(3)));
  EXPECT_EQ(at("a\n", 2), std::pair(std::size_t(2), std::size_t(1)));
  const std::string_view list = "{\"a\": [1,\n [2, {\"b\":\n 3}],\n {\"b\": 4}], \"c\": 5}";
  EXPECT_EQ(line_of(list, "a.0"), 1U);
  EXPECT_EQ(line_of(list, "a.1"), 2U);
  EXPECT_EQ(line_of(list, "a.2"), 4U);
  EXPECT_EQ(line_of(list, "a.1.1.b"), 2U);
  EXPECT_EQ(line_of(list, "a.3"), 1U);  // there is none: the list
  EXPECT_EQ(line_of(list, "c"), 4U);
}

TEST(Unreadable, TheLineAndTheColumnAreTold) {
  const auto found = [](std::string json) { return lint(text_for_lint(std::move(json), "config.json")); };
  const auto results = found("{\"model_type\": \"llama\",\n \"hidden_size\": 64,}");
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].rule->id, "file-unreadable");
  EXPECT_EQ(results[0].finding.line, 2U);
  EXPECT_EQ(results[0].finding.column, 20U);  // the brace after the comma
  EXPECT_EQ(results[0].finding.says.find("byte"), std::string::npos);
  for (const char* text : {"", "[]", "null", "{\"a\": 1, \"a\": 2}", "\xEF\xBB\xBF{}", "<<<<<<< HEAD\n{}"})
    EXPECT_EQ(found(text).at(0).rule->id, "file-unreadable") << text;
  for (const LintResult& result : found("{}")) EXPECT_NE(result.rule->id, "file-unreadable");
}

TEST_F(GateTest, PathsOfOneModelAreOneFile) {
  write("m/config.json", kGood), write("m/generation_config.json", "{}"), write("m/tokenizer.json", "{}");
  write("m/model-q4.gguf", "GGUF");
  const Path m = folder_ / "m";
  EXPECT_EQ(names(targets({m / "generation_config.json", m / "config.json", m / "tokenizer.json"})),
            Names{"m/config.json"});
  EXPECT_EQ(names(targets({m})), (Names{"m/config.json", "m/model-q4.gguf"}));
  EXPECT_EQ(names(targets({m / "config.json", m})), (Names{"m/config.json", "m/model-q4.gguf"}));
  // Named, a config.json is looked at alone; in a folder it is compared with the weights.
  EXPECT_EQ(targets({m / "config.json"})[0].weights, "");
  EXPECT_EQ(targets({m / "config.json", m})[0].weights, m);
  const std::vector<LintTarget> indexed = targets({write("m/model.safetensors.index.json", "{}")});
  EXPECT_EQ(names(indexed), Names{"m/config.json"});
  EXPECT_EQ(indexed[0].weights, m);
}

TEST_F(GateTest, FoldersAreWalkedInOrderWithoutHiddenOnes) {
  write("b/config.json", kGood), write("a/deep/er/config.json", kGood), write(".git/config.json", kGood);
  write("a/other.json", kGood), write("a/x.gguf", "GGUF");
  std::filesystem::create_directory_symlink(folder_, folder_ / "b/round");
  EXPECT_EQ(names(targets({folder_})), (Names{"a/deep/er/config.json", "a/x.gguf", "b/config.json"}));
  std::filesystem::create_directories(folder_ / "none");
  EXPECT_THROW(targets({folder_ / "none"}), Error);
  EXPECT_THROW(targets({folder_ / "no-such"}), Error);
  write("c/tokenizer.json", "{}");
  const std::vector<Path> alone{folder_ / "c/tokenizer.json"};
  EXPECT_TRUE(lint_targets(alone).files.empty());
  EXPECT_EQ(lint_targets(alone).passed_over.size(), 1U);
}

TEST_F(GateTest, OneBrokenFileIsAFindingAmongOthers) {
  write("a/config.json", "{"), write("b/config.json", kWrong), write("c/config.json", kGood);
  write("d/m.gguf", "no GGUF at all");
  const LintRun run = lint_paths({{folder_}});
  ASSERT_EQ(run.files.size(), 4U);
  EXPECT_EQ(ids(run.files[0]), Names{"file-unreadable"});
  EXPECT_EQ(ids(run.files[1]).front(), "scaling-type-unknown");
  EXPECT_TRUE(run.files[2].results.empty());
  EXPECT_EQ(ids(run.files[3]), Names{"file-unreadable"});
  EXPECT_TRUE(run.fails(Severity::error));
}

TEST_F(GateTest, WhatWasNotDownloadedIsANote) {
  constexpr std::string_view pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
  write("a/config.json", kGood), write("a/model.safetensors", pointer), write("b/m.gguf", pointer);
  write("c/config.json", kGood);
  write("c/model.safetensors.index.json",
        R"({"weight_map": {"model.norm.weight": "model-00001-of-00002.safetensors"}})");
  LintRun run = lint_paths({{folder_}});
  ASSERT_EQ(run.files.size(), 3U);
  for (const LintedFile& file : run.files) EXPECT_EQ(ids(file), Names{"file-incomplete"}) << file.file;
  EXPECT_FALSE(run.fails(Severity::warning));
  EXPECT_TRUE(run.fails(Severity::note));
  write("a/model.safetensors", "\x40\x01\x01\x01\x01\x01\x01\x01{");  // the control: damaged weights
  run = lint_paths({{folder_ / "a"}});
  EXPECT_EQ(ids(run.files[0]), Names{"file-unreadable"});
}

std::string entry(std::string_view path, std::string_view more = "") {
  return text(R"({"exceptions": [{"rule": "scaling-type-unknown", "path": ")", path, R"(", "reason": "ours")",
              more, "}]}");
}

TEST_F(GateTest, AnEntryExceptsByPathAndKey) {
  write("m/config.json", kWrong);
  const auto errors = [&](std::string_view exceptions) {
    write(".gnomon-lint.json", exceptions);
    const LintRun run = lint_paths({{folder_ / "m/config.json"}});
    return std::pair(run.count(Severity::error), run.stale.size());
  };
  const std::pair<std::size_t, std::size_t> excepted{0, 0}, reported{1, 0}, stale{1, 1};
  for (const char* path : {"m/config.json", "m", "**", "*/config.json"})
    EXPECT_EQ(errors(entry(path)), excepted);
  EXPECT_EQ(errors(entry("m/config.json", R"(, "key": "rope_scaling.rope_type")")), excepted);
  EXPECT_EQ(errors(entry("m/config.json", R"(, "key": "rope_scaling.factor")")), stale);
  EXPECT_EQ(errors(entry("n/config.json")), reported);  // nobody looked at that file
  EXPECT_EQ(errors(entry("*/other.json")), reported);
  EXPECT_EQ(errors(R"({"exceptions": []})"), reported);
  // A whole folder was looked at.
  write(".gnomon-lint.json", entry("n/config.json"));
  const LintRun run = lint_paths({{folder_}});
  ASSERT_EQ(run.stale.size(), 1U);
  EXPECT_EQ(run.stale[0].line, 1U);
  EXPECT_EQ(lint_paths({{folder_}, "", {{"theta-twice"}, {}}}).stale.size(), 0U);  // that rule did not run
}

TEST_F(GateTest, ExceptionsAreTheNearest) {
  write("m/deep/config.json", kWrong), write(".gnomon-lint.json", entry("**"));
  const Path file = folder_ / "m/deep/config.json";
  EXPECT_FALSE(lint_paths({{file}}).fails(Severity::error));
  write("m/.gnomon-lint.json", R"({"exceptions": []})");
  EXPECT_TRUE(lint_paths({{file}}).fails(Severity::error));
  EXPECT_FALSE(lint_paths({{file}, "", {}, folder_ / ".gnomon-lint.json"}).fails(Severity::error));
  std::filesystem::remove(folder_ / "m/.gnomon-lint.json");
  std::filesystem::create_directories(folder_ / "m/.git");  // what is above belongs to another repository
  EXPECT_TRUE(lint_paths({{file}}).fails(Severity::error));
}

TEST_F(GateTest, AMalformedFileOfExceptionsIsRefusedInWords) {
  write("m/config.json", kWrong);
  const auto refusal = [&](std::string_view exceptions) -> std::string {
    write(".gnomon-lint.json", exceptions);
    try {
      lint_paths({{folder_ / "m/config.json"}});
    } catch (const Error& error) {
      return error.fault() == Fault::input ? error.what() : "another fault";
    }
    return "none";
  };
  EXPECT_NE(refusal(R"({"exceptions": [{"rule": "theta-twice", "path": "m"}]})").find("reason is missing"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"exceptions": [{"rule": "theta-twice", "path": "m", "reason": " "}]})").find("reason"),
      std::string::npos);
  EXPECT_NE(refusal("{\"exceptions\": [\n{\"rule\": \"theta-twise\", \"path\": \"m\", \"reason\": \"x\"}]}")
                .find("line 2: unknown rule 'theta-twise': did you mean 'theta-twice'"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"exceptions": [{"rules": "theta-twice", "path": "m", "reason": "x"}]})").find("'rule'"),
      std::string::npos);
  EXPECT_NE(refusal(R"({"exception": []})").find("exception"), std::string::npos);
  EXPECT_NE(refusal(R"({"exceptions": {}})").find("a list"), std::string::npos);
  EXPECT_NE(refusal("{").find("not JSON"), std::string::npos);
}

TEST_F(GateTest, ABaselineExceptsUntilTheFindingChanges) {
  write("m/config.json", kWrong), write("n/config.json", "{"), write("o/config.json", kGood);
  write(".gnomon-lint.json", entry("elsewhere/config.json", R"(, "key": "by hand")"));
  const LintBaseline written = write_lint_baseline({{folder_}});
  EXPECT_EQ(written.file, folder_ / ".gnomon-lint.json");
  EXPECT_EQ(written.removed, 0U);
  LintRun run = lint_paths({{folder_}});
  EXPECT_EQ(run.count(Severity::error) + run.count(Severity::warning) + run.count(Severity::note), 0U);
  EXPECT_EQ(run.stale.size(), 1U);  // the entry written by hand, which stays
  const std::size_t excepted = run.files[0].excepted.size() + run.files[1].excepted.size();
  EXPECT_EQ(excepted, written.added);
  EXPECT_GE(excepted, 2U);
  EXPECT_EQ(write_lint_baseline({{folder_}}).added, 0U);
  // Another value of the same key is another finding, and the old entry excepts nothing.
  std::string changed(kWrong);
  changed.replace(changed.find("no-such"), 7, "another");
  write("m/config.json", changed);
  run = lint_paths({{folder_ / "m/config.json"}});
  EXPECT_EQ(run.count(Severity::error), 1U);
  EXPECT_GE(run.stale.size(), 1U);
  const LintBaseline again = write_lint_baseline({{folder_ / "m/config.json"}});
  EXPECT_EQ(again.removed, again.added);
  EXPECT_FALSE(lint_paths({{folder_}}).fails(Severity::warning));
  // A new file is not in it.
  write("p/config.json", kWrong);
  EXPECT_EQ(lint_paths({{folder_}}).count(Severity::error), 1U);
}

TEST_F(GateTest, ABaselineIsTheSameFromEveryFolder) {
  write("m/config.json", R"({"model_type": "llama", "hidden_size": -512, "num_attention_heads": 8,
      "num_hidden_layers": 2, "max_position_embeddings": 8192})");
  const Path exceptions = write(".gnomon-lint.json", R"({"exceptions": []})");
  write_lint_baseline({{folder_ / "m"}});
  const std::string first = read_file(exceptions);
  EXPECT_EQ(first.find(folder_.string()), std::string::npos) << first;
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_ / "m");
  const LintRun run = lint_paths({{"config.json"}});
  std::filesystem::current_path(before);
  EXPECT_FALSE(run.fails(Severity::note));
  EXPECT_FALSE(run.files[0].excepted.empty());
}

TEST_F(GateTest, ALongListThatChangesIsANewFinding) {
  const auto file = [](std::string_view last) {
    std::string list = "[";
    for (int n = 0; n < 40; ++n) list += "1.0, ";
    return text(
        R"({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2,
      "max_position_embeddings": 8192, "rope_theta": 10000, "rope_scaling": {"rope_type": "longrope", "factor": 2,
      "original_max_position_embeddings": 4096, "short_factor": )",
        list, last, R"(], "long_factor": )", list, "1]}}");
  };
  write("config.json", file("1")), write(".gnomon-lint.json", R"({"exceptions": []})");
  write_lint_baseline({{folder_}});
  EXPECT_FALSE(lint_paths({{folder_}}).fails(Severity::note));
  write("config.json", file("2"));
  EXPECT_TRUE(lint_paths({{folder_}}).fails(Severity::error));
}

}  // namespace
}  // namespace gnomon
