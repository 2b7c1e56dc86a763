#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/download/access.h"
#include "gnomon/download/http.h"
#include "gnomon/hub/name.h"

namespace gnomon {

// A repository at one commit.
struct HubListing {
  struct File {
    std::string name;
    std::uint64_t size;  // bytes; 0 where the server does not say
  };
  std::string commit;
  std::vector<File> files;
  bool has(std::string_view file) const;
};

// What a server says of a file before it sends it.
struct HubFile {
  std::string digest;  // 64 hexadecimal digits: SHA-256; 40: git's SHA-1 of a blob
  std::uint64_t size;  // bytes of the whole file
};

// The files of a server that answers as huggingface.co does (huggingface.co/docs/hub/api; huggingface_hub/file_download.py,
// `get_hf_file_metadata`). Only HTTPS is spoken, and HTTP with an endpoint on this machine; at most five redirects are followed; the
// token goes to the endpoint's own origin alone. Every function throws Error(resource) for what the network or the server refuses,
// and Error(input) for an answer that is not as it should be.
class HubServer {
 public:
  explicit HubServer(const HubAccess& access);

  HubListing list(const HubName& name);

  using Begins = std::function<bool(const HubFile& file)>;
  using Takes = std::function<void(std::string_view bytes)>;
  // A whole file of at most `most` bytes. `begins` is told what it is and says whether its bytes are wanted.
  void fetch(const HubName& name, const std::string& file, std::uint64_t most, const Begins& begins,
             const Takes& takes);

  // Bytes [first, last] of a file, fewer where the file ends before, and what the file is.
  std::pair<std::string, HubFile> range(const HubName& name, const std::string& file, std::uint64_t first,
                                        std::uint64_t last);

 private:
  struct Wanted;
  static Wanted wanted_file(const HubName& name, const std::string& file, std::string range);
  HttpAnswer get(const Wanted& wanted, const std::function<bool(const HttpAnswer&)>& begins,
                 const Takes& takes);
  HttpUrl checked(const HttpUrl& url) const;

  HubAccess access_;
  Http http_;
  HttpUrl endpoint_;
};

}  // namespace gnomon
