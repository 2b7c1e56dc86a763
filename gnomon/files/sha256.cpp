// The door to libmd: no other file knows it.
#include "gnomon/files/sha256.h"

#include <sha1.h>
#include <sha2.h>

#include <variant>
#include <vector>

#include "gnomon/files/hash.h"

namespace gnomon {

struct RunningHash::Context {
  std::variant<SHA1_CTX, SHA2_CTX> state;
};

RunningHash::RunningHash(Kind kind) : context_(std::make_unique<Context>()) {
  if (kind == Kind::sha1) {
    SHA1Init(&context_->state.emplace<SHA1_CTX>());
  } else {
    SHA256Init(&context_->state.emplace<SHA2_CTX>());
  }
}
RunningHash::~RunningHash() = default;
RunningHash::RunningHash(RunningHash&&) noexcept = default;

void RunningHash::add(std::string_view bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (auto* sha1 = std::get_if<SHA1_CTX>(&context_->state)) {
    SHA1Update(sha1, data, bytes.size());
  } else {
    SHA256Update(&std::get<SHA2_CTX>(context_->state), data, bytes.size());
  }
}

std::string RunningHash::hex() {
  std::vector<std::uint8_t> digest;
  if (auto* sha1 = std::get_if<SHA1_CTX>(&context_->state)) {
    digest.resize(SHA1_DIGEST_LENGTH);
    SHA1Final(digest.data(), sha1);
  } else {
    digest.resize(SHA256_DIGEST_LENGTH);
    SHA256Final(digest.data(), &std::get<SHA2_CTX>(context_->state));
  }
  std::string digits;
  for (const std::uint8_t byte : digest) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

std::string sha256(std::span<const std::string_view> pieces) {
  RunningHash hash(RunningHash::Kind::sha256);
  for (const auto piece : pieces) hash.add(piece);
  return hash.hex();
}

std::string sha256(std::string_view bytes) { return sha256(std::span<const std::string_view>(&bytes, 1)); }

}  // namespace gnomon
