// The door to libcurl: no other file knows it, and no other file reaches a network. It is opened when something is fetched: linked,
// it and what it needs would be loaded by every command (28 libraries and 5 MB).
#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/download/http.h"

namespace gnomon {
namespace {

constexpr std::size_t kMostHeaders = 200;
constexpr long kLeastSpeed = 100;  // bytes a second, on average over the time of patience

// What is used of libcurl, by the types of its header.
struct Curl {
  decltype(&::curl_url) url_new;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_url_get) url_get;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_url_strerror) url_strerror;
  decltype(&::curl_free) free;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw Error(Fault::resource,
                text("--download: libcurl has no ", name, "; needed is libcurl 7.85 or later"));
}

Curl opened() {
  void* library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);  // the name of its interface since 2006
  if (!library)
    throw Error(Fault::resource, text("--download needs libcurl (Debian: libcurl4): ", dlerror()));
  Curl c{};
  find(library, "curl_url", c.url_new);
  find(library, "curl_url_cleanup", c.url_cleanup);
  find(library, "curl_url_get", c.url_get);
  find(library, "curl_url_set", c.url_set);
  find(library, "curl_url_strerror", c.url_strerror);
  find(library, "curl_free", c.free);
  find(library, "curl_easy_init", c.easy_init);
  find(library, "curl_easy_cleanup", c.easy_cleanup);
  find(library, "curl_easy_reset", c.easy_reset);
  find(library, "curl_easy_setopt", c.easy_setopt);
  find(library, "curl_easy_perform", c.easy_perform);
  find(library, "curl_easy_strerror", c.easy_strerror);
  find(library, "curl_slist_append", c.slist_append);
  find(library, "curl_slist_free_all", c.slist_free_all);
  return c;
}

const Curl& curl() {
  static const Curl library = opened();
  return library;
}

std::string lower(std::string_view text) {
  std::string all(text);
  std::transform(all.begin(), all.end(), all.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return all;
}

Error bad_url(std::string_view url, std::string_view why) {
  return Error(Fault::input, text("the address ", excerpt(url), ": ", why));
}

std::string part_of(CURLU* url, CURLUPart part) {
  char* found = nullptr;
  if (curl().url_get(url, part, &found, part == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0) != CURLUE_OK)
    return "";
  const std::string copied = found;
  curl().free(found);
  return copied;
}

HttpUrl parsed(std::string_view base, std::string_view url) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parser(curl().url_new(), curl().url_cleanup);
  for (const std::string_view given : {base, url}) {
    if (given.empty()) continue;
    const CURLUcode code = curl().url_set(parser.get(), CURLUPART_URL, std::string(given).c_str(), 0);
    if (code != CURLUE_OK) throw bad_url(given, curl().url_strerror(code));
  }
  for (const CURLUPart secret : {CURLUPART_USER, CURLUPART_PASSWORD}) {
    if (!part_of(parser.get(), secret).empty()) throw bad_url(url, "found a user; allowed is none");
  }
  curl().url_set(parser.get(), CURLUPART_FRAGMENT, nullptr, 0);
  return {part_of(parser.get(), CURLUPART_URL), lower(part_of(parser.get(), CURLUPART_SCHEME)),
          lower(part_of(parser.get(), CURLUPART_HOST)), part_of(parser.get(), CURLUPART_PORT)};
}

// One request while it runs. libcurl is C: no exception passes through it.
struct Running {
  const HttpBody& body;
  HttpAnswer answer = {};
  bool begun = false, stopped = false;
  std::exception_ptr thrown = {};

  template <class Act>
  std::size_t safely(std::size_t taken, const Act& act) {
    try {
      return act() ? taken : taken + 1;  // another number than the given one ends the request
    } catch (...) {
      thrown = std::current_exception();
      return taken + 1;
    }
  }
  bool head(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // after an interim answer, another begins
      answer = {};
      const auto blank = line.find(' ');
      answer.status = blank == line.npos ? 0 : int(integer(line.substr(blank + 1, 3), "the status"));
    }
    const auto colon = line.find(':');
    if (colon == line.npos || line.starts_with("HTTP/")) return true;
    if (answer.headers.size() >= kMostHeaders)
      throw Error(Fault::input, text("the answer has more than ", kMostHeaders, " headers"));
    answer.headers[lower(line.substr(0, colon))] = std::string(trim(line.substr(colon + 1)));
    return true;
  }
  void begin() {
    if (!std::exchange(begun, true)) stopped = !body.begins(answer);
  }
  bool take(std::string_view bytes) {
    begin();
    stopped = stopped || !body.goes_on(bytes);
    return !stopped;
  }

  static std::size_t on_head(char* bytes, std::size_t, std::size_t size, void* self) {
    return static_cast<Running*>(self)->safely(size, [&] {
      return static_cast<Running*>(self)->head({bytes, size});
    });
  }
  static std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* self) {
    return static_cast<Running*>(self)->safely(size, [&] {
      return static_cast<Running*>(self)->take({bytes, size});
    });
  }
};

}  // namespace

bool has_http() { return true; }

HttpUrl parse_url(std::string_view url) { return parsed("", url); }
HttpUrl parse_url(std::string_view url, const HttpUrl& base) { return parsed(base.text, url); }

std::string url_path(std::string_view path) {
  std::string all;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      all += c;
    } else {
      all += '%', all += "0123456789ABCDEF"[byte >> 4], all += "0123456789ABCDEF"[byte & 15];
    }
  }
  return all;
}

struct Http::Connection {
  HttpSettings settings;
  CURL* const handle = curl().easy_init();
  char why[CURL_ERROR_SIZE] = "";
  ~Connection() { curl().easy_cleanup(handle); }

  template <class Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl().easy_setopt(handle, option, value);
    if (code != CURLE_OK) throw Error(Fault::bug, text("libcurl: ", curl().easy_strerror(code)));
  }
  void prepare(const HttpRequest& request, curl_slist* headers, Running& running) {
    curl().easy_reset(handle);  // the connections stay
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_HTTPHEADER, headers);
    set(CURLOPT_PROTOCOLS_STR, "https,http");  // whoever asks says which, and where
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "gnomon/" GNOMON_VERSION);
    if (!settings.certificates.empty()) set(CURLOPT_CAINFO, settings.certificates.c_str());
    set(CURLOPT_CONNECTTIMEOUT, long(settings.patience_s));
    set(CURLOPT_LOW_SPEED_LIMIT, kLeastSpeed);
    set(CURLOPT_LOW_SPEED_TIME, long(settings.patience_s));
    set(CURLOPT_ERRORBUFFER, why);
    set(CURLOPT_HEADERFUNCTION, Running::on_head);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&running));
    set(CURLOPT_WRITEFUNCTION, Running::on_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&running));
  }
};

Http::Http(HttpSettings settings) : connection_(new Connection{std::move(settings)}) {
  if (!connection_->handle) throw Error(Fault::resource, "libcurl cannot be started");
}
Http::~Http() = default;

HttpAnswer Http::get(const HttpRequest& request, const HttpBody& body) {
  curl_slist* list = nullptr;
  for (const std::string& header : request.headers) list = curl().slist_append(list, header.c_str());
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(list, curl().slist_free_all);
  Running running{body};
  connection_->prepare(request, headers.get(), running);
  connection_->why[0] = 0;
  const CURLcode code = curl().easy_perform(connection_->handle);
  if (running.thrown) std::rethrow_exception(running.thrown);
  if (code == CURLE_OK) running.begin();  // of an answer without a body
  if (code != CURLE_OK && !running.stopped)
    throw Error(Fault::resource, text(parse_url(request.url).host, ": ",
                                      connection_->why[0] ? connection_->why : curl().easy_strerror(code)));
  return running.answer;
}

}  // namespace gnomon
