#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "gnomon/core/standard.h"

namespace gnomon {

using Path = std::filesystem::path;

// Reads the whole file. Throws Error(resource) that names the file and the system's reason.
std::string read_file(const Path& path);

// A regular file that is read on demand. If another process shortens it meanwhile, read() throws an error; this process does not
// end.
class ReadableFile {
 public:
  explicit ReadableFile(const Path& path);  // throws Error(resource) as read_file() does
  ~ReadableFile();
  ReadableFile(ReadableFile&& other) noexcept;
  ReadableFile& operator=(ReadableFile&& other) noexcept;

  const Path& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // bytes, when it was opened
  // Fills `bytes` from `offset` on. Throws Error(input) if the file ends too early, Error(resource) if the system refuses.
  void read(std::uint64_t offset, std::span<char> bytes) const;
  int descriptor() const { return descriptor_; }  // the system's file descriptor

 private:
  Path path_;
  int descriptor_;
  std::uint64_t size_;
};

// A memory-mapped file, shared with all processes that have it open: for files larger than memory. If the file is shortened
// meanwhile or the disk fails, this process ends (SIGBUS).
class MappedFile {
 public:
  explicit MappedFile(const Path& path);  // throws Error(resource) as read_file() does
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return bytes_; }  // starts at a page boundary

 private:
  std::string_view bytes_;
};

// Replaces `path` by the pieces, one after the other. At every moment, even after a power cut, the file holds either all of the
// old content or all of the new: temporary file, fsync, rename, fsync of the folder. The temporary file is PATH.partial; a link
// of that name is not followed. Throws Error(resource), also if PATH.partial is a link, a pipe or a file with a second name. The
// old content then stays, and no temporary file remains.
void write_file(const Path& path, std::span<const std::string_view> pieces);
void write_file(const Path& path, std::string_view content);

void make_folders(const Path& path);  // with its parents; throws Error(resource)
// The same for a folder inside one of gnomon's own. Neither it nor its parent may be a symbolic link, which would let gnomon
// overwrite the files of others. Throws Error(input) for a link.
void make_own_folder(const Path& path);

// An advisory lock on a file, held while the object lives. The system releases it however the process ends.
class FileLock {
 public:
  // Throws Error(busy) if another process still holds it after `patience_ms`, Error(resource) if the file cannot be created or
  // is not a regular file.
  FileLock(const Path& path, std::string_view purpose, int patience_ms = 0);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace gnomon
