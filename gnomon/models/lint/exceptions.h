#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/models/lint/lint.h"

namespace gnomon {

// An entry of a file of exceptions. Empty `key` and `state`: of any.
struct LintException {
  std::string rule, path, key, state, reason;
  std::size_t line = 0;
};

// The content of a .gnomon-lint.json: {"exceptions": [{"rule", "path", "reason", "key", "state"} ...]}. A path is seen from the
// folder of the file. In it, * stands for any characters but /, ** for any, ? for one; the name of a folder stands for all in it.
class LintExceptions {
 public:
  LintExceptions() = default;
  explicit LintExceptions(const Path& file);  // without entries
  // Throws Error(resource), and Error(input) that names what is wrong: an unknown key or rule, a missing reason.
  static LintExceptions open(const Path& file);
  // The nearest file of exceptions in this folder or above, up to the one with .git; empty: none.
  static Path nearest(Path folder);

  const Path& file() const { return file_; }
  std::span<const LintException> entries() const { return entries_; }
  // The number of the first entry that excepts the finding. `state`: of state_of().
  std::optional<std::size_t> entry_of(const Path& file, const LintResult& result,
                                      std::string_view state) const;
  // Whether files of a run were all that this entry can be about: files by name, or whole folders.
  bool covered(const LintException& entry, std::span<const Path> files, std::span<const Path> folders) const;
  std::string seen_from_here(const Path& file) const;

 private:
  Path file_, folder_;
  std::vector<LintException> entries_;
};

// A fingerprint of what was found: the rule, the key with its whole value, and what follows from it. Equal on every machine.
std::string state_of(const LintContext& context, const LintResult& result);
// What the finding says, without the folder of the file.
std::string says_anywhere(const LintContext& context, const LintResult& result);

// The JSON of a file of exceptions: the earlier document (empty: none) without the entries that `drop` names by number, and
// with `more`.
std::string exceptions_json(std::string_view earlier, std::span<const std::size_t> drop,
                            std::span<const LintException> more);

// Whether a pattern, as above, stands for the path.
bool path_matches(std::string_view pattern, std::string_view path);

}  // namespace gnomon
