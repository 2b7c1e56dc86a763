#include "gnomon/download/remote.h"

#include <algorithm>
#include <cstring>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/kinds.h"

namespace gnomon {
namespace {

constexpr std::uint64_t kFirstStep = 64 << 10, kLargestStep = 8 << 20;  // bytes
constexpr std::uint64_t kMostApart = 1024;                              // parts

}  // namespace

RemoteFile::RemoteFile(HubServer& server, const HubName& name, const std::string& file)
    : server_(server), name_(name), path_(file), step_(kFirstStep) {
  auto [bytes, found] = server_.range(name_, path_, 0, kFirstStep - 1);
  begin_ = std::move(bytes), file_ = found, fetched_ = begin_.size();
}

std::string RemoteFile::range(std::uint64_t first, std::uint64_t count) {
  auto [bytes, found] = server_.range(name_, path_, first, first + count - 1);
  if (found.digest != file_.digest || found.size != file_.size)
    throw Error(Fault::input, text(name_.repo, "/", path_, ": the file at the server changed meanwhile"));
  fetched_ += bytes.size();
  return std::move(bytes);
}

void RemoteFile::read(std::uint64_t offset, std::span<char> bytes) {
  const std::uint64_t end = offset + bytes.size();
  if (end > file_.size)
    throw Error(Fault::input, text(name_.repo, "/", path_, ": the file ends at byte ", file_.size));
  if (offset <= begin_.size()) {  // a header goes on
    while (begin_.size() < end) {
      step_ = std::min(2 * step_, kLargestStep);
      const std::uint64_t missing = end - begin_.size();
      begin_ += range(begin_.size(), std::min(std::max(missing, step_), file_.size - begin_.size()));
    }
    std::memcpy(bytes.data(), begin_.data() + offset, bytes.size());
    return;
  }
  if (apart_.size() == kMostApart)
    throw Error(Fault::input,
                text(name_.repo, "/", path_, ": more than ", kMostApart, " small tensors of settings"));
  apart_.push_back({offset, range(offset, bytes.size())});
  std::memcpy(bytes.data(), apart_.back().bytes.data(), bytes.size());
}

WeightFile RemoteFile::readable() {
  return {text(name_.repo, "/", path_), file_.size,
          [this](std::uint64_t offset, std::span<char> bytes) { read(offset, bytes); }};
}

std::vector<FilePart> RemoteFile::parts() const {
  std::vector<FilePart> all{{0, begin_}}, sorted = apart_;
  std::sort(sorted.begin(), sorted.end(),
            [](const FilePart& a, const FilePart& b) { return a.begin < b.begin; });
  for (const FilePart& part : sorted) {
    const std::uint64_t end = all.back().begin + all.back().bytes.size(), first = std::max(end, part.begin);
    if (first < part.begin + part.bytes.size())
      all.push_back({first, part.bytes.substr(std::size_t(first - part.begin))});
  }
  return all;
}

}  // namespace gnomon
