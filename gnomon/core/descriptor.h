#pragma once
#include <cerrno>
#include <string_view>

#include "gnomon/core/error.h"
#include "gnomon/core/file.h"

struct stat;  // of the system

// Files as the system numbers them: what the classes of file.h are made of.
namespace gnomon {

// "PATH: cannot ACTION: " and what errno says.
Error failed(std::string_view action, const Path& path);

// Closes a file descriptor, unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release();

 private:
  int fd_;
};

// What a call of the system returns that was not interrupted by a signal. open() is, on file systems of a network.
template <class Call>
auto uninterrupted(const Call& call) {
  for (;;) {
    const auto returned = call();
    if (returned >= 0 || errno != EINTR) return returned;
  }
}

int open_file(const Path& path, int flags);                         // −1: errno says why not
void check_is_regular(const Path& path, const struct stat& found);  // throws Error(resource)

}  // namespace gnomon
