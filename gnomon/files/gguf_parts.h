#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gnomon/core/file.h"

namespace gnomon {

// A GGUF file that llama-gguf-split has cut: NAME-00001-of-00003.gguf and so on, side by side (ggml-org/llama.cpp, src/llama.cpp,
// llama_split_path). The first has all of the metadata.
struct GgufPart {
  Path folder;
  std::string name;  // without the numbers
  int number, count;
  // The path of another part of the same model, from 1 on.
  Path part(int other) const;
};
// Empty: the name is not that of a part.
std::optional<GgufPart> gguf_part(const Path& path);

// The GGUF models of a folder, sorted: of one in parts its first file, if that is there. Throws Error(resource).
std::vector<Path> ggufs_in(const Path& folder);
// Whether the file is a part after the first, and the first stands beside it.
bool follows_a_part(const Path& path);

}  // namespace gnomon
