// The door to OpenSSL: no other file knows it.
#include "gnomon/files/sha256.h"

#include <openssl/evp.h>

#include "gnomon/core/error.h"
#include "gnomon/files/hash.h"

namespace gnomon {
namespace {

void must(bool done) {
  if (!done) throw Error(Fault::bug, "a digest: OpenSSL failed");
}

}  // namespace

struct RunningHash::Context {
  EVP_MD_CTX* const evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

RunningHash::RunningHash(Kind kind) : context_(std::make_unique<Context>()) {
  must(context_->evp &&
       EVP_DigestInit_ex(context_->evp, kind == Kind::sha1 ? EVP_sha1() : EVP_sha256(), nullptr));
}
RunningHash::~RunningHash() = default;
RunningHash::RunningHash(RunningHash&&) noexcept = default;

void RunningHash::add(std::string_view bytes) {
  must(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()));
}

std::string RunningHash::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  must(EVP_DigestFinal_ex(context_->evp, digest, &size));
  std::string digits;
  for (unsigned i = 0; i < size; ++i) {
    digits += "0123456789abcdef"[digest[i] >> 4];
    digits += "0123456789abcdef"[digest[i] & 15];
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
