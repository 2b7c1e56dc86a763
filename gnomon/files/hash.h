#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace gnomon {

// A digest of bytes that come one after the other: SHA-256, or the SHA-1 by which git names its blobs (FIPS 180-4).
class RunningHash {
 public:
  enum class Kind { sha1, sha256 };
  explicit RunningHash(Kind kind);
  ~RunningHash();
  RunningHash(RunningHash&&) noexcept;
  void add(std::string_view bytes);
  std::string hex();  // in lower case; once, at the end

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace gnomon
