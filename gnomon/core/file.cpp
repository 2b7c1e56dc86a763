#include "gnomon/core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "gnomon/core/descriptor.h"
#include "gnomon/core/error.h"
#include "gnomon/core/memory.h"

namespace gnomon {

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

}  // namespace gnomon
