#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "gnomon/core/file.h"

namespace gnomon {

// Parts of a large file that lies elsewhere, such as the header of a file of weights, in a file of gnomon's own form: no program can
// take it for the whole. The form: 16 bytes that name it, the size of the whole and the number of parts (8 bytes each, little-endian),
// the begin and the length of each part, then the bytes of the parts.
struct FilePart {
  std::uint64_t begin;
  std::string bytes;
};

// Writes parts in the order of `begin`; they do not overlap and end within `size`. Throws Error(resource) as write_file() does.
void write_parts(const Path& path, std::uint64_t size, std::span<const FilePart> parts);

// The bytes of a file of weights, read on demand: of a whole file here, of one of which only parts are here, or of one elsewhere.
class WeightFile {
 public:
  using Reader = std::function<void(std::uint64_t offset, std::span<char> bytes)>;
  // A file; one of parts stands for the whole of which it has parts. Throws as ReadableFile() does, and Error(input) for malformed
  // parts.
  explicit WeightFile(const Path& path);
  // Whatever `read` reads, which fills all the bytes from an offset on. `path` is for messages.
  WeightFile(Path path, std::uint64_t size, Reader read);

  const Path& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // bytes of the whole, when it was opened
  // Throws as ReadableFile::read() does, and Error(resource) for bytes that are in no part.
  void read(std::uint64_t offset, std::span<char> bytes) const { read_(offset, bytes); }

 private:
  Path path_;
  std::uint64_t size_ = 0;
  Reader read_;
};

}  // namespace gnomon
