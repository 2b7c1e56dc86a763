#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/core/text.h"

namespace gnomon {

// The kinds of errors that a caller may handle differently. The numbers are the exit codes of the command line.
enum class Fault {
  usage = 2,     // An impossible spec, option or configuration.
  input = 3,     // A file with malformed or unsupported content.
  resource = 4,  // The file system, memory or a device refused.
  busy = 5,      // Another process is writing the study.
  bug = 70,      // An error in gnomon itself.
  lost = 75,     // A rank of a distributed training is gone; you can resume it (EX_TEMPFAIL of sysexits.h).
};

// The message as one line that is safe to print. It escapes control characters, characters that change the direction of writing,
// and bytes that are not UTF-8: \n, \x1b, \u202e. The rest stays as it is.
std::string printable(std::string_view message);

// The parts of a message, for programs; empty if the message has no such part.
struct ErrorDetails {
  std::string place = {};                     // where: a column of a spec, an option, a key in a file.
  std::string found = {};                     // the value found there.
  std::string allowed = {};                   // the allowed values, in words.
  std::vector<std::string> suggestions = {};  // likely intended values, the nearest first.
};

// Every error of the library. The message names the place, what was found and what is allowed. It may quote a user's text, so
// the constructor makes it printable.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, std::string_view message, ErrorDetails details = {})
      : std::runtime_error(printable(message)), fault_(fault), details_(std::move(details)) {}
  Fault fault() const { return fault_; }
  const ErrorDetails& details() const { return details_; }
  // The same error with a place before its message: "PLACE: ...".
  Error at(std::string_view place) const;

 private:
  Fault fault_;
  ErrorDetails details_;
};

}  // namespace gnomon
