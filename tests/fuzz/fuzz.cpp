#include "tests/fuzz/fuzz.h"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "gnomon/core/error.h"

namespace gnomon::fuzz {
namespace {

struct Folder {
  Path path;
  Folder() {
    const Path memory = "/dev/shm";
    path = (std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()) /
           text("gnomon-fuzz-", getpid());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

void require(bool holds, std::string_view promise) {
  if (!holds) throw std::logic_error(std::string(promise));
}

const Path& empty_folder() {
  static const Folder folder;
  std::filesystem::remove_all(folder.path);
  std::filesystem::create_directories(folder.path);
  return folder.path;
}

Path file_with(std::string_view bytes) {
  const Path path = empty_folder() / "file";
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  return path;
}

std::string with_its_checksum(std::string_view bytes, std::string_view complaint) {
  constexpr std::string_view before = "found ", between = ", expected ";
  constexpr std::size_t digits = 64;
  const std::size_t middle = complaint.rfind(between);
  if (middle == complaint.npos || middle < before.size() + digits ||
      complaint.substr(middle - digits - before.size(), before.size()) != before)
    return "";
  const std::string_view found = complaint.substr(middle - digits, digits);
  std::string_view expected = complaint.substr(middle + between.size());
  if (!expected.empty() && expected.front() == '"') expected.remove_prefix(1);
  expected = expected.substr(0, digits);
  std::string mended(bytes);
  const std::size_t at = expected.size() == digits ? mended.find(expected) : mended.npos;
  return at == mended.npos ? "" : mended.replace(at, digits, found);
}

}  // namespace gnomon::fuzz
