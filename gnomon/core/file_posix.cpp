// Files that are mapped, locked or replaced as a whole, which WASI does not have.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "gnomon/core/descriptor.h"
#include "gnomon/core/error.h"
#include "gnomon/core/file.h"
#include "gnomon/core/new_file.h"

namespace gnomon {
namespace {

// Of flock().
Error not_locked(const Path& path) {
  const bool never = errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP;
  return failed(never ? "lock a file that two processes may use at once (see docs/cluster.md)" : "lock",
                path);
}

void write_all(int fd, std::string_view bytes, const Path& path) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (n < 0) throw failed("write", path);
    bytes.remove_prefix(std::size_t(n));
  }
}

// A file that gnomon writes to or locks, made where there is none. Whoever made the folder may have put anything there: a link
// is not followed, and a pipe not waited for.
int open_own(const Path& path, int flags, std::string_view action) {
  Descriptor d(open_file(path, flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK));
  const int reason = errno;
  struct stat found {};
  if ((d.get() < 0 ? ::lstat(path.c_str(), &found) : ::fstat(d.get(), &found)) == 0)
    check_is_regular(path, found);
  errno = reason;
  if (d.get() < 0) throw failed(action, path);
  return d.release();
}

// An empty file for this writer alone; another that writes the same path is waited for. Its name is always the same, so
// that what a killed writer leaves is used, and gone, at the next. A file with a second name is another's as well.
int open_alone(const Path& path) {
  for (;;) {
    Descriptor d(open_own(path, O_WRONLY, "create"));
    if (uninterrupted([&] { return ::flock(d.get(), LOCK_EX); }) != 0) throw not_locked(path);
    struct stat mine {
    }, now{};
    const bool still_there = ::fstat(d.get(), &mine) == 0 && ::lstat(path.c_str(), &now) == 0 &&
                             mine.st_ino == now.st_ino && mine.st_dev == now.st_dev;
    if (!still_there) continue;  // the writer before has given it its final name
    if (mine.st_nlink > 1)
      throw Error(Fault::resource, text(path.string(), ": found a file with ", mine.st_nlink,
                                        " names (hard links); a file with only this name is needed"));
    if (uninterrupted([&] { return ::ftruncate(d.get(), 0); }) != 0) throw failed("empty", path);
    return d.release();
  }
}

void sync(int fd, std::string_view action, const Path& path) {
  if (fd < 0 || uninterrupted([&] { return ::fsync(fd); }) != 0) throw failed(action, path);
}

void sync_folder(const Path& folder) {
  const Descriptor d(open_file(folder, O_RDONLY | O_DIRECTORY));
  sync(d.get(), "sync the folder", folder);
}

}  // namespace

MappedFile::MappedFile(const Path& path) {
  const ReadableFile file(path);
  const auto size = std::size_t(file.size());
  if (size == 0) return;  // nothing can be mapped
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (data == MAP_FAILED) throw failed("map", path);
  bytes_ = {static_cast<const char*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

NewFile::NewFile(const Path& path)
    : path_(path), temporary_(path.string() + ".partial"), descriptor_(open_alone(temporary_)) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  ::close(descriptor_);  // which other writers wait for, until the file has its final name or is gone
}

void NewFile::write(std::string_view bytes) { write_all(descriptor_, bytes, path_); }

void NewFile::keep() {
  sync(descriptor_, "sync", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw failed("replace", path_);
  temporary_.clear();
  sync_folder(path_.has_parent_path() ? path_.parent_path() : Path("."));
}

void write_file(const Path& path, std::span<const std::string_view> pieces) {
  NewFile file(path);
  for (const auto piece : pieces) file.write(piece);
  file.keep();
}

void write_file(const Path& path, std::string_view content) {
  write_file(path, std::span<const std::string_view>(&content, 1));
}

FileLock::FileLock(const Path& path, std::string_view purpose, int patience_ms)
    : descriptor_(open_own(path, O_RDWR, "create the lock")) {
  const auto locked = [&] { return ::flock(descriptor_, LOCK_EX | LOCK_NB); };
  for (int waited_ms = 0; uninterrupted(locked) != 0; waited_ms += 20) {
    const int reason = errno;
    if (reason != EWOULDBLOCK || waited_ms >= patience_ms) {
      ::close(descriptor_);
      errno = reason;
      if (reason != EWOULDBLOCK) throw not_locked(path);
      throw Error(Fault::busy, text(path.string(), ": ", purpose, " is in use by another process"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace gnomon
