#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/core/text.h"

namespace gnomon {

// What went wrong, in the classes that a caller treats differently. The numbers are the exit codes of the
// command line.
enum class Fault {
  usage = 2,     // a spec, an option or a configuration that cannot be
  input = 3,     // a file whose content is malformed or unsupported
  resource = 4,  // a file system, memory or device that said no
  busy = 5,      // a study that another process is writing
  bug = 70,      // ours
  lost = 75,     // a rank of a training on several: it can be resumed (EX_TEMPFAIL of sysexits.h)
};

// One line, whatever a stranger wrote: control characters (a terminal obeys them), those that turn the direction of writing
// (what they stand before reads as something else) and bytes that are not UTF-8, as \n, \x1b, \u202e; the rest as it is.
std::string printable(std::string_view message);

// The parts of a message that a program may want apart, as far as there are any.
struct ErrorDetails {
  std::string place = {};                     // where: a column of a spec, an option, a key of a file
  std::string found = {};                     // what stands there
  std::string allowed = {};                   // what may stand there, in words
  std::vector<std::string> suggestions = {};  // what was probably meant, the nearest first
};

// Every error of the library. The message names the place, what was found and what is allowed; it may quote
// what a user wrote, so it is made printable here.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, std::string_view message, ErrorDetails details = {})
      : std::runtime_error(printable(message)), fault_(fault), details_(std::move(details)) {}
  Fault fault() const { return fault_; }
  const ErrorDetails& details() const { return details_; }
  // The same, with its place before it: "PLACE: ...".
  Error at(std::string_view place) const;

 private:
  Fault fault_;
  ErrorDetails details_;
};

}  // namespace gnomon
