#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gnomon/core/file.h"

namespace gnomon {

// A file of token ids that another program wrote: ids of 2 or 4 bytes, little-endian, one after the other (uint16: nanoGPT,
// data/openwebtext/prepare.py), or after a header of 256 int32 with a magic number, a version and how many ids follow (llm.c,
// dev/data/data_common.py; uint16 for GPT-2, uint32 for Llama 3). A file that begins with llm.c's magic number is taken for llm.c's:
// as ids without a header it would begin with 55432, or with one above twenty million.
class TokenFile {
 public:
  // Maps the file and looks at every id once. Throws Error(usage) for an id_bytes that is not 2 or 4, or a vocabulary that is not
  // of 1 to 2^31 symbols; Error(resource) for a file that cannot be read or is no regular one; Error(input), with what was found
  // and what is allowed, for no ids, bytes that are no whole number of ids, a header that does not fit the file or id_bytes, and
  // the first id that is not below `vocabulary`.
  TokenFile(const Path& path, std::int64_t id_bytes, std::int64_t vocabulary);

  std::int64_t size() const { return std::int64_t(ids_.size()) / id_bytes_; }  // ids
  std::int64_t vocabulary() const { return vocabulary_; }
  // The ids begin, begin + 1, ... Throws Error(usage) where they are not all there.
  void copy(std::int64_t begin, std::span<std::int32_t> to) const;
  std::string sha256() const;  // of the ids' bytes: all of them are read

 private:
  MappedFile file_;
  std::int64_t id_bytes_, vocabulary_;
  std::string_view ids_;  // the bytes behind a header
};

}  // namespace gnomon
