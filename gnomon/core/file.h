#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace gnomon {

using Path = std::filesystem::path;

// The whole file. Throws Error(resource) that names the file and the system's reason.
std::string read_file(const Path& path);

// Replaces `path` by the pieces, one after the other, so that at every moment, also after a power cut, the
// file holds either all of the old content or all of the new: temporary file, fsync, rename, fsync of the
// folder. Throws Error(resource); the old content then stands and no temporary file is left.
void write_file(const Path& path, std::span<const std::string_view> pieces);
void write_file(const Path& path, std::string_view content);

void make_folders(const Path& path);  // throws Error(resource)

// An advisory lock on a file, held for the life of the object and released by the system however the process
// ends.
class FileLock {
 public:
  // Throws Error(busy) when another process holds it after `patience_ms`, Error(resource) when it cannot be
  // made.
  FileLock(const Path& path, std::string_view purpose, int patience_ms = 0);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace gnomon
