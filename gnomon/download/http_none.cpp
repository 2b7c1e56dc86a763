// A build without libcurl: whoever wants to fetch is told how.
#include "gnomon/core/error.h"
#include "gnomon/download/http.h"

namespace gnomon {
namespace {

[[noreturn]] void refuse() {
  throw Error(
      Fault::usage,
      "--download: this gnomon was built without libcurl. `hf download ORG/NAME` fetches a model; then "
      "gnomon finds it by its name.");
}

}  // namespace

bool has_http() { return false; }

HttpUrl parse_url(std::string_view) { refuse(); }
HttpUrl parse_url(std::string_view, const HttpUrl&) { refuse(); }
std::string url_path(std::string_view) { refuse(); }

struct Http::Connection {};
Http::Http(HttpSettings) { refuse(); }
Http::~Http() = default;
HttpAnswer Http::get(const HttpRequest&, const HttpBody&) { refuse(); }

}  // namespace gnomon
