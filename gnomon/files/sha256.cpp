// The door to OpenSSL: no other file knows it.
#include "gnomon/files/sha256.h"

#include <openssl/evp.h>

#include <memory>

#include "gnomon/core/error.h"

namespace gnomon {

std::string sha256(std::span<const std::string_view> pieces) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  bool ok = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  for (const auto piece : pieces) ok = ok && EVP_DigestUpdate(context.get(), piece.data(), piece.size());
  if (!ok || !EVP_DigestFinal_ex(context.get(), digest, &size))
    throw Error(Fault::bug, "sha256: OpenSSL failed");
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

std::string sha256(std::string_view bytes) { return sha256(std::span<const std::string_view>(&bytes, 1)); }

}  // namespace gnomon
