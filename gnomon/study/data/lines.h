#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/nn/trained.h"

namespace gnomon {

struct Example {
  std::string question, answer;
  // Bytes of both, the tab between them and the line end.
  std::int64_t tokens() const { return std::int64_t(question.size() + answer.size()) + 2; }
};

// A task of the user's own: a text whose lines are a question, a tab and its answer, neither of them empty.
class Lines {
 public:
  enum class Part { training, validation, test };

  // Reads a UTF-8 text whose lines fit into windows of T tokens. A hash of its question puts each line into a part: 90 % of the
  // questions are for training, 5 % for validation, 5 % for the test, so no question is in two of them, and a line stays where
  // it is whatever else the file holds. Throws Error(resource) for a file that cannot be read; Error(input), with the line, what
  // was found and what is allowed, for NUL bytes, a byte order mark, bytes that are not UTF-8, lines that are no question and
  // answer or do not fit, and a file too short for a line in every part. notes() says what read_plain_text() notes.
  Lines(const Path& path, std::int64_t T);

  std::span<const Example> part(Part which) const { return parts_[std::size_t(which)]; }
  const std::string& sha256() const { return sha256_; }  // of the text, with line ends as they were read
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::string sha256_;
  std::vector<std::string> notes_;
  std::array<std::vector<Example>, 3> parts_;
};

// Windows of T tokens, one for each number in `which`, of these examples: the bytes of the question, a tab, the bytes of the
// answer, a line end, and line ends up to T. A decoder (causal) has targets where the next byte is of the answer or its line end,
// so all of them are right exactly if it would write the answer and stop. For an encoder the answer is 0 and the target; its
// length can be seen. Throws Error(usage) for an example that is longer than T, or for a number that is none.
Sample windows_of(std::span<const Example> examples, std::span<const std::int64_t> which, std::int64_t T,
                  bool causal);

}  // namespace gnomon
