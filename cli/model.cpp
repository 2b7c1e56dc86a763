#include "cli/model.h"

#include <cstdlib>

#include "cli/progress.h"
#include "gnomon/core/text.h"
#include "gnomon/download/http.h"
#include "gnomon/download/model.h"
#include "gnomon/hub/name.h"

namespace gnomon::cli {

std::string model_path(const std::string& given, HubPart part, const Download& download) {
  const HubPlaces places = hub_places(std::getenv);
  const auto name = download.allowed ? named_model(given) : std::nullopt;
  const auto advice = [&](const HubName& lacking) {
    return text(has_http() ? text("`gnomon explain --download ", given, "`, or with ") : "", "`hf download ",
                lacking.repo, "`");
  };
  if (!name) return gnomon::model_path(given, places, part, advice);
  HubFetch fetch{part, std::uint64_t(download.gigabytes * 1e9)};
  if (!download.quiet) fetch.tell = tell;
  return fetch_model(*name, places, hub_access(std::getenv), fetch).string();
}

std::optional<std::string> find_model(const std::string& given, HubPart part) {
  return gnomon::find_model(given, hub_places(std::getenv), part);
}

}  // namespace gnomon::cli
