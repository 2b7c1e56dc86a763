#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/core/file.h"

namespace gnomon {

// Which of the bytes that training never sees: those that rates are chosen by, those that results are told of, or both.
enum class Held { all, validation, test };

// A text for a study: its bytes, cut into contiguous parts for training and parts that are held out.
class Corpus {
 public:
  // Reads a UTF-8 text. Windows line ends (CRLF) become LF, and notes() says how many, and says so of a text
  // without entropy. Held out are 10 % of
  // the bytes in up to 16 evenly spaced parts: the first third of each for validation, the rest for the test, each longer than
  // `longest` tokens. Throws Error(resource) for
  // a file that cannot be read; Error(input), with the place and what is allowed, for NUL bytes, bytes that
  // are not UTF-8, and a text too short for windows of `longest` tokens.
  Corpus(const Path& path, std::int64_t longest);

  std::string_view bytes() const { return bytes_; }
  const std::string& sha256() const { return sha256_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::int64_t training_bytes() const { return training_bytes_; }
  std::int64_t held_out_bytes() const;

  using Part = std::pair<std::int64_t, std::int64_t>;  // [begin, end)
  const std::vector<Part>& training() const { return training_; }
  std::vector<Part> held_out(Held which) const;

  // The n-th of the windows of T+1 bytes that lie in one training part; n below training_windows(T).
  std::int64_t training_windows(std::int64_t T) const;
  std::int64_t training_start(std::int64_t T, std::int64_t n) const;
  // `count` ends of held-out windows, evenly spread: byte end−longest−1 .. end−1 lie in one held-out part.
  std::vector<std::int64_t> held_out_ends(std::int64_t longest, std::int64_t count, Held which) const;

  // The bytes a text needs for windows of `longest` tokens.
  static std::int64_t least_bytes(std::int64_t longest) { return 30 * (longest + 2); }

 private:
  std::string bytes_, sha256_;
  std::vector<std::string> notes_;
  std::vector<Part> training_, held_out_;
  std::int64_t training_bytes_ = 0;
};

}  // namespace gnomon
