#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gnomon/core/standard.h"

namespace gnomon {

// Requests over HTTP and HTTPS: the only way by which gnomon reaches a network. http_curl.cpp makes them, or http_none.cpp refuses
// them in a build without libcurl.

bool has_http();  // whether this build makes requests

struct HttpUrl {
  std::string text, scheme, host,
      port;  // scheme and host in lower case; the port also where the text leaves it out
  bool same_origin(const HttpUrl& other) const {
    return scheme == other.scheme && host == other.host && port == other.port;
  }
};
// An absolute URL; one that is relative to `base`. Throws Error(input) for anything else, and for a URL with a user or a password.
HttpUrl parse_url(std::string_view url);
HttpUrl parse_url(std::string_view url, const HttpUrl& base);
// The bytes of a part of a path, as %XX where a URL needs it; "/" stays.
std::string url_path(std::string_view path);

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
};
struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};
// What becomes of an answer. Both are asked whether the request goes on; both may throw, which ends it, too.
struct HttpBody {
  std::function<bool(const HttpAnswer& answer)> begins;  // when all headers are there
  std::function<bool(std::string_view bytes)> goes_on;
};

struct HttpSettings {
  std::string certificates;  // a file of trusted certificates; empty: the system's
  int patience_s = 10;       // how long no byte may come
};

class Http {
 public:
  explicit Http(HttpSettings settings);  // throws Error(usage) in a build without libcurl
  ~Http();
  // One request, GET; a redirect is an answer. Throws Error(resource) that names the host and the reason.
  HttpAnswer get(const HttpRequest& request, const HttpBody& body);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace gnomon
