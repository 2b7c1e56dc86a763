#pragma once
#include <string_view>

#include "gnomon/core/file.h"

namespace gnomon {

// Replaces `path` by what is written, once it is kept: write_file() (core/file.h) for content that comes piece by piece. The temporary
// file is PATH.partial. Unless the new content is kept, the old stays, and no temporary file remains. Everything throws Error(resource)
// as write_file() does.
class NewFile {
 public:
  explicit NewFile(const Path& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  void write(std::string_view bytes);
  void keep();

 private:
  Path path_, temporary_;
  int descriptor_;
};

}  // namespace gnomon
