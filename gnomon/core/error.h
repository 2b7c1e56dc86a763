#pragma once
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace gnomon {

// What went wrong, in the classes that a caller treats differently. The numbers are the exit codes of the
// command line (DESIGN.md, section 6).
enum class Fault {
  usage = 2,     // a spec, an option or a configuration that cannot be
  input = 3,     // a file whose content is malformed or unsupported
  resource = 4,  // a file system, memory or device that said no
  busy = 5,      // a study that another process is writing
  bug = 70,      // ours
};

// Every error of the library. The message names the place, what was found and what is allowed.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& message) : std::runtime_error(message), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

// The arguments, written one after the other.
template <class... Parts>
std::string text(Parts&&... parts) {
  std::ostringstream out;
  (out << ... << std::forward<Parts>(parts));
  return out.str();
}

}  // namespace gnomon
