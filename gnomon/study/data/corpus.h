#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/file.h"
#include "gnomon/study/data/parts.h"

namespace gnomon {

// What the held-out parts are used for: a whole each, or validation and test, each of which needs room for windows.
enum class Cut { whole, in_two };

// A text as data: its bytes.
class Corpus : public Data {
 public:
  // Reads a UTF-8 text. Windows line ends (CRLF) become LF, and notes() says how many, and says so of a text
  // without entropy. Held out are 10 % of the bytes in up to 16 evenly spaced parts: the first third of each for validation, the
  // rest for the test, each longer than `longest` tokens. Throws Error(resource) for
  // a file that cannot be read; Error(input), with the place and what is allowed, for NUL bytes, bytes that
  // are not UTF-8, and a text too short for windows of `longest` tokens.
  Corpus(const Path& path, std::int64_t longest, Cut held_out = Cut::in_two);

  std::string_view content() const { return bytes_; }
  const std::string& sha256() const { return sha256_; }
  const Parts& parts() const { return parts_; }

  std::string print() const override;
  Sample training(const StepBatch& batch) const override;
  Sample held_out(const Windows& windows) const override;
  std::vector<std::string> describe() const override;
  std::vector<std::string> notes() const override { return notes_; }
  std::int64_t memory_bytes() const override { return std::int64_t(bytes_.size()); }
  double training_tokens() const override { return double(parts_.training_tokens()); }
  std::optional<ReferenceLosses> reference() const override;

  // The bytes a text needs for windows of `longest` tokens.
  static std::int64_t least_bytes(std::int64_t longest, Cut held_out = Cut::in_two) {
    return (held_out == Cut::whole ? 10 : 30) * (longest + 2);
  }

 private:
  std::string bytes_, sha256_;
  std::vector<std::string> notes_;
  Parts parts_;
};

}  // namespace gnomon
