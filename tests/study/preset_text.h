// What the parts of presets learn from in tests that train nothing.
#pragma once
#include <unistd.h>

#include <fstream>
#include <string>

#include "gnomon/core/text.h"
#include "gnomon/study/settings/config.h"

namespace gnomon {

// A path that nobody opens, but for images: their file says how long windows are.
inline std::string text_for(const StudyConfig& c) {
  if (c.data != "images") return "text";
  const Path path = std::filesystem::temp_directory_path() / text("gnomon-images-", getpid());
  std::ofstream file(path);
  for (int n = 0; n < 100; ++n) {
    for (int pixel = 0; pixel < 64; ++pixel) file << (n * pixel) % 17 << ',';
    file << n % 10 << '\n';
  }
  return path.string();
}

}  // namespace gnomon
