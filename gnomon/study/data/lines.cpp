#include "gnomon/study/data/lines.h"

#include "gnomon/core/check.h"
#include "gnomon/core/error.h"
#include "gnomon/core/random.h"
#include "gnomon/core/text.h"
#include "gnomon/files/sha256.h"
#include "gnomon/kernels/loss.h"
#include "gnomon/study/data/plain_text.h"

namespace gnomon {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::int32_t symbol(char c) { return std::int32_t((unsigned char)c); }

Lines::Part part_of(std::string_view question) {
  const auto twentieth = Random(0, question).below(0, 20);
  if (twentieth < 18) return Lines::Part::training;
  return twentieth == 18 ? Lines::Part::validation : Lines::Part::test;
}

// Throws what is wrong with a line, for a message that has said which it is.
Example example_of(std::string_view line, std::int64_t T) {
  const auto bad = [&](const auto&... found) { return Error(Fault::input, text("found ", found...)); };
  constexpr std::string_view allowed = "; allowed is a question, one tab and an answer";
  if (line.empty()) throw bad("nothing", allowed);
  const std::vector<std::string_view> parts = split(line, '\t');
  if (parts.size() != 2) throw bad(counted(parts.size() - 1, "tab"), " in ", excerpt(line), allowed);
  if (parts[0].empty()) throw bad("no question in ", excerpt(line), allowed);
  if (parts[1].empty()) throw bad("no answer in ", excerpt(line), allowed);
  Example e{std::string(parts[0]), std::string(parts[1])};
  if (e.tokens() > T)
    throw bad("a question of ", counted(e.question.size(), "byte"), " and an answer of ", e.answer.size(),
              ", ", e.tokens(), " tokens with tab and line end; a window holds ", T);
  return e;
}

}  // namespace

Lines::Lines(const Path& path, std::int64_t T) {
  const auto bad = [&](const auto&... why) { return Error(Fault::input, text(path.string(), ": ", why...)); };
  PlainText read = read_plain_text(path);
  notes_ = std::move(read.notes), sha256_ = gnomon::sha256(read.bytes);
  std::string_view rest = read.bytes;
  if (rest.starts_with(kByteOrderMark))
    throw bad("line 1: found a byte order mark; save the text without one");
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  std::int64_t number = 0;
  for (const std::string_view line : split(rest, '\n')) {
    ++number;
    try {
      Example e = example_of(line, T);
      parts_[std::size_t(part_of(e.question))].push_back(std::move(e));
    } catch (const Error& e) {
      throw bad("line ", number, ": ", e.what());
    }
  }
  for (const auto& part : parts_) {
    if (part.empty())
      throw bad("found ", counted(std::size_t(number), "line"), ": ", parts_[0].size(), " for training, ",
                parts_[1].size(), " for validation and ", parts_[2].size(),
                " for the test; every part needs one, so give more questions");
  }
}

Sample windows_of(std::span<const Example> examples, std::span<const std::int64_t> which, std::int64_t T,
                  bool causal) {
  Sample s{T, {}, {}};
  for (const std::int64_t n : which) {
    check_extents("windows of examples", {{"example", n, 0, std::int64_t(examples.size()) - 1}});
    const auto& [question, answer] = examples[std::size_t(n)];
    check_extents("windows of examples", {{"tokens of an example", examples[std::size_t(n)].tokens(), 0, T}});
    std::string bytes = question + '\t' + answer;
    bytes.resize(std::size_t(T) + 1, '\n');  // the last is the target of a decoder's last token
    const std::size_t begin = question.size() + 1, end = begin + answer.size();
    for (std::size_t t = 0; t < std::size_t(T); ++t) {
      const bool hidden = !causal && t >= begin && t < end;
      const bool asked = causal ? t + 1 >= begin && t < end : hidden;
      s.inputs.push_back(hidden ? 0 : symbol(bytes[t]));
      s.targets.push_back(asked ? symbol(bytes[causal ? t + 1 : t]) : kUnscored);
    }
  }
  return s;
}

}  // namespace gnomon
