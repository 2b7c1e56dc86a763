#include "gnomon/core/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace gnomon {
namespace {

std::string_view kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "something else";
}

}  // namespace

Error failed(std::string_view action, const Path& path) {
  return Error(Fault::resource, text(path.string(), ": cannot ", action, ": ", std::strerror(errno)));
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}
int Descriptor::release() { return std::exchange(fd_, -1); }

int open_file(const Path& path, int flags) {
  return uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0644); });
}

void check_is_regular(const Path& path, const struct stat& found) {
  if (!S_ISREG(found.st_mode))
    throw Error(Fault::resource,
                text(path.string(), ": found ", kind(found.st_mode), "; a regular file is needed"));
}

}  // namespace gnomon
