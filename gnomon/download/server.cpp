#include "gnomon/download/server.h"

#include <algorithm>
#include <array>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/json-inl.h"

namespace gnomon {
namespace {

constexpr int kMostRedirects = 5;
constexpr std::uint64_t kLongestListing = 32 << 20;  // bytes; large repositories have thousands of files
constexpr std::size_t kMostFiles = 100'000;
constexpr std::uint64_t kLongestAside =
    64 << 10;  // bytes of the body of a redirect or a refusal, which nobody reads

bool is_here(const HttpUrl& url) {
  return url.host == "localhost" || url.host == "127.0.0.1" || url.host == "[::1]";
}

std::optional<std::uint64_t> whole(std::string_view digits) {
  const bool plain = !digits.empty() && digits.size() <= 18 &&
                     std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return plain ? std::optional(std::uint64_t(integer(digits, "a size"))) : std::nullopt;
}

// "bytes FIRST-LAST/SIZE"
struct ContentRange {
  std::uint64_t first, last, size;
};
std::optional<ContentRange> content_range(std::string_view header) {
  if (!header.starts_with("bytes ")) return {};
  header.remove_prefix(6);
  const auto dash = header.find('-'), slash = header.find('/');
  if (dash == header.npos || slash == header.npos || slash < dash) return {};
  const auto first = whole(header.substr(0, dash)), last = whole(header.substr(dash + 1, slash - dash - 1)),
             size = whole(header.substr(slash + 1));
  if (!first || !last || !size || *first > *last || *last >= *size) return {};
  return ContentRange{*first, *last, *size};
}

// A digest from an ETag, which may be in quotes and weak. Empty: it is none.
std::string digest_in(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  std::erase(etag, '"');
  const bool hex = etag.find_first_not_of("0123456789abcdef") == etag.npos;
  return hex && (etag.size() == 64 || etag.size() == 40) ? etag : "";
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// What to do about a refusal, by the Hub's codes (huggingface_hub/utils/_http.py, `hf_raise_for_status`).
std::string advice(const HttpAnswer& answer, const HubName& name, bool token) {
  const std::string code = answer.header("x-error-code");
  if (code == "GatedRepo" || answer.status == 403)
    return text("the model is gated: ask for access on its page, and set HF_TOKEN to a token of yours",
                token ? " that may read it" : "");
  if (code == "RevisionNotFound") return text("there is no revision ", excerpt(name.revision));
  if (code == "EntryNotFound") return "the revision has no such file";
  if (answer.status == 401 || code == "RepoNotFound")
    return token ? "there is no such model, or the token may not read it"
                 : "there is no such model, or it is private and HF_TOKEN is not set";
  if (answer.status == 404) return "there is no such model, revision or file";
  if (answer.status == 429) return "too many requests; wait, or set HF_TOKEN";
  if (answer.status >= 500) return "the server has a fault; try again later";
  return "this answer is not expected";
}

}  // namespace

// One request, across its redirects.
struct HubServer::Wanted {
  const HubName& name;
  std::string path;   // after the endpoint
  std::string range;  // "bytes=0-65535"; empty: everything
  std::string what;   // for messages
};

bool HubListing::has(std::string_view file) const {
  return std::any_of(files.begin(), files.end(), [&](const File& f) { return f.name == file; });
}

HubServer::HubServer(const HubAccess& access)
    : access_(access),
      http_({access.certificates, access.patience_s}),
      endpoint_(parse_url(access.endpoint)) {
  if (access_.offline)
    throw Error(Fault::usage,
                "--download: HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids requests; unset it");
  if (endpoint_.scheme != "https" && !(endpoint_.scheme == "http" && is_here(endpoint_)))
    throw Error(Fault::usage, text("HF_ENDPOINT: found ", excerpt(access_.endpoint),
                                   "; allowed is https, or http on this machine"));
}

HttpUrl HubServer::checked(const HttpUrl& url) const {
  const bool plain = url.scheme == "http" && is_here(url) && endpoint_.scheme == "http";
  if (url.scheme == "https" || plain) return url;
  throw Error(Fault::input, text(endpoint_.host, " redirects to ", excerpt(url.text), "; allowed is https"));
}

HttpAnswer HubServer::get(const Wanted& wanted, const std::function<bool(const HttpAnswer&)>& begins,
                          const Takes& takes) {
  HttpUrl url = parse_url(access_.endpoint + wanted.path);
  std::map<std::string, std::string> said;  // by the endpoint itself, not by where it sends
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    const bool at_home = url.same_origin(endpoint_);
    HttpRequest request{checked(url).text, {"Accept-Encoding: identity"}};
    if (!wanted.range.empty()) request.headers.push_back("Range: " + wanted.range);
    if (at_home && !access_.token.empty())
      request.headers.push_back("Authorization: Bearer " + access_.token);
    bool reads = false;
    std::uint64_t aside = 0;
    const auto head = [&](const HttpAnswer& answer) {
      if (at_home) said.insert(answer.headers.begin(), answer.headers.end());
      if (answer.status != 200 && answer.status != 206) return true;
      HttpAnswer all = answer;
      for (const char* name : {"x-linked-etag", "x-linked-size", "x-repo-commit"}) all.headers.erase(name);
      all.headers.merge(std::map(said));
      if (!at_home) all.headers["etag"] = said["etag"];
      reads = begins(all);
      return reads;
    };
    const auto body = [&](std::string_view bytes) {
      if (!reads) return (aside += bytes.size()) <= kLongestAside;
      takes(bytes);
      return true;
    };
    const HttpAnswer answer = http_.get(request, {head, body});
    if (answer.status == 200 || answer.status == 206) return answer;
    if (!is_redirect(answer.status))
      throw Error(Fault::resource, text(wanted.what, ": ", url.host, " answered ", answer.status, ": ",
                                        advice(answer, wanted.name, !access_.token.empty())));
    url = parse_url(answer.header("location"), url);
  }
  throw Error(Fault::input,
              text(wanted.what, ": ", endpoint_.host, " redirects more than ", kMostRedirects, " times"));
}

namespace {

Error wrong(const std::string& what, std::string_view why) {
  return Error(Fault::input, text(what, ": ", why));
}

// The facts of a file in the answer with its bytes, or with a part of them.
HubFile facts(const HttpAnswer& answer, const std::string& what, std::optional<std::uint64_t> size) {
  const std::string linked = answer.header("x-linked-etag");
  const std::string digest = digest_in(linked.empty() ? answer.header("etag") : linked);
  if (digest.empty())
    throw wrong(what, text("found the ETag ", excerpt(linked.empty() ? answer.header("etag") : linked),
                           "; needed is a digest of 40 or 64 hexadecimal digits"));
  if (const auto said = whole(answer.header("x-linked-size")); said && size && *said != *size)
    throw wrong(what, text("the server announces ", *said, " bytes and sends ", *size));
  return {digest, size.value_or(0)};
}

}  // namespace

HubServer::Wanted HubServer::wanted_file(const HubName& name, const std::string& file, std::string range) {
  return {name, text("/", url_path(name.repo), "/resolve/", url_path(name.revision), "/", url_path(file)),
          std::move(range), text(name.repo, "/", file)};
}

HubListing HubServer::list(const HubName& name) {
  std::string revision;
  for (const char c : url_path(name.revision)) revision += c == '/' ? "%2F" : std::string(1, c);
  const Wanted wanted{name, text("/api/models/", url_path(name.repo), "/revision/", revision, "?blobs=true"),
                      "", name.print()};
  std::string body;
  get(
      wanted, [](const HttpAnswer&) { return true; },
      [&](std::string_view bytes) {
        if (body.size() + bytes.size() > kLongestListing)
          throw wrong(wanted.what, text("the list of its files has more than ", kLongestListing, " bytes"));
        body += bytes;
      });
  const std::string where = text(name.print(), ", the list of its files");
  const StrictJson json = parse_json(body, where);
  const JsonValue top(json, where);
  HubListing listing{top.member("sha").text(), {}};
  if (!is_commit(listing.commit)) top.member("sha").wrong("a commit of 40 hexadecimal digits");
  for (const JsonValue& entry : top.member("siblings").list()) {
    const std::string& file = entry.member("rfilename").text();
    if (!is_plain_relative(file)) continue;  // a name that no file here could have
    if (listing.files.size() == kMostFiles) top.wrong(text("at most ", kMostFiles, " files"));
    const auto size = entry.find("size");
    listing.files.push_back({file, size ? size->unsigned_whole() : 0});
  }
  return listing;
}

void HubServer::fetch(const HubName& name, const std::string& file, std::uint64_t most, const Begins& begins,
                      const Takes& takes) {
  const Wanted wanted = wanted_file(name, file, "");
  const auto too_large = [&](std::uint64_t size) {
    return wrong(wanted.what, text("the file has ", size, " bytes or more; allowed are at most ", most));
  };
  std::optional<std::uint64_t> size;
  std::uint64_t taken = 0;
  const auto head = [&](const HttpAnswer& answer) {
    if (answer.status != 200) throw wrong(wanted.what, text("the server answered ", answer.status));
    size = whole(answer.header("content-length"));
    if (size && *size > most) throw too_large(*size);
    return begins(facts(answer, wanted.what, size));
  };
  bool wants = false;
  get(
      wanted, [&](const HttpAnswer& answer) { return wants = head(answer); },
      [&](std::string_view bytes) {
        if ((taken += bytes.size()) > most) throw too_large(taken);
        takes(bytes);
      });
  if (wants && size && taken != *size)
    throw wrong(wanted.what, text("the server sent ", taken, " bytes of ", *size));
}

std::pair<std::string, HubFile> HubServer::range(const HubName& name, const std::string& file,
                                                 std::uint64_t first, std::uint64_t last) {
  const Wanted wanted = wanted_file(name, file, text("bytes=", first, "-", last));
  std::string body;
  std::uint64_t length = 0;
  HubFile found;
  get(
      wanted,
      [&](const HttpAnswer& answer) {
        if (answer.status != 206)
          throw wrong(wanted.what, "the server ignores ranges, so it would send the whole file");
        const auto part = content_range(answer.header("content-range"));
        if (!part || part->first != first || part->last != std::min(last, part->size - 1))
          throw wrong(wanted.what, text("asked for bytes ", first, " to ", last, ", found the range ",
                                        excerpt(answer.header("content-range"))));
        length = part->last - part->first + 1;
        found = facts(answer, wanted.what, part->size);
        return true;
      },
      [&](std::string_view bytes) {
        body += bytes;
        if (body.size() > length)
          throw wrong(wanted.what, text("the server sends more than ", length, " bytes"));
      });
  if (body.size() != length)
    throw wrong(wanted.what, text("the server sent ", body.size(), " bytes of ", length));
  return {std::move(body), found};
}

}  // namespace gnomon
