#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/download/server.h"
#include "gnomon/files/parts.h"

namespace gnomon {

// A file at the server, read by ranges. It keeps what it has read: first bytes in growing steps, as a reader of a header asks for
// them, and single parts further on.
class RemoteFile {
 public:
  // `name` has a commit as its revision. Asks for the first bytes.
  RemoteFile(HubServer& server, const HubName& name, const std::string& file);

  // To read it as a file; this object must live longer.
  WeightFile readable();
  std::uint64_t size() const { return file_.size; }  // bytes of the whole
  std::vector<FilePart> parts() const;               // what was read
  std::uint64_t fetched() const { return fetched_; }

 private:
  void read(std::uint64_t offset, std::span<char> bytes);
  std::string range(std::uint64_t first, std::uint64_t count);

  HubServer& server_;
  HubName name_;
  std::string path_;
  HubFile file_;
  std::uint64_t step_, fetched_ = 0;
  std::string begin_;            // the file's first bytes
  std::vector<FilePart> apart_;  // further on
};

}  // namespace gnomon
