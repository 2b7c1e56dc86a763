#include "gnomon/core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"
#include "gnomon/core/new_file.h"

namespace gnomon {
namespace {

Error failed(std::string_view action, const Path& path) {
  return Error(Fault::resource, text(path.string(), ": cannot ", action, ": ", std::strerror(errno)));
}

// Of flock().
Error not_locked(const Path& path) {
  const bool never = errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP;
  return failed(never ? "lock a file that two processes may use at once (see docs/cluster.md)" : "lock",
                path);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

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

int open_file(const Path& path, int flags) {
  return uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0644); });
}

void write_all(int fd, std::string_view bytes, const Path& path) {
  while (!bytes.empty()) {
    const ssize_t n = uninterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (n < 0) throw failed("write", path);
    bytes.remove_prefix(std::size_t(n));
  }
}

std::string_view kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "something else";
}

void check_is_regular(const Path& path, const struct stat& found) {
  if (!S_ISREG(found.st_mode))
    throw Error(Fault::resource,
                text(path.string(), ": found ", kind(found.st_mode), "; a regular file is needed"));
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

ReadableFile::ReadableFile(const Path& path) : path_(path) {
  Descriptor d(open_file(path, O_RDONLY | O_NONBLOCK));  // a FIFO would wait for its writer
  const int reason = errno;
  struct stat info {};
  if ((d.get() < 0 ? ::stat(path.c_str(), &info) : ::fstat(d.get(), &info)) == 0)
    check_is_regular(path, info);
  errno = reason;
  if (d.get() < 0) throw failed("open", path);
  size_ = std::uint64_t(info.st_size), descriptor_ = d.release();
}

ReadableFile::~ReadableFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
ReadableFile::ReadableFile(ReadableFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
ReadableFile& ReadableFile::operator=(ReadableFile&& other) noexcept {
  std::swap(path_, other.path_), std::swap(descriptor_, other.descriptor_), std::swap(size_, other.size_);
  return *this;
}

void ReadableFile::read(std::uint64_t offset, std::span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n =
        uninterrupted([&] { return ::pread(descriptor_, bytes.data(), bytes.size(), off_t(offset)); });
    if (n < 0) throw failed("read", path_);
    if (n == 0)
      throw Error(Fault::input, text(path_.string(), ": the file ends at byte ", offset, ", ",
                                     counted(bytes.size(), "byte"), " too early (it had ",
                                     counted(std::size_t(size_), "byte"), " when it was opened)"));
    offset += std::uint64_t(n), bytes = bytes.subspan(std::size_t(n));
  }
}

std::string read_file(const Path& path) {
  const ReadableFile file(path);
  const auto fits = [&](std::uint64_t size) {
    check_memory(text(path.string(), ": the file has"), size);
    return std::size_t(size);
  };
  std::string content;
  content.reserve(fits(file.size()) + 1);
  char block[1 << 16];
  for (;;) {
    const ssize_t n = uninterrupted([&] { return ::read(file.descriptor(), block, sizeof block); });
    if (n < 0) throw failed("read", path);
    if (n == 0) return content;
    if (content.size() + std::size_t(n) > content.capacity()) fits(2 * content.size());  // a file may grow
    content.append(block, std::size_t(n));
  }
}

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

void make_folders(const Path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    throw Error(Fault::resource, text(path.string(), ": cannot create the folder: ", error.message()));
}
void make_own_folder(const Path& path) {
  for (const Path& folder : {path.parent_path(), path}) {
    if (std::filesystem::is_symlink(folder))
      throw Error(Fault::input, text(folder.string(), ": found a symbolic link; allowed is a real folder"));
    make_folders(folder);
  }
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
