#include "gnomon/download/access.h"

#include <algorithm>
#include <array>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"

namespace gnomon {
namespace {

constexpr std::uint64_t kLongestToken = 4096;
constexpr long long kMostPatience = 3600;  // seconds

// Empty where it is not set.
std::string value_of(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value ? value : "";
}

bool is_true(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  constexpr std::array words = {"1", "ON", "YES", "TRUE"};
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return value == word; });
}

std::string first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string value = value_of(environment, name);
    if (!value.empty()) return value;
  }
  return "";
}

// Without line ends; a token that a header could not carry is none.
std::string cleaned(std::string token) {
  std::erase_if(token, [](char c) { return c == '\r' || c == '\n'; });
  token = std::string(trim(token));
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!plain) throw Error(Fault::usage, "the token of the Hub: found a character that no token has");
  return token;
}

std::string token_of(const Environment& environment) {
  if (is_true(value_of(environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return "";
  const std::string given = first_of(environment, {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  if (!given.empty()) return cleaned(given);
  const char* named = environment("HF_TOKEN_PATH");
  const Path path = named ? expanded(named, environment) : hub_home(environment) / "token";
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return "";
  const ReadableFile file(path);
  if (file.size() > kLongestToken)
    throw Error(Fault::input, text(path.string(), ": found ", file.size(),
                                   " bytes; allowed is a token of at most ", kLongestToken));
  std::string token(file.size(), ' ');
  file.read(0, token);
  return cleaned(token);
}

int patience_of(const Environment& environment) {
  constexpr const char* name = "HF_HUB_DOWNLOAD_TIMEOUT";
  const std::string value = value_of(environment, name);
  if (value.empty()) return HubAccess().patience_s;
  const long long seconds = integer(value, name);
  if (seconds < 1 || seconds > kMostPatience)
    throw Error(Fault::usage,
                text(name, ": found ", seconds, "; allowed are 1 to ", kMostPatience, " seconds"));
  return int(seconds);
}

}  // namespace

HubAccess hub_access(const Environment& environment) {
  HubAccess access;
  access.endpoint = first_of(environment, {"HF_ENDPOINT"});
  if (access.endpoint.empty()) access.endpoint = "https://huggingface.co";
  while (access.endpoint.ends_with('/')) access.endpoint.pop_back();
  access.token = token_of(environment);
  access.certificates = first_of(environment, {"CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  access.patience_s = patience_of(environment);
  access.offline = is_true(first_of(environment, {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}));
  return access;
}

}  // namespace gnomon
