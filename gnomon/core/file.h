#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "gnomon/core/standard.h"

namespace gnomon {

using Path = std::filesystem::path;

// The whole file. Throws Error(resource) that names the file and the system's reason.
std::string read_file(const Path& path);

// A regular file whose bytes are read where they are asked for: whoever shortens it meanwhile gets an error, not the end
// of this process.
class ReadableFile {
 public:
  explicit ReadableFile(const Path& path);  // throws Error(resource) as read_file() does
  ~ReadableFile();
  ReadableFile(ReadableFile&& other) noexcept;
  ReadableFile& operator=(ReadableFile&& other) noexcept;

  const Path& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // bytes, when it was opened
  // Fills `bytes` with those from `offset` on. Throws Error(input) where the file ends before, Error(resource).
  void read(std::uint64_t offset, std::span<char> bytes) const;
  int descriptor() const { return descriptor_; }  // of the system

 private:
  Path path_;
  int descriptor_;
  std::uint64_t size_;
};

// A file in memory as the system pages it in, shared with all processes that have it open: for files larger than memory.
// Whoever shortens the file meanwhile, or a disk that fails, ends this process (SIGBUS).
class MappedFile {
 public:
  explicit MappedFile(const Path& path);  // throws Error(resource) as read_file() does
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return bytes_; }  // begins at a page

 private:
  std::string_view bytes_;
};

// Replaces `path` by the pieces, one after the other, so that at every moment, also after a power cut, the
// file holds either all of the old content or all of the new: temporary file, fsync, rename, fsync of the
// folder. The temporary file is PATH.partial; a link of that name is not followed. Throws Error(resource), also where
// something else stands there (a link, a pipe, a file with a second name); the old content then stands and no temporary file
// is left.
void write_file(const Path& path, std::span<const std::string_view> pieces);
void write_file(const Path& path, std::string_view content);

void make_folders(const Path& path);  // throws Error(resource)
// The same for a folder inside one of ours: neither it nor the one that it lies in may be a link, through which others' files
// would be written over. Throws Error(input) for one that is.
void make_own_folder(const Path& path);

// An advisory lock on a file, held for the life of the object and released by the system however the process
// ends.
class FileLock {
 public:
  // Throws Error(busy) when another process holds it after `patience_ms`, Error(resource) when it cannot be
  // made, or is no regular file.
  FileLock(const Path& path, std::string_view purpose, int patience_ms = 0);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace gnomon
